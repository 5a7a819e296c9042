#include "collectives/algo/ring.h"

#include <math.h>

/* Up and down: the two directions along the path. */
enum { UP, DOWN, N_WAYS };

enum {
    CHUNK_BYTES = 512 << 10, /* three of them within 2 MiB of L2 */
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
    const int64_t bytes =
        longest_block(count, p->path.size) * (int64_t)pod_dtype_bytes(args->dtype);
    const int64_t chunk = args->chunk_bytes > 0 ? args->chunk_bytes : CHUNK_BYTES;
    const int limit = args->chunk_bytes > 0 ? MAX_PIECES : MAX_OWN_PIECES;
    const int64_t wanted = bytes / chunk + (bytes % chunk > 0);
    int n = wanted > limit ? limit : wanted > 1 ? (int)wanted : 1;
    const bool is_balanced = !p->both_ways || p->path.size % 2 == 1 || p->path.size == 2;
    if (!is_balanced && n % 2 == 1 && bytes >= SPLIT_BYTES) n++;
    return n;
}

pod__ring_plan pod__ring_plan_of(const pod_mesh *m, pod_group group, const pod_coll_args *args,
                                 int64_t count, bool both_ways)
{
    pod__ring_plan p = {.path = pod__path_of(m, group)};
    p.both_ways = both_ways && !p.path.is_line;
    p.n_pieces = cut(&p, args, count);
    return p;
}

/* The hops that go `way` to the block of a position in a reduce-scatter. */
static int reach(const pod__ring_plan *p, int position, int piece, int way)
{
    const int others = p->path.size - 1;
    int up = others;
    if (p->path.is_line)
        up = position;
    else if (p->both_ways)
        up = piece % 2 ? others / 2 : others - others / 2;
    return way == UP ? up : others - up;
}

/* The hops that go `way` from it in an all-gather: the other way round, but on a ring one way. */
static int spread(const pod__ring_plan *p, int position, int piece, int way)
{
    const bool is_one_way = !p->path.is_line && !p->both_ways;
    return reach(p, position, piece, is_one_way ? way : 1 - way);
}

/* ---- state --------------------------------------------------------------------------------- */

pod_status pod__ring_init(pod_sched *s, const pod__ring_plan *plan, int rank, pod_range range,
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
                   .range = range,
                   .last = last};
    r.position = pod__path_position(path, pod_group_index(path->mesh, &path->group, rank));
    for (int way = 0; way < N_WAYS; way++) {
        const int next = (r.position + (way == UP ? 1 : size - 1)) % size;
        r.neighbor[way] =
            pod_group_member(path->mesh, &path->group, rank, pod__path_index(path, next));
    }
    *out = r;
    return POD_OK;
}

int pod__ring_n_tags(const pod__ring *r) { return 2 * r->size * r->plan.n_pieces; }

static pod_range block_at(const pod__ring *r, int position)
{
    pod_range block = pod_block(r->range.count, r->size, pod__path_index(&r->plan.path, position));
    block.first += r->range.first;
    return block;
}

static pod_range piece_of(const pod__ring *r, pod_range block, int piece)
{
    pod_range part = pod_block(block.count, r->plan.n_pieces, piece);
    part.first += block.first;
    return part;
}

pod_range pod__ring_own_block(const pod__ring *r) { return block_at(r, r->position); }

static int32_t *last_of(const pod__ring *r, int position, int piece)
{
    return &r->last[position * r->plan.n_pieces + piece];
}

static bool overlap(pod_range a, pod_range b)
{
    return a.count > 0 && b.count > 0 && a.first < b.first + b.count && b.first < a.first + a.count;
}

/* The step after which all of the range may be touched, as far as it is the ring's. */
static int32_t after_ring(const pod__ring *r, pod_sched *s, pod_range range)
{
    int32_t after = POD_NO_STEP;
    for (int position = 0; position < r->size; position++) {
        const pod_range block = block_at(r, position);
        if (!overlap(block, range)) continue;
        for (int piece = 0; piece < r->plan.n_pieces; piece++)
            if (overlap(piece_of(r, block, piece), range))
                after = pod_sched_join(s, after, *last_of(r, position, piece));
    }
    return after;
}

void pod__ring_follow(pod__ring *r, pod_sched *s, const pod__ring *const before[], int n_before,
                      bool is_own)
{
    for (int position = 0; position < r->size; position++) {
        if (is_own && position != r->position) continue;
        const pod_range block = block_at(r, position);
        for (int piece = 0; piece < r->plan.n_pieces; piece++) {
            const pod_range part = piece_of(r, block, piece);
            int32_t after = POD_NO_STEP;
            for (int i = 0; i < n_before; i++)
                after = pod_sched_join(s, after, after_ring(before[i], s, part));
            if (after != POD_NO_STEP) *last_of(r, position, piece) = after;
        }
    }
}

/* ---- moves --------------------------------------------------------------------------------- */

typedef struct visit { /* of a piece on its way */
    int position, piece, way, tag;
    bool comes, goes; /* from the neighbour behind, to the one ahead */
} visit;

static int wrap(const pod__ring *r, int position) { return (position + r->size) % r->size; }

static void move_piece(pod__ring *r, pod_sched *s, visit v, int32_t *added)
{
    const pod_range part = piece_of(r, block_at(r, v.position), v.piece);
    const pod_span span = {POD_BUF_MAIN, part.first};
    const int ahead = r->neighbor[v.way], behind = r->neighbor[1 - v.way];
    int32_t *last = last_of(r, v.position, v.piece);
    if (v.comes && added)
        *added = *last = pod_sched_recv_reduce(s, behind, v.tag, span, part.count, *last, *added);
    else if (v.comes)
        *last = pod_sched_recv(s, behind, v.tag, span, part.count, *last);
    if (!v.goes) return;
    const int32_t sent = pod_sched_send(s, ahead, v.tag, span, part.count, *last);
    if (added) *last = sent; /* it will be written again, where what is gathered is only read */
}

/* Farthest first: so a line's ends do not keep the others waiting, and a ring's first hops come
 * first. */
void pod__ring_reduce_scatter(pod__ring *r, pod_sched *s)
{
    /* A receive waits for the last but one before it: two at a time are enough to hide one behind
     * the sum of the other, and an executor needs memory for no more. */
    int32_t added[N_WAYS][2] = {{POD_NO_STEP, POD_NO_STEP}, {POD_NO_STEP, POD_NO_STEP}};
    int n_added[N_WAYS] = {0};
    for (int hops = r->size - 1; hops >= 0; hops--) {
        for (int i = 0; i < r->plan.n_pieces * N_WAYS; i++) {
            visit v = {.piece = i / N_WAYS};
            /* Of the two that end here, the one that comes first is added first. */
            const int sooner =
                reach(&r->plan, r->position, v.piece, UP) < r->size - r->size / 2 ? UP : DOWN;
            v.way = i % N_WAYS ? 1 - sooner : sooner;
            v.position = wrap(r, v.way == UP ? r->position + hops : r->position - hops);
            const int reached = reach(&r->plan, v.position, v.piece, v.way);
            if (hops > reached) continue;
            v.tag = r->first_tag + v.position * r->plan.n_pieces + v.piece;
            v.comes = hops < reached;
            v.goes = hops > 0;
            move_piece(r, s, v, &added[v.way][n_added[v.way] % 2]);
            n_added[v.way] += v.comes;
        }
    }
}

void pod__ring_allgather(pod__ring *r, pod_sched *s)
{
    for (int hops = 0; hops < r->size; hops++) {
        for (int i = 0; i < r->plan.n_pieces * N_WAYS; i++) {
            visit v = {.piece = i / N_WAYS, .way = i % N_WAYS};
            v.position = wrap(r, v.way == UP ? r->position - hops : r->position + hops);
            const int spreads = spread(&r->plan, v.position, v.piece, v.way);
            if (hops > spreads) continue;
            v.tag = r->first_tag + (r->size + v.position) * r->plan.n_pieces + v.piece;
            v.comes = hops > 0;
            v.goes = hops < spreads;
            move_piece(r, s, v, NULL);
        }
    }
}

pod_status pod__ring_build(const pod_mesh *m, int rank, const pod_coll_args *args, bool both_ways,
                           pod__moves moves, pod_sched *out)
{
    const pod__ring_plan plan = pod__ring_plan_of(m, args->group, args, args->count, both_ways);
    pod__ring ring;
    POD_TRY(pod__ring_init(out, &plan, rank, (pod_range){0, args->count}, 0, &ring));
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

/* Of one piece over one hop, nothing in its way. */
typedef struct hop {
    double longest_s, shortest_s, sum_s; /* message over the path's hops, without the adding */
    double link_s;                       /* the longest that one holds a link */
} hop;

static hop hops_of(const pod_net *net, const pod__path *p, double piece_bytes)
{
    hop h = {0, INFINITY, 0, 0};
    for (int i = 0; i < p->size - p->is_line; i++) {
        const int from = pod_group_member(p->mesh, &p->group, 0, pod__path_index(p, i));
        const int to =
            pod_group_member(p->mesh, &p->group, 0, pod__path_index(p, (i + 1) % p->size));
        const double s = pod_net_message_s(net, p->mesh, from, to, piece_bytes);
        const double held_s = s - pod_net_message_s(net, p->mesh, from, to, 0);
        h.longest_s = fmax(h.longest_s, s);
        h.shortest_s = fmin(h.shortest_s, s);
        h.sum_s += s;
        h.link_s = fmax(h.link_s, held_s);
    }
    return h;
}

/* One move: n members, P pieces a block, H = n - 1 hops at most, or n / 2 both ways. A piece takes
 *
 *     L = message_s + latency + piece / bandwidth + piece / reduce rate            over a hop
 *     chain = H L + (pieces that set out before the last one) x the slowest of
 *             message_s, piece / bandwidth and piece / reduce rate
 *
 * while the busiest of what they share sets a bound: whatever of L stands before or behind it, and
 * between them all that has to pass. That is
 *
 *     one way, line:  (n - 1) P messages over a link     both ways:  (n - 1) P / 2
 *     each rank:      (n - 1) P messages sent, (n - 1) P added, but (n + 1) P within a line
 *
 * and time = max(chain, L + busy - one of them). Where an all-gather follows on a reduce-scatter,
 * piece by piece, both parts of max are sums over the two. */
typedef struct move {
    double hop_s, way_s, fill_s; /* L, H L, what is added to that for the chain */
    double busy_s[3], one_s[3];  /* of the busiest link, a sender, an adder */
} move;

static move move_of(const pod_net *net, const pod__ring_plan *p, double bytes, bool reduces,
                    int n_streams, int n_sharing)
{
    const int n = p->path.size, n_pieces = p->n_pieces;
    const int others = n - 1;
    const int n_hops = p->both_ways ? others - others / 2 : others;
    const double piece_bytes = bytes / n / n_pieces;
    const hop h = hops_of(net, &p->path, piece_bytes);
    const double add_s = reduces ? pod_net_reduce_s(net, piece_bytes) : 0;
    const bool is_balanced = p->both_ways && (n_pieces % 2 == 0 || others % 2 == 0);
    const double over_link = is_balanced ? others * n_pieces / 2.0 : n_hops * n_pieces;
    const double added = (p->path.is_line ? n + 1 : others) * n_pieces;

    move v = {.hop_s = h.longest_s + add_s};
    v.way_s = n_hops * v.hop_s;
    if (n_hops == others) v.way_s = h.sum_s - (p->path.is_line ? 0 : h.shortest_s) + n_hops * add_s;
    const double one_s[3] = {h.link_s, net->message_s, add_s};
    const double busy[3] = {over_link * n_sharing, others * n_pieces * n_streams,
                            added * n_streams};
    const int n_ways = p->both_ways && n > 2 ? N_WAYS : 1;
    /* Those pieces of a link that come last have a hop fewer to go. */
    const bool is_uneven = is_balanced && others % 2 == 1;
    const int n_before[3] = {n_pieces - 1 - is_uneven, n_ways * n_pieces - 1,
                             n_ways * n_pieces - 1};
    for (int i = 0; i < 3; i++) {
        v.one_s[i] = one_s[i];
        v.busy_s[i] = busy[i] * one_s[i];
        v.fill_s = fmax(v.fill_s, n_before[i] * one_s[i]);
    }
    return v;
}

double pod__ring_seconds(const pod_net *net, const pod__ring_plan *plan, double bytes,
                         pod__moves moves, int n_streams, int n_sharing)
{
    if (plan->path.size == 1 || bytes == 0) return 0;
    double chain_s = 0, fill_s = 0, hop_s = 0, busy_s[3] = {0}, one_s[3] = {0};
    for (int gathers = 0; gathers < 2; gathers++) {
        if (!(moves & (gathers ? POD__GATHERS : POD__REDUCES))) continue;
        const move v = move_of(net, plan, bytes, !gathers, n_streams, n_sharing);
        chain_s += v.way_s;
        fill_s = fmax(fill_s, v.fill_s);
        hop_s = v.hop_s;
        for (int i = 0; i < 3; i++) {
            busy_s[i] += v.busy_s[i];
            one_s[i] = v.one_s[i];
        }
    }
    double seconds = chain_s + fill_s;
    for (int i = 0; i < 3; i++) seconds = fmax(seconds, hop_s + busy_s[i] - one_s[i]);
    return seconds;
}

double pod__ring_alone_seconds(const pod_net *net, const pod_mesh *m, const pod_coll_args *args,
                               bool both_ways, pod__moves moves)
{
    const pod__ring_plan plan = pod__ring_plan_of(m, args->group, args, args->count, both_ways);
    const double bytes = (double)args->count * (double)pod_dtype_bytes(args->dtype);
    return pod__ring_seconds(net, &plan, bytes, moves, 1, 1);
}
