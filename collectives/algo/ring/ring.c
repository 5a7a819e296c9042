#include "collectives/algo/ring/ring.h"

#include <math.h>

/* Up and down: the two directions along the path. */
enum { UP, DOWN, N_WAYS };

enum {
    CHUNK_BYTES = 512 << 10, /* three of them within 2 MiB of L2; of pods none is published, and of
                                the steps that simulate --validate counts none moves by more than
                                1.3 % from 64 KiB to 2 MiB */
    SPLIT_BYTES = 64 << 10,  /* below, balance is not worth a message more */
    MAX_OWN_PIECES = 32,     /* of what is cut by choice: so many are in flight that more gain
                                nothing */
    MAX_PIECES = 1024
};

/* ---- plan ---------------------------------------------------------------------------------- */

static int64_t longest_block(int64_t count, int size) { return (count + size - 1) / size; }

/* Over an even number of members, size / 2 of them send one way and one fewer the other way: with
 * an even number of pieces, that changes sides from piece to piece, the links carry the same. */
static int cut(const pod__ring_plan *p, const pod_coll_args *args, int64_t count)
{
    const int n_runs = p->n_runs;
    const int64_t bytes =
        longest_block(count, p->path.size * n_runs) * (int64_t)pod_dtype_bytes(args->dtype);
    const int64_t chunk = args->chunk_bytes > 0 ? args->chunk_bytes : CHUNK_BYTES;
    const int limit = (args->chunk_bytes > 0 ? MAX_PIECES : MAX_OWN_PIECES) / n_runs;
    const int64_t wanted = bytes / chunk + (bytes % chunk > 0);
    int n = wanted > limit ? limit : (int)wanted;
    if (n < 1) n = 1;
    const bool is_balanced = !p->both_ways || p->path.size % 2 == 1 || p->path.size == 2;
    if (!is_balanced && n * n_runs % 2 == 1 && bytes >= SPLIT_BYTES) n++;
    return n * n_runs;
}

pod__ring_plan pod__ring_plan_of(const pod_mesh *m, pod_group group, const pod_coll_args *args,
                                 int64_t count, int n_runs, bool both_ways)
{
    pod__ring_plan p = {.path = pod__path_of(m, group), .n_runs = n_runs};
    p.both_ways = both_ways && !p.path.is_line;
    p.n_pieces = cut(&p, args, count);
    return p;
}

pod__ring_plan pod__ring_plan_whole(const pod_mesh *m, pod_group group, int turn)
{
    const pod__path path = pod__path_of(m, group);
    return (pod__ring_plan){
        .path = path, .both_ways = !path.is_line, .n_runs = 1, .n_pieces = 1, .turn = turn};
}

int pod__ring_reach(const pod__ring_plan *p, int position, int piece, int way)
{
    const int others = p->path.size - 1;
    int up = others;
    if (p->path.is_line)
        up = position;
    else if (p->both_ways)
        up = (piece + p->turn) % 2 ? others / 2 : others - others / 2;
    return way == UP ? up : others - up;
}

/* The hops that go `way` from it in an all-gather: the other way round, but on a ring one way. */
static int spread(const pod__ring_plan *p, int position, int piece, int way)
{
    const bool is_one_way = !p->path.is_line && !p->both_ways;
    return pod__ring_reach(p, position, piece, is_one_way ? way : 1 - way);
}

/* ---- state --------------------------------------------------------------------------------- */

const pod__ring_sums pod__ring_no_sums = {{{POD_NO_STEP, POD_NO_STEP}, {POD_NO_STEP, POD_NO_STEP}}};

pod_status pod__ring_init(pod_sched *s, const pod__ring_plan *plan, int rank, const pod__deal *deal,
                          int first_tag, pod__ring *out)
{
    const pod__path *path = &plan->path;
    const int size = path->size, n_pieces = plan->n_pieces;
    int32_t *last = POD_ARENA_NEW(pod_sched_arena(s), int32_t, (size_t)size * (size_t)n_pieces);
    if (!last) return POD_E_NOMEM;
    for (int i = 0; i < size * n_pieces; i++) last[i] = POD_NO_STEP;
    pod__ring r = {.plan = *plan,
                   .rank = rank,
                   .size = size,
                   .first_tag = first_tag,
                   .deal = *deal,
                   .last = last,
                   .sums = pod__ring_no_sums};
    r.position = pod__path_position(path, pod_group_index(path->mesh, &path->group, rank));
    for (int way = 0; way < N_WAYS; way++) {
        const int next = (r.position + (way == UP ? 1 : size - 1)) % size;
        r.neighbor[way] =
            pod_group_member(path->mesh, &path->group, rank, pod__path_index(path, next));
    }
    *out = r;
    return POD_OK;
}

int pod__ring_n_tags(const pod__ring_plan *p) { return 2 * p->path.size * p->n_pieces; }

static int pieces_of_run(const pod__ring *r) { return r->plan.n_pieces / r->plan.n_runs; }

static pod_range piece_of(const pod__ring *r, int position, int piece)
{
    const int n = pieces_of_run(r);
    const pod_range run =
        pod__deal_run(&r->deal, pod__path_index(&r->plan.path, position), piece / n);
    pod_range part = pod_block(run.count, n, piece % n);
    part.first += run.first;
    return part;
}

pod_range pod__ring_own_block(const pod__ring *r)
{
    return pod__deal_run(&r->deal, pod__path_index(&r->plan.path, r->position), 0);
}

static int32_t *last_of(const pod__ring *r, int position, int piece)
{
    return &r->last[position * r->plan.n_pieces + piece];
}

static bool overlap(pod_range a, pod_range b)
{
    return a.count > 0 && b.count > 0 && a.first < b.first + b.count && b.first < a.first + a.count;
}

static int wrap(const pod__ring *r, int position) { return (position + r->size) % r->size; }

/* The steps of one run that touch the range, besides `after`. */
static int32_t after_run(const pod__ring *r, pod_sched *s, int position, int run, pod_range range,
                         int32_t after)
{
    const int n = pieces_of_run(r);
    for (int piece = run * n; piece < (run + 1) * n; piece++)
        if (overlap(piece_of(r, position, piece), range))
            after = pod_sched_join(s, after, *last_of(r, position, piece));
    return after;
}

/* The step after which all of the range may be touched, as far as it is the ring's: a part of one
 * run, or of a ring whose blocks are one run each. Those are gone through from the own one on, so
 * that members do alike. */
static int32_t after_ring(const pod__ring *r, pod_sched *s, pod_range range)
{
    const pod_range all = r->deal.range;
    if (!overlap(all, range)) return POD_NO_STEP;
    const int64_t begin = range.first > all.first ? range.first : all.first,
                  end = range.first + range.count, all_end = all.first + all.count;
    const pod__deal_place from = pod__deal_find(&r->deal, begin),
                          to = pod__deal_find(&r->deal, (end < all_end ? end : all_end) - 1);
    int32_t after = POD_NO_STEP;
    if (from.index == to.index)
        return after_run(r, s, pod__path_position(&r->plan.path, from.index), from.run, range,
                         after);
    for (int i = 0; i < r->size; i++) {
        const int position = wrap(r, r->position + i);
        const int index = pod__path_index(&r->plan.path, position);
        if (index >= from.index && index <= to.index)
            after = after_run(r, s, position, 0, range, after);
    }
    return after;
}

void pod__ring_follow(pod__ring *r, pod_sched *s, const pod__ring *const before[], int n_before,
                      bool is_own)
{
    for (int k = 0; k < (is_own ? 1 : r->size); k++) {
        const int position = wrap(r, r->position + k);
        for (int piece = 0; piece < r->plan.n_pieces; piece++) {
            const pod_range part = piece_of(r, position, piece);
            int32_t after = POD_NO_STEP;
            for (int i = 0; i < n_before; i++)
                after = pod_sched_join(s, after, after_ring(before[i], s, part));
            if (after != POD_NO_STEP) *last_of(r, position, piece) = after;
        }
    }
}

void pod__ring_wait(pod__ring *r, int32_t step)
{
    for (int i = 0; i < r->size * r->plan.n_pieces; i++) r->last[i] = step;
}

int32_t pod__ring_own_done(const pod__ring *r, pod_sched *s)
{
    int32_t done = POD_NO_STEP;
    for (int piece = 0; piece < r->plan.n_pieces; piece++)
        done = pod_sched_join(s, done, *last_of(r, r->position, piece));
    return done;
}

int32_t pod__ring_done(const pod__ring *r, pod_sched *s)
{
    int32_t done = POD_NO_STEP;
    for (int i = 0; i < r->size * r->plan.n_pieces; i++) done = pod_sched_join(s, done, r->last[i]);
    return done;
}

/* ---- moves --------------------------------------------------------------------------------- */

typedef struct visit { /* of a piece on its way */
    int position, piece, way;
    bool comes, goes;     /* from the neighbour behind, to the one ahead */
    int came_tag, on_tag; /* by how far it has to go or has gone: the same wherever on the path */
} visit;

static void move_piece(pod__ring *r, pod_sched *s, visit v, bool reduces)
{
    const pod_range part = piece_of(r, v.position, v.piece);
    const pod_span span = {POD_BUF_MAIN, part.first};
    const int ahead = r->neighbor[v.way], behind = r->neighbor[1 - v.way];
    int32_t *last = last_of(r, v.position, v.piece);
    if (v.comes && reduces) {
        int32_t *added = r->sums.added[v.way];
        *last = pod_sched_recv_reduce(s, behind, v.came_tag, span, part.count, *last, added[0]);
        added[0] = added[1];
        added[1] = *last;
    } else if (v.comes) {
        *last = pod_sched_recv(s, behind, v.came_tag, span, part.count, *last);
    }
    if (!v.goes) return;
    const int32_t sent = pod_sched_send(s, ahead, v.on_tag, span, part.count, *last);
    if (reduces) *last = sent; /* it will be written again, where what is gathered is only read */
}

/* Farthest first: so a line's ends do not keep the others waiting, and a ring's first hops come
 * first. */
void pod__ring_reduce_scatter(pod__ring *r, pod_sched *s)
{
    for (int hops = r->size - 1; hops >= 0; hops--) {
        for (int i = 0; i < r->plan.n_pieces * N_WAYS; i++) {
            visit v = {.piece = i / N_WAYS};
            /* Of the two that end here, the one that comes first is added first. */
            const int sooner =
                pod__ring_reach(&r->plan, r->position, v.piece, UP) < r->size - r->size / 2 ? UP
                                                                                            : DOWN;
            v.way = i % N_WAYS ? 1 - sooner : sooner;
            v.position = wrap(r, v.way == UP ? r->position + hops : r->position - hops);
            const int reached = pod__ring_reach(&r->plan, v.position, v.piece, v.way);
            if (hops > reached) continue;
            v.on_tag = r->first_tag + hops * r->plan.n_pieces + v.piece;
            v.came_tag = v.on_tag + r->plan.n_pieces;
            v.comes = hops < reached;
            v.goes = hops > 0;
            move_piece(r, s, v, true);
        }
    }
}

void pod__ring_allgather(pod__ring *r, pod_sched *s)
{
    for (int hops = 0; hops < r->size; hops++) {
        for (int i = 0; i < r->plan.n_pieces * N_WAYS; i++) {
            visit v = {.piece = i / N_WAYS};
            /* Of the two that begin here, the one that goes farther sets out first. */
            const int farther =
                spread(&r->plan, r->position, v.piece, UP) >= r->size / 2 ? UP : DOWN;
            v.way = i % N_WAYS ? 1 - farther : farther;
            v.position = wrap(r, v.way == UP ? r->position - hops : r->position + hops);
            const int spreads = spread(&r->plan, v.position, v.piece, v.way);
            if (hops > spreads) continue;
            v.on_tag = r->first_tag + (r->size + hops) * r->plan.n_pieces + v.piece;
            v.came_tag = v.on_tag - r->plan.n_pieces;
            v.comes = hops > 0;
            v.goes = hops < spreads;
            move_piece(r, s, v, false);
        }
    }
}

pod_status pod__ring_build(const pod_mesh *m, int rank, const pod_coll_args *args, bool both_ways,
                           pod__moves moves, pod_sched *out)
{
    const pod__ring_plan plan = pod__ring_plan_of(m, args->group, args, args->count, 1, both_ways);
    const pod__deal deal = pod__deal_of_range((pod_range){0, args->count}, plan.path.size);
    pod__ring ring;
    POD_TRY(pod__ring_init(out, &plan, rank, &deal, 0, &ring));
    if (moves & POD__REDUCES) pod__ring_reduce_scatter(&ring, out);
    if (moves & POD__GATHERS) pod__ring_allgather(&ring, out);
    return POD_OK;
}

const char *pod__ring_why_not_both_ways(const pod_mesh *m, const pod_coll_args *args)
{
    const pod__path path = pod__path_of(m, args->group);
    if (path.size < 3) return "up and down are the same neighbour in a group of fewer than three";
    return path.is_line ? "the group is a line, on which the ring works both ways itself" : NULL;
}

/* ---- closed form --------------------------------------------------------------------------- */

static double hop_seconds(const pod_net *net, const pod__path *p, int position, double bytes)
{
    const int next = (position + 1) % p->size;
    return pod_net_message_s(
        net, p->mesh, pod_group_member(p->mesh, &p->group, 0, pod__path_index(p, position)),
        pod_group_member(p->mesh, &p->group, 0, pod__path_index(p, next)), bytes);
}

typedef struct hops { /* of messages along a path, nothing in their way */
    double chain_s;   /* the longest of n_hops one after another */
    double longest_s;
    double link_s; /* the longest that one holds a link */
} hops;

static hops hops_of(const pod_net *net, const pod__path *p, double bytes, int n_hops)
{
    const int n_starts = p->is_line ? 1 : p->size;
    hops h = {0};
    double chain_s = 0;
    for (int i = 0; i < n_hops + n_starts - 1; i++) {
        const double s = hop_seconds(net, p, i % p->size, bytes);
        h.longest_s = fmax(h.longest_s, s);
        h.link_s = fmax(h.link_s, s - hop_seconds(net, p, i % p->size, 0));
        chain_s += s;
        if (i >= n_hops) chain_s -= hop_seconds(net, p, i - n_hops, bytes);
        h.chain_s = fmax(h.chain_s, chain_s);
    }
    return h;
}

void pod__ring_cost_add(const pod_net *net, const pod__ring_plan *plan, double bytes,
                        pod__moves moves, int n_sharing, pod__ring_cost *to)
{
    const int n = plan->path.size, n_pieces = plan->n_pieces, others = n - 1;
    if (others == 0 || bytes <= 0) return;
    const bool both_ways = plan->both_ways && n > 2, is_line = plan->path.is_line;
    const int n_hops = both_ways ? others - others / 2 : others;
    const double piece_bytes = bytes / n / n_pieces;
    const hops h = hops_of(net, &plan->path, piece_bytes, n_hops);
    const bool is_uneven = both_ways && others % 2 == 1; /* one way goes a hop farther */
    const bool is_balanced = both_ways && (n_pieces % 2 == 0 || !is_uneven);
    const double link_s =
        (is_balanced ? others * n_pieces / 2.0 : n_hops * n_pieces) * n_sharing * h.link_s;

    for (int gathers = 0; gathers < 2; gathers++) {
        if (!(moves & (gathers ? POD__GATHERS : POD__REDUCES))) continue;
        const bool follows = gathers && moves == POD__BOTH;
        const double add_s = gathers ? 0 : pod_net_reduce_s(net, piece_bytes);
        const double own_s = fmax(net->message_s, add_s);
        const int n_of_run = n_pieces / plan->n_runs;
        const int n_behind = n_of_run - 1 - (is_balanced && is_uneven);
        /* One way, what was summed up goes on from there. */
        const double chain_s =
            follows && !both_ways && !is_line
                ? hops_of(net, &plan->path, piece_bytes, 2 * n_hops).chain_s - h.chain_s
                : h.chain_s;
        to->chain_s += chain_s + n_hops * add_s + (both_ways && !is_uneven ? own_s : 0);
        to->fill_s =
            fmax(to->fill_s, fmax(n_behind * h.link_s, (n_of_run - 1) * (both_ways + 1) * own_s));
        /* On a line the middle is summed up first and sets out; then the ends' links take all. */
        to->link_s +=
            is_line && follows ? n / 2 * (n_pieces * h.link_s) + (n / 2 - 1) * h.longest_s : link_s;
        to->sender_s += (is_line && follows ? n + 1 : others) * n_pieces * net->message_s;
        to->adder_s += (is_line ? n + 1 : others) * n_pieces * add_s;
        to->link_lead_s = h.longest_s - h.link_s + add_s;
        to->sender_lead_s = h.longest_s - net->message_s + add_s;
        to->adder_lead_s = fmax(to->adder_lead_s, gathers ? 0 : h.longest_s);
    }
}

double pod__ring_cost_seconds(const pod__ring_cost *c)
{
    const double own_s = fmax(c->sender_s + c->sender_lead_s, c->adder_s + c->adder_lead_s);
    return fmax(c->chain_s + c->fill_s, fmax(c->link_s + c->link_lead_s, own_s));
}

double pod__ring_seconds(const pod_net *net, const pod__ring_plan *plan, double bytes,
                         pod__moves moves, int n_sharing)
{
    pod__ring_cost cost = {0};
    pod__ring_cost_add(net, plan, bytes, moves, n_sharing, &cost);
    return pod__ring_cost_seconds(&cost);
}

double pod__ring_args_seconds(const pod_net *net, const pod_mesh *m, const pod_coll_args *args,
                              bool both_ways, pod__moves moves)
{
    const pod__ring_plan plan = pod__ring_plan_of(m, args->group, args, args->count, 1, both_ways);
    const double bytes = (double)args->count * (double)pod_dtype_bytes(args->dtype);
    return pod__ring_seconds(net, &plan, bytes, moves, 1);
}
