#include "collectives/algo/torus.h"

#include <math.h>

#include "collectives/algo/ring.h"

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

/* What goes in an order: the less its first dimension costs, the more. */
static pod_range share_of(const torus *t, pod_range range, int order)
{
    if (t->n_orders == 1) return range;
    const int64_t all = t->cost[0] + t->cost[1];
    const int64_t n_first = range.count / all * t->cost[1] + range.count % all * t->cost[1] / all;
    if (order == 0) return (pod_range){range.first, n_first};
    return (pod_range){range.first + n_first, range.count - n_first};
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

/* One rank's rings while they are built. */
typedef struct site {
    const pod_mesh *mesh;
    const pod_coll_args *args;
    int rank, tag;
    pod_sched *s;
} site;

static pod_status add_ring(site *at, int dim, pod_range range, const pod__ring *before,
                           pod__ring *out)
{
    const pod__ring_plan plan =
        pod__ring_plan_of(at->mesh, line_of(&at->args->group, dim), at->args, range.count, true);
    POD_TRY(pod__ring_init(at->s, &plan, at->rank, range, at->tag, out));
    at->tag += pod__ring_n_tags(out);
    if (before) pod__ring_follow(out, at->s, &before, 1, false);
    pod__ring_reduce_scatter(out, at->s);
    return POD_OK;
}

/* An all-reduce of the range, with ring[0] for the first dimension. */
static pod_status add_order(site *at, const torus *t, int order, pod_range range,
                            const pod__ring *chip, pod__ring ring[])
{
    for (int i = 0; i < t->n_dims; i++) {
        POD_TRY(add_ring(at, dim_at(t, order, i), range, i > 0 ? &ring[i - 1] : chip, &ring[i]));
        range = pod__ring_own_block(&ring[i]);
    }
    for (int i = t->n_dims; i-- > 0;) {
        pod__ring_allgather(&ring[i], at->s);
        const pod__ring *within = &ring[i];
        if (i > 0) pod__ring_follow(&ring[i - 1], at->s, &within, 1, true);
    }
    return POD_OK;
}

pod_status pod__torus_build(const pod_mesh *m, int rank, const pod_coll_args *args, int n_orders,
                            pod_sched *out)
{
    const torus t = torus_of(m, &args->group, n_orders);
    site at = {.mesh = m, .args = args, .rank = rank, .s = out};
    pod_range range = {0, args->count};
    pod__ring chip, ring[MAX_ORDERS][POD_MESH_MAX_DIMS];
    const pod__ring *const within[MAX_ORDERS] = {ring[0], ring[1]};
    if (t.chip != NONE) {
        POD_TRY(add_ring(&at, t.chip, range, NULL, &chip));
        range = pod__ring_own_block(&chip);
    }
    for (int i = 0; i < t.n_orders; i++)
        POD_TRY(
            add_order(&at, &t, i, share_of(&t, range, i), t.chip == NONE ? NULL : &chip, ring[i]));
    if (t.chip == NONE) return POD_OK;
    if (t.n_dims > 0) pod__ring_follow(&chip, out, within, t.n_orders, true);
    pod__ring_allgather(&chip, out);
    return POD_OK;
}

/* ---- closed form --------------------------------------------------------------------------- */

/* One after the other: cores' reduce-scatter, that along the first dimension, both moves along the
 * second, and the all-gathers back; the longer of the two orders counts. What shares a sender, an
 * adder (the orders) or a link (the cores of a chip) is behind by one piece, and stays so. */
typedef struct clock {
    const pod_net *net;
    const pod_mesh *mesh;
    const pod_coll_args *args;
} clock;

static pod__ring_plan plan_along(const clock *c, int dim, int64_t count)
{
    return pod__ring_plan_of(c->mesh, line_of(&c->args->group, dim), c->args, count, true);
}

static double bytes_of(const clock *c, int64_t count)
{
    return (double)count * (double)pod_dtype_bytes(c->args->dtype);
}

static double order_seconds(const clock *c, const torus *t, int order, int64_t count, int n_sharing)
{
    double seconds = 0, behind_s = 0;
    for (int i = 0; i < t->n_dims; i++) {
        const pod__ring_plan plan = plan_along(c, dim_at(t, order, i), count);
        const double bytes = bytes_of(c, count);
        const pod__moves each[2] = {POD__REDUCES, POD__GATHERS}, both[1] = {POD__BOTH};
        const bool is_last = i == t->n_dims - 1;
        for (int k = 0; k < (is_last ? 1 : 2); k++)
            seconds += pod__ring_seconds(c->net, &plan, bytes, is_last ? both[k] : each[k],
                                         t->n_orders, n_sharing);
        count = (count + plan.path.size - 1) / plan.path.size;
        if (i > 0) continue;
        const double piece_bytes = bytes_of(c, count) / plan.n_pieces;
        const double link_s = piece_bytes / c->net->link_bytes_per_s[dim_at(t, order, i)];
        const double adder_s = pod_net_reduce_s(c->net, piece_bytes);
        behind_s =
            fmax((t->n_orders - 1) * fmax(c->net->message_s, adder_s), (n_sharing - 1) * link_s);
    }
    return seconds + behind_s;
}

double pod__torus_seconds(const pod_net *net, const pod_mesh *m, const pod_coll_args *args,
                          int n_orders)
{
    const torus t = torus_of(m, &args->group, n_orders);
    const clock c = {net, m, args};
    int64_t count = args->count;
    double chip_s = 0, order_s = 0;
    int n_sharing = 1;
    if (t.chip != NONE) {
        const pod__ring_plan plan = plan_along(&c, t.chip, count);
        const double bytes = bytes_of(&c, count);
        chip_s = pod__ring_seconds(net, &plan, bytes, POD__REDUCES, 1, 1) +
                 pod__ring_seconds(net, &plan, bytes, POD__GATHERS, 1, 1);
        count = (count + plan.path.size - 1) / plan.path.size;
        if (net->is_chip_shared) n_sharing = plan.path.size;
    }
    for (int i = 0; i < t.n_orders; i++) {
        const pod_range share = share_of(&t, (pod_range){0, count}, i);
        order_s = fmax(order_s, order_seconds(&c, &t, i, share.count, n_sharing));
    }
    return chip_s + order_s;
}
