/* Rings dimension by dimension, in all orders at once or in one: reduce-scatter, all-gather, and
 * the all-reduce that is one after the other, strip by strip.
 *
 * Over a mesh of X x Y, where a rank keeps of n elements ever less, and then ever more:
 *
 *     reduce-scatter along x   n / X         of every row's sum
 *     reduce-scatter along y   n / (X Y)     of the sum
 *     all-gather along y       n / X         of the sum
 *     all-gather along x       n
 *
 * A dimension that wraps goes first, since both its directions work at once: so where the other is
 * open, that carries 1 / X of the data. Of two that are alike in this the shorter one goes first,
 * so that a torus turned takes the same time. In all orders a part of the payload goes x, y and
 * the rest y, x, in such shares that their first rings take the same time, half and half where the
 * dimensions are alike: then all links of the mesh work all the time. Over three dimensions of
 * chips, in this order a, b, c, one part goes a, b, c, one b, c, a and one c, a, b. Where the first of three is the cores of
 * a chip, these sum up before and gather after all else.
 *
 * An all-reduce is cut into strips, each of which goes through all rings on its own, every block
 * in one piece. So all ranks wait for the same, and while one strip is gathered along x another
 * one is summed up along y. A few set out at once; each other one when an earlier one has been
 * summed up along its first ring, lest early strips queue for links behind late ones.
 * `chunk_bytes` says how long the blocks of the first rings between chips are at most, in up to
 * 1024 strips; those of later rings are shorter. The own choice is few strips, for hosts, and
 * because that comes nearest to what is published of pods.
 *
 * What a rank has in the middle is the algorithm's own business in an all-reduce: there each part
 * of a strip is cut along its own order, so that blocks lie in one run. A reduce-scatter must
 * leave, and an all-gather take, the block that is the member's, of which each order has its
 * share; then what goes along x is X Y runs instead of X blocks (deal.h), and no element is moved
 * for the sake of its place.
 *
 * In an all-reduce a rank takes about 4 (X - 1 + Y - 1) steps, or 4 (X - 1 + Y - 1 + Z - 1), for
 * each strip and order, and 4 (cores - 1); in either half alone 4 (X Y - 1) for both orders of two
 * dimensions and 2 X Y (cores - 1), in an all-gather one more for each part that waits for both
 * orders. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/ring/ring.h"

enum { MAX_ORDERS = POD_MESH_MAX_DIMS, NONE = -1 };

/* Strips of an all-reduce, by the blocks of the first rings between chips. */
enum {
    STRIP_BYTES = 512 << 10, /* what comes in, what it is added to and the sum within an L2 */
    UNLIKE_STRIP_BYTES = 256 << 10, /* of three orders over different extents */
    SPLIT_BYTES = 32 << 10,         /* below, balance is not worth a message more */
    MAX_OWN_STRIPS = 32,            /* of what is cut by choice */
    MAX_STRIPS = 1024,
    N_IN_FLIGHT = 4,            /* strips; more of them queue for the links that they need ... */
    N_UNLIKE_IN_FLIGHT = 2,     /* (these get out of step, and queue sooner) */
    IN_FLIGHT_BYTES = 128 << 10 /* ... once these fill a link while one waits for a hop */
};

/* The dimensions along which the group is longer than 1. */
typedef struct torus {
    int chip;                   /* the cores of a chip, or NONE */
    int n_dims;                 /* of the others */
    int dim[POD_MESH_MAX_DIMS]; /* best first */
    int n_orders;               /* 1, or as many as dimensions */
    int64_t share[MAX_ORDERS];  /* of the payload that goes in each order; any unit */
} torus;

static pod_group line_of(const pod_group *g, int dim)
{
    pod_group line = *g;
    line.dims &= 1u << dim;
    return line;
}

/* In how many directions a ring along the dimension works at once. */
static int n_ways(const pod_mesh *m, const pod_group *g, int dim)
{
    const pod__path path = pod__path_of(m, line_of(g, dim));
    return path.size > 2 && !path.is_line ? 2 : 1;
}

/* Whether a ring along `a` goes before one along `b`: the one that works both ways, then the
 * shorter one, whose name in the mesh does not matter: a torus that is turned takes the same time. */
static bool is_before(const pod_mesh *m, const pod_group *g, int a, int b)
{
    const int ways_a = n_ways(m, g, a), ways_b = n_ways(m, g, b);
    if (ways_a != ways_b) return ways_a > ways_b;
    return pod_group_extent(m, g, a) < pod_group_extent(m, g, b);
}

static torus torus_of(const pod_mesh *m, const pod_group *g, bool in_all_orders)
{
    torus t = {.chip = NONE};
    for (int d = 0; d < m->n_dims; d++) {
        if (pod_group_extent(m, g, d) == 1) continue;
        if (d == 0 && m->n_dims == POD_MESH_MAX_DIMS && !m->is_of_chips) {
            t.chip = d;
            continue;
        }
        int at = t.n_dims++;
        for (; at > 0 && is_before(m, g, d, t.dim[at - 1]); at--) t.dim[at] = t.dim[at - 1];
        t.dim[at] = d;
    }
    t.n_orders = in_all_orders ? t.n_dims : 1;
    /* The less its first ring costs, the more: (n - 1) / n of the data in each direction of a ring
     * that works in one, half in two. */
    for (int i = 0; i < t.n_orders; i++) {
        t.share[i] = pod_group_extent(m, g, t.dim[i]);
        for (int k = 0; k < t.n_dims; k++)
            if (k != i)
                t.share[i] *= (pod_group_extent(m, g, t.dim[k]) - 1) * (2 / n_ways(m, g, t.dim[k]));
    }
    return t;
}

static int dim_at(const torus *t, int order, int i) { return t->dim[(order + i) % t->n_dims]; }

const char *pod__torus_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    int n_long = 0;
    for (int d = 0; d < m->n_dims; d++) n_long += pod_group_extent(m, &args->group, d) > 1;
    return n_long < 2 ? "the group is longer than 1 in fewer than two dimensions" : NULL;
}

/* ---- what is left on the way --------------------------------------------------------------- */

/* After rings along some dimensions, and in which order's share. Counts are those that rings are
 * planned for: the longest there are where the members of a ring may have different ones. */
typedef struct part {
    bool is_members;  /* else of an all-reduce */
    uint32_t done;    /* those dimensions */
    int64_t count;    /* elements */
    pod_range range;  /* of an all-reduce: which */
    int strip;        /* of an all-reduce: its number */
    int64_t share[2]; /* of members' blocks, in share_of; 0: all */
    int64_t share_of;
} part;

/* A strip of an all-reduce; of a half all there is is one. */
static part part_of_strip(const pod_coll_args *args, pod__moves moves, int n_strips, int strip)
{
    const pod_range range = pod_block(args->count, n_strips, strip);
    return (part){
        .is_members = moves != POD__BOTH, .count = range.count, .range = range, .strip = strip};
}

/* What goes in an order. */
static part part_of_order(const torus *t, const part *p, int order)
{
    part of = *p;
    if (t->n_orders == 1) return of;
    for (int i = 0; i < t->n_orders; i++) {
        if (i == order) of.share[0] = of.share_of;
        of.share_of += t->share[i];
        if (i == order) of.share[1] = of.share_of;
    }
    const int64_t begin = pod__share(p->count, of.share[0], of.share_of),
                  end = pod__share(p->count, of.share[1], of.share_of);
    of.count = end - begin;
    of.range = (pod_range){p->range.first + begin, of.count};
    return of;
}

static part part_after(const part *p, int dim, const pod__ring_plan *plan)
{
    part left = *p;
    left.done |= 1u << dim;
    left.count = pod_block(p->count, plan->path.size, 0).count;
    return left;
}

static pod__ring_plan plan_of(const pod_mesh *m, const pod_coll_args *args, const part *p, int dim)
{
    if (!p->is_members) return pod__ring_plan_whole(m, line_of(&args->group, dim), p->strip % 2);
    int n_runs = 1; /* of a member's block: for each place along the dimensions to come */
    for (int d = 0; d < m->n_dims; d++)
        if (d != dim && !(p->done >> d & 1)) n_runs *= pod_group_extent(m, &args->group, d);
    return pod__ring_plan_of(m, line_of(&args->group, dim), args, p->count, n_runs, true);
}

/* ---- strips -------------------------------------------------------------------------------- */

typedef struct strips {
    int n, n_at_once;
} strips;

/* Elements of the longest block of the first ring of an order. */
static int64_t first_block(const pod_mesh *m, const pod_coll_args *args, const torus *t)
{
    const pod_group *g = &args->group;
    part left = part_of_strip(args, POD__BOTH, 1, 0);
    if (t->chip != NONE)
        left.count = pod_block(left.count, pod_group_extent(m, g, t->chip), 0).count;
    int64_t longest = 0;
    for (int i = 0; i < t->n_orders; i++) {
        const part p = part_of_order(t, &left, i);
        const int64_t block = pod_block(p.count, pod_group_extent(m, g, dim_at(t, i, 0)), 0).count;
        if (block > longest) longest = block;
    }
    return longest;
}

static int64_t times(int64_t bytes, int64_t of) { return bytes / of + (bytes % of > 0); }

/* Whether halves of the payload can load links alike, or follow one another, as one cannot: over
 * two members there is one link each way, used once. */
static bool gains_by_halves(const pod_mesh *m, const pod_coll_args *args, const torus *t)
{
    for (int i = 0; i < t->n_dims; i++)
        if (pod_group_extent(m, &args->group, t->dim[i]) > 2) return true;
    return false;
}

/* Whether three orders go over different extents. */
static bool is_unlike(const pod_mesh *m, const pod_group *g, const torus *t)
{
    if (t->n_orders < 3) return false;
    for (int i = 1; i < t->n_orders; i++)
        if (pod_group_extent(m, g, t->dim[i]) != pod_group_extent(m, g, t->dim[0])) return true;
    return false;
}

static strips strips_of(const pod_mesh *m, const pod_coll_args *args, const torus *t,
                        pod__moves moves)
{
    if (moves != POD__BOTH) return (strips){1, 1};
    const int64_t block = first_block(m, args, t), size = (int64_t)pod_dtype_bytes(args->dtype);
    const int64_t bytes = block < INT64_MAX / size ? block * size : INT64_MAX;
    const bool is_told = args->chunk_bytes > 0, unlike = is_unlike(m, &args->group, t);
    const int64_t own_bytes = unlike ? UNLIKE_STRIP_BYTES : STRIP_BYTES;
    const int n_in_flight = unlike ? N_UNLIKE_IN_FLIGHT : N_IN_FLIGHT;
    int64_t limit = is_told ? MAX_STRIPS : MAX_OWN_STRIPS;
    if (limit > block) limit = block;
    int64_t n = times(bytes, is_told ? args->chunk_bytes : own_bytes);
    /* An even number where there is enough. */
    if (n % 2 == 1 && bytes >= SPLIT_BYTES && gains_by_halves(m, args, t)) n++;
    if (n > limit) n = limit;
    strips s = {.n = n < 1 ? 1 : (int)n};
    s.n_at_once = bytes > 0 ? (int)times(IN_FLIGHT_BYTES, times(bytes, s.n)) : 0;
    if (s.n_at_once < n_in_flight) s.n_at_once = n_in_flight;
    return s;
}

/* ---- schedule ------------------------------------------------------------------------------ */

/* One rank's rings while they are built. */
typedef struct site {
    const pod_mesh *mesh;
    const pod_coll_args *args;
    pod__moves moves;
    int rank, tag;
    pod_sched *s;
} site;

/* What a ring of a strip leaves to the same one of a later strip. */
typedef struct trace {
    int32_t own_sum; /* of its own block */
    pod__ring_sums sums;
} trace;

typedef struct traces {
    trace chip, ring[MAX_ORDERS][POD_MESH_MAX_DIMS];
} traces;

static traces no_traces(void)
{
    const trace none = {POD_NO_STEP, pod__ring_no_sums};
    traces t = {.chip = none};
    for (int i = 0; i < MAX_ORDERS * POD_MESH_MAX_DIMS; i++)
        t.ring[i / POD_MESH_MAX_DIMS][i % POD_MESH_MAX_DIMS] = none;
    return t;
}

/* The next ring and, where there is one, its reduce-scatter, after `before` or, for a first ring,
 * after the own sum of an earlier strip; *left is that strip's and becomes this one's, and *p what
 * there is left to move. */
static pod_status add_ring(site *at, int dim, part *p, const pod__ring *before, trace *left,
                           pod__ring *out)
{
    const pod__ring_plan plan = plan_of(at->mesh, at->args, p, dim);
    pod__deal deal = pod__deal_of_range(p->range, plan.path.size);
    if (p->is_members) {
        deal = pod__deal_of_members(at->mesh, &at->args->group, at->rank, at->args->count, p->done,
                                    dim);
        deal.share[0] = p->share[0];
        deal.share[1] = p->share[1];
        deal.share_of = p->share_of;
    }
    POD_TRY(pod__ring_init(at->s, &plan, at->rank, &deal, at->tag, out));
    at->tag += pod__ring_n_tags(&plan);
    *p = part_after(p, dim, &plan);
    if (!p->is_members) {
        p->range = pod__ring_own_block(out);
        p->count = p->range.count;
    }
    if (!(at->moves & POD__REDUCES)) return POD_OK;
    if (before)
        pod__ring_follow(out, at->s, &before, 1, false);
    else
        pod__ring_wait(out, left->own_sum);
    out->sums = left->sums;
    pod__ring_reduce_scatter(out, at->s);
    left->sums = out->sums;
    if (!before && !p->is_members) left->own_sum = pod__ring_own_done(out, at->s);
    return POD_OK;
}

/* The moves over an order's part, with ring[0] for its first dimension. */
static pod_status add_order(site *at, const torus *t, int order, part p, const pod__ring *chip,
                            trace left[], pod__ring ring[])
{
    for (int i = 0; i < t->n_dims; i++)
        POD_TRY(
            add_ring(at, dim_at(t, order, i), &p, i > 0 ? &ring[i - 1] : chip, &left[i], &ring[i]));
    for (int i = t->n_dims; i-- > 0 && at->moves & POD__GATHERS;) {
        pod__ring_allgather(&ring[i], at->s);
        const pod__ring *within = &ring[i];
        if (i > 0) pod__ring_follow(&ring[i - 1], at->s, &within, 1, true);
    }
    return POD_OK;
}

/* All moves over a strip, or all there is. */
static pod_status add_strip(site *at, const torus *t, part p, traces *left)
{
    pod__ring chip, ring[MAX_ORDERS][POD_MESH_MAX_DIMS];
    const pod__ring *within[MAX_ORDERS];
    for (int i = 0; i < MAX_ORDERS; i++) within[i] = ring[i];
    const bool has_chip = t->chip != NONE;
    if (has_chip) POD_TRY(add_ring(at, t->chip, &p, NULL, &left->chip, &chip));
    for (int i = 0; i < t->n_orders; i++)
        POD_TRY(add_order(at, t, i, part_of_order(t, &p, i), has_chip ? &chip : NULL, left->ring[i],
                          ring[i]));
    if (!has_chip || !(at->moves & POD__GATHERS)) return POD_OK;
    pod__ring_follow(&chip, at->s, within, t->n_orders, true);
    pod__ring_allgather(&chip, at->s);
    return POD_OK;
}

static pod_status build(const pod_mesh *m, int rank, const pod_coll_args *args, bool in_all_orders,
                        pod_sched *out)
{
    const pod__moves moves = pod__moves_of(args->coll);
    const torus t = torus_of(m, &args->group, in_all_orders);
    const strips cut = strips_of(m, args, &t, moves);
    site at = {.mesh = m, .args = args, .moves = moves, .rank = rank, .s = out};
    traces *left = POD_ARENA_NEW(pod_sched_arena(out), traces, cut.n);
    if (!left) return POD_E_NOMEM;
    for (int k = 0; k < cut.n; k++) {
        left[k] = k < cut.n_at_once ? no_traces() : left[k - cut.n_at_once];
        POD_TRY(add_strip(&at, &t, part_of_strip(args, moves, cut.n, k), &left[k]));
    }
    return POD_OK;
}

/* In all orders at once. Of an all-reduce all links work. Either half alone takes X / 2 + Y / 2
 * hops where the mesh wraps, against X Y / 2 of a ring both ways, which uses half of the links;
 * but a rank sends up to 2 X Y messages, each of half a block, where a ring sends X Y: hosts,
 * which pay for every message, may do better with that. */
pod_status pod__torus2d_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                              pod_sched *out)
{
    return build(m, rank, args, true, out);
}

/* In one order: half the messages of torus2d, each twice as long, and more work for the links of
 * the first dimension than for those of the others. For hosts, where a message costs more than a
 * link. The bucket algorithm of Sack and Gropp, "Collective algorithms for multiported torus
 * networks", 2015. */
pod_status pod__bucket_build(const pod_mesh *m, int rank, const pod_coll_args *args, pod_sched *out)
{
    return build(m, rank, args, false, out);
}
