/* All-reduce over nodes whose ranks share memory: reduce-scatter within a node, all-reduce of each
 * share between the ranks of equal place on all nodes, all-gather within the node.
 *
 *     node:   meet | rank i: its block i = its sum over the node
 *     nodes:  block i goes round the nodes, to be summed and to be handed on
 *     node:   everyone reads every block from the rank that has it
 *
 * Only 1 / node_size of the buffer leaves a rank for another node. The nodes tile the mesh, so that
 * ranks of equal place are part of a line along each dimension; the rings go along one dimension
 * after the other. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/direct/share.h"
#include "collectives/algo/ring/ring.h"
#include "kernels/base/assert.h"

/* Nodes fill the dimensions before `dim`, and `part` ranks of it. */
typedef struct tiles {
    int dim, part;
} tiles;

/* Whether they do. */
static bool find_tiles(const pod_mesh *m, int node_size, tiles *out)
{
    int below = 1, d = 0;
    while (d < m->n_dims && node_size % (below * m->extent[d]) == 0) below *= m->extent[d++];
    if (d == m->n_dims || m->extent[d] % (node_size / below) != 0) return false;
    *out = (tiles){d, node_size / below};
    return true;
}

const char *pod__hierarchical_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    const int n_ranks = pod_mesh_size(m);
    tiles t;
    if (args->node_size < 2) return "no ranks share memory";
    if (pod_group_size(m, &args->group) != n_ranks) return "the group is not the whole mesh";
    if (args->node_size >= n_ranks) return "there is only one node";
    if (n_ranks % args->node_size != 0) return "nodes differ in how many ranks they have";
    if (args->node_size > POD_COMBINE_MAX_INPUTS)
        return "a node has more ranks than one sum over shared memory takes";
    return find_tiles(m, args->node_size, &t) ? NULL : "nodes do not tile the mesh";
}

/* The ranks of `rank`'s node. */
static pod__sharers node_of(int node_size, int rank)
{
    pod__sharers node = {.size = node_size, .index = rank % node_size};
    for (int i = 0; i < node_size; i++) node.rank[i] = rank - node.index + i;
    return node;
}

/* Ranks of equal place along a dimension, from t->dim on. */
static pod_group line_of(const tiles *t, int dim)
{
    pod_group line = {.dims = 1u << dim};
    if (dim == t->dim) line.step[dim] = t->part;
    return line;
}

/* Sums `range` over the ranks of equal place; answers what waits for all of it in *done. */
static pod_status sum_between(const pod_mesh *m, int rank, const pod_coll_args *args,
                              pod_range range, int32_t entry, pod_sched *s, int32_t *done)
{
    tiles t;
    POD_ASSERT(find_tiles(m, args->node_size, &t), "nodes of %d do not tile", args->node_size);
    pod__ring ring[POD_MESH_MAX_DIMS];
    const int n_rings = m->n_dims - t.dim;
    int tag = 1;
    for (int i = 0; i < n_rings; i++) {
        const pod__ring_plan plan =
            pod__ring_plan_of(m, line_of(&t, t.dim + i), args, range.count, 1, true);
        const pod__deal deal = pod__deal_of_range(range, plan.path.size);
        POD_TRY(pod__ring_init(s, &plan, rank, &deal, tag, &ring[i]));
        tag += pod__ring_n_tags(&plan);
        const pod__ring *before = &ring[i - (i > 0)];
        if (i > 0)
            pod__ring_follow(&ring[i], s, &before, 1, false);
        else
            pod__ring_wait(&ring[i], entry);
        pod__ring_reduce_scatter(&ring[i], s);
        range = pod__ring_own_block(&ring[i]);
    }
    for (int i = n_rings; i-- > 0;) {
        pod__ring_allgather(&ring[i], s);
        const pod__ring *within = &ring[i];
        if (i > 0) pod__ring_follow(&ring[i - 1], s, &within, 1, true);
    }
    *done = pod__ring_done(&ring[0], s);
    return POD_OK;
}

pod_status pod__hierarchical_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                   pod_sched *out)
{
    const pod__sharers node = node_of(args->node_size, rank);
    const pod_range own = pod_block(args->count, node.size, node.index);
    const pod_span block = {POD_BUF_MAIN, own.first};
    pod_sched_share(out, node.rank, node.size);
    int32_t at = pod_sched_sync(out, 0, POD_NO_STEP);
    at = pod_sched_reduce_from(out, block, block, own.count, at);
    POD_TRY(sum_between(m, rank, args, own, at, out, &at));
    pod__share_blocks(out, &node, args->count, 0, at);
    return POD_OK;
}
