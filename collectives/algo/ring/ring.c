#include "collectives/algo/ring/ring.h"

#include "collectives/algo/algorithms.h"

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

/* ---- collectives of one ring ---------------------------------------------------------------- */

static pod_status build(const pod_mesh *m, int rank, const pod_coll_args *args, bool both_ways,
                        pod_sched *out)
{
    const pod__moves moves = pod__moves_of(args->coll);
    const pod__ring_plan plan = pod__ring_plan_of(m, args->group, args, args->count, 1, both_ways);
    const pod__deal deal = pod__deal_of_range((pod_range){0, args->count}, plan.path.size);
    pod__ring ring;
    POD_TRY(pod__ring_init(out, &plan, rank, &deal, 0, &ring));
    if (moves & POD__REDUCES) pod__ring_reduce_scatter(&ring, out);
    if (moves & POD__GATHERS) pod__ring_allgather(&ring, out);
    return POD_OK;
}

pod__moves pod__moves_of(pod_coll coll)
{
    return coll == POD_REDUCE_SCATTER ? POD__REDUCES
           : coll == POD_ALLGATHER    ? POD__GATHERS
                                      : POD__BOTH;
}

/* 2 (size - 1) rounds of an all-reduce, size - 1 of either half, in which every rank sends and
 * receives count / size elements: no rank could send less (Patarasuk and Yuan, "Bandwidth optimal
 * all-reduce algorithms for clusters of workstations", 2009). Block b is summed in the order of the
 * ring, from the member behind it on. A group that is a line of an open dimension works as one,
 * both ways at once: a last hop back over all links would take as much again. */
pod_status pod__ring_build(const pod_mesh *m, int rank, const pod_coll_args *args, pod_sched *out)
{
    return build(m, rank, args, false, out);
}

/* Both ways at once: a block is summed from both sides, half of the members in each direction, and
 * goes back out the same way. As many messages as one way, but size / 2 hops deep, and the links of
 * both directions work. */
pod_status pod__ring2_build(const pod_mesh *m, int rank, const pod_coll_args *args, pod_sched *out)
{
    return build(m, rank, args, true, out);
}

const char *pod__ring2_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    const pod__path path = pod__path_of(m, args->group);
    if (path.size < 3) return "up and down are the same neighbour in a group of fewer than three";
    return path.is_line ? "the group is a line, on which the ring works both ways itself" : NULL;
}

/* Every rank sends its buffer to the next member and takes that of the one before. What leaves is
 * copied aside first, since what comes stands in its place. */
pod_status pod__shift_build(const pod_mesh *m, int rank, const pod_coll_args *args, pod_sched *out)
{
    const int size = pod_group_size(m, &args->group),
              index = pod_group_index(m, &args->group, rank);
    const int next = pod_group_member(m, &args->group, rank, (index + 1) % size);
    const int before = pod_group_member(m, &args->group, rank, (index + size - 1) % size);
    const pod_span main = {POD_BUF_MAIN, 0}, aside = {POD_BUF_SCRATCH, 0};
    if (size == 1) return POD_OK;
    const int32_t copied = pod_sched_copy(out, main, aside, args->count, POD_NO_STEP);
    pod_sched_send(out, next, 0, aside, args->count, copied);
    pod_sched_recv(out, before, 0, main, args->count, copied);
    return POD_OK;
}
