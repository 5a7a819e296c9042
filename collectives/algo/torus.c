#include "collectives/algo/torus.h"

#include <math.h>

#include "collectives/algo/torus_rank.h"

enum { MAX_ORDERS = 2, NONE = -1 };

/* The dimensions along which the group is longer than 1. */
typedef struct torus {
    int chip;                   /* the cores of a chip, or NONE */
    int n_dims;                 /* of the others */
    int dim[POD_MESH_MAX_DIMS]; /* best first */
    int n_orders;               /* 1 where there are no two to order */
    int64_t cost[MAX_ORDERS];   /* of the first of each order; any unit */
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

static torus torus_of(const pod_mesh *m, const pod_group *g, int n_orders)
{
    torus t = {.chip = NONE};
    for (int d = 0; d < m->n_dims; d++) {
        if (pod_group_extent(m, g, d) == 1) continue;
        if (d == 0 && m->n_dims == 3) {
            t.chip = d;
            continue;
        }
        int at = t.n_dims++;
        for (; at > 0 && n_ways(m, g, t.dim[at - 1]) < n_ways(m, g, d); at--)
            t.dim[at] = t.dim[at - 1];
        t.dim[at] = d;
    }
    t.n_orders = t.n_dims == 2 ? n_orders : 1;
    /* (n - 1) / n of the data in each direction of a ring that works in one, half in two. */
    for (int i = 0; i < t.n_orders && t.n_orders == 2; i++) {
        const int own = pod_group_extent(m, g, t.dim[i]);
        const int other = pod_group_extent(m, g, t.dim[1 - i]);
        t.cost[i] = (int64_t)(own - 1) * other * (2 / n_ways(m, g, t.dim[i]));
    }
    return t;
}

static int dim_at(const torus *t, int order, int i)
{
    return t->dim[order == 0 ? i : t->n_dims - 1 - i];
}

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
    int64_t share[2]; /* of members' blocks, in share_of; 0: all */
    int64_t share_of;
} part;

static part all_of(const pod_coll_args *args, pod__moves moves)
{
    return (part){
        .is_members = moves != POD__BOTH, .count = args->count, .range = {0, args->count}};
}

/* What goes in an order: the less its first dimension costs, the more. */
static part part_of_order(const torus *t, const part *p, int order)
{
    part of = *p;
    if (t->n_orders == 1) return of;
    of.share_of = t->cost[0] + t->cost[1];
    of.share[0] = order == 0 ? 0 : t->cost[1];
    of.share[1] = order == 0 ? t->cost[1] : of.share_of;
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
    int n_runs = 1; /* of a member's block: for each place along the dimensions to come */
    for (int d = 0; d < m->n_dims && p->is_members; d++)
        if (d != dim && !(p->done >> d & 1)) n_runs *= pod_group_extent(m, &args->group, d);
    return pod__ring_plan_of(m, line_of(&args->group, dim), args, p->count, n_runs, true);
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

/* The next ring and, where there is one, its reduce-scatter; *p becomes what that leaves. */
static pod_status add_ring(site *at, int dim, part *p, const pod__ring *before, pod__ring *out)
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
    if (before) pod__ring_follow(out, at->s, &before, 1, false);
    pod__ring_reduce_scatter(out, at->s);
    return POD_OK;
}

/* The moves over an order's part, with ring[0] for its first dimension. */
static pod_status add_order(site *at, const torus *t, int order, part p, const pod__ring *chip,
                            pod__ring ring[])
{
    for (int i = 0; i < t->n_dims; i++)
        POD_TRY(add_ring(at, dim_at(t, order, i), &p, i > 0 ? &ring[i - 1] : chip, &ring[i]));
    for (int i = t->n_dims; i-- > 0 && at->moves & POD__GATHERS;) {
        pod__ring_allgather(&ring[i], at->s);
        const pod__ring *within = &ring[i];
        if (i > 0) pod__ring_follow(&ring[i - 1], at->s, &within, 1, true);
    }
    return POD_OK;
}

/* What an order uses of tags on the rank that uses most: ranks that meet in the next order may have
 * got blocks of different lengths, and so pieces, in this one. */
static int n_order_tags(const site *at, const torus *t, int order, part p)
{
    int n_tags = 0;
    for (int i = 0; i < t->n_dims; i++) {
        const int dim = dim_at(t, order, i);
        const pod__ring_plan plan = plan_of(at->mesh, at->args, &p, dim);
        n_tags += pod__ring_n_tags(&plan);
        p = part_after(&p, dim, &plan);
    }
    return n_tags;
}

pod_status pod__torus_build(const pod_mesh *m, int rank, const pod_coll_args *args, int n_orders,
                            pod__moves moves, pod_sched *out)
{
    const torus t = torus_of(m, &args->group, n_orders);
    site at = {.mesh = m, .args = args, .moves = moves, .rank = rank, .s = out};
    part left = all_of(args, moves);
    pod__ring chip, ring[MAX_ORDERS][POD_MESH_MAX_DIMS];
    const pod__ring *const within[MAX_ORDERS] = {ring[0], ring[1]};
    if (t.chip != NONE) POD_TRY(add_ring(&at, t.chip, &left, NULL, &chip));
    for (int i = 0; i < t.n_orders; i++) {
        const part p = part_of_order(&t, &left, i);
        const int next_tag = at.tag + n_order_tags(&at, &t, i, p);
        POD_TRY(add_order(&at, &t, i, p, t.chip == NONE ? NULL : &chip, ring[i]));
        at.tag = next_tag;
    }
    if (t.chip == NONE || !(moves & POD__GATHERS)) return POD_OK;
    if (t.n_dims > 0) pod__ring_follow(&chip, out, within, t.n_orders, true);
    pod__ring_allgather(&chip, out);
    return POD_OK;
}

/* ---- closed form --------------------------------------------------------------------------- */

typedef struct clock {
    const pod_net *net;
    const pod_mesh *mesh;
    const pod_coll_args *args;
    pod__moves moves;
    pod__ring_cost dim[POD_MESH_MAX_DIMS]; /* of all orders together */
    pod__ring_cost order;                  /* of one */
    double in_turn_s;                      /* of one, each move after the one before */
    int n_pieces, n_runs;                  /* of the first dimension's blocks */
    int n_sharing;                         /* cores of a chip that use its links */
} clock;

/* The moves along a dimension; answers what is left. */
static part add_moves(clock *c, int dim, part p, bool is_last)
{
    const pod__ring_plan plan = plan_of(c->mesh, c->args, &p, dim);
    const double bytes = (double)p.count * (double)pod_dtype_bytes(c->args->dtype);
    const int n_sharing = dim == 0 && c->mesh->n_dims == 3 ? 1 : c->n_sharing;
    pod__ring_cost_add(c->net, &plan, bytes, c->moves, n_sharing, &c->dim[dim]);
    pod__ring_cost_add(c->net, &plan, bytes, c->moves, 1, &c->order);
    c->in_turn_s += is_last || c->moves != POD__BOTH
                        ? pod__ring_seconds(c->net, &plan, bytes, c->moves, n_sharing)
                        : pod__ring_seconds(c->net, &plan, bytes, POD__REDUCES, n_sharing) +
                              pod__ring_seconds(c->net, &plan, bytes, POD__GATHERS, n_sharing);
    if (c->n_pieces == 0) {
        c->n_pieces = plan.n_pieces;
        c->n_runs = plan.n_runs;
    }
    return part_after(&p, dim, &plan);
}

/* What the second order's first message waits for: those of the first order. After the cores of a
 * chip neither can begin at once. */
static double behind_seconds(const clock *c, const torus *t)
{
    const pod_group *g = &c->args->group;
    if (t->n_orders == 1 || (t->chip != NONE && c->moves == POD__REDUCES)) return 0;
    const int n_runs = c->moves == POD__BOTH ? 1 : pod_group_extent(c->mesh, g, t->dim[1]);
    return n_ways(c->mesh, g, t->dim[0]) * n_runs * c->net->message_s;
}

/* Whether all ranks do the same at the same time, each over links of its own: two rings that close,
 * between neighbours. */
static bool is_alike(const pod_mesh *m, const pod_group *g, const torus *t)
{
    if (t->chip != NONE || t->n_dims != POD__RANK_RINGS) return false;
    for (int i = 0; i < t->n_dims; i++)
        if (g->step[t->dim[i]] > 1 || pod__path_of(m, line_of(g, t->dim[i])).is_line) return false;
    return true;
}

/* The rings of the orders that have anything to move, and how many orders; NONE where a block is in
 * too many pieces. */
static int rings_of(const pod_mesh *m, const pod_coll_args *args, const torus *t, pod__moves moves,
                    pod__rank_ring out[][POD__RANK_RINGS])
{
    const part all = all_of(args, moves);
    int n_orders = 0;
    for (int i = 0; i < t->n_orders; i++) {
        part p = part_of_order(t, &all, i);
        /* The order's share of a member's block. */
        const int64_t block = pod_block(args->count, pod_group_size(m, &args->group), 0).count;
        const int64_t part_count = p.share_of == 0 ? block
                                                   : pod__share(block, p.share[1], p.share_of) -
                                                         pod__share(block, p.share[0], p.share_of);
        for (int k = 0; k < t->n_dims; k++) {
            pod__rank_ring *r = &out[n_orders][k];
            r->dim = dim_at(t, i, k);
            r->plan = plan_of(m, args, &p, r->dim);
            const int64_t n_of_run = r->plan.n_pieces / r->plan.n_runs;
            r->piece_bytes = (double)((part_count + n_of_run - 1) / n_of_run) *
                             (double)pod_dtype_bytes(args->dtype);
            if (r->plan.n_pieces > POD__RANK_MAX_PIECES) return NONE;
            p = part_after(&p, r->dim, &r->plan);
        }
        n_orders += part_count > 0;
    }
    return n_orders;
}

/* With one piece a block, moves take their turns; with many, all dimensions work at once, and what
 * is busy longest decides: the more pieces, the nearer to that. Left out is what two orders take
 * from each other where dimensions are of different lengths. Halves where all ranks do alike are
 * followed exactly instead (torus_rank.h). */
double pod__torus_seconds(const pod_net *net, const pod_mesh *m, const pod_coll_args *args,
                          int n_orders, pod__moves moves)
{
    const torus t = torus_of(m, &args->group, n_orders);
    pod__rank_ring rings[POD__RANK_ORDERS][POD__RANK_RINGS];
    if (moves != POD__BOTH && is_alike(m, &args->group, &t)) {
        const int n_with_any = rings_of(m, args, &t, moves, rings);
        if (n_with_any != NONE)
            return pod__rank_seconds(net, rings, n_with_any, moves == POD__GATHERS);
    }
    clock start = {.net = net, .mesh = m, .args = args, .moves = moves, .n_sharing = 1};
    part left = all_of(args, moves);
    if (t.chip != NONE) {
        left = add_moves(&start, t.chip, left, t.n_dims == 0);
        if (net->is_chip_shared) start.n_sharing = pod_group_extent(m, &args->group, t.chip);
    }
    clock c = start;
    double in_turn_s = 0, at_once_s = 0, sender_s = 0, adder_s = 0;
    for (int i = 0; i < t.n_orders; i++) {
        c.order = start.order;
        c.in_turn_s = start.in_turn_s;
        part p = part_of_order(&t, &left, i);
        for (int k = 0; k < t.n_dims; k++)
            p = add_moves(&c, dim_at(&t, i, k), p, k == t.n_dims - 1);
        in_turn_s = fmax(in_turn_s, c.in_turn_s);
        at_once_s = fmax(at_once_s, c.order.chain_s + c.order.fill_s);
    }
    for (int d = 0; d < m->n_dims; d++) {
        at_once_s = fmax(at_once_s, c.dim[d].link_s + c.dim[d].link_lead_s);
        sender_s += c.dim[d].sender_s;
        adder_s += c.dim[d].adder_s;
    }
    at_once_s = fmax(at_once_s, fmax(sender_s, adder_s));
    const double rest_s = fmax(in_turn_s - at_once_s, 0);
    return at_once_s + rest_s * fmin(1, 2.0 / fmax(c.n_pieces, 1) / fmax(c.n_runs, 1)) +
           behind_seconds(&c, &t);
}
