/* All-reduce dimension by dimension: reduce-scatter along x, then y; all-gather along y, then x.
 *
 *     x: every row sums among its own; a rank keeps 1 / X of the buffer
 *     y: every column sums these parts; a rank keeps 1 / (X Y)
 *     y, x: the same way back
 *
 * 2 (X - 1) + 2 (Y - 1) rounds against 2 (X Y - 1) of one ring, and as little data. With three
 * dimensions the first, the cores of a chip, comes first of all; with one this is the ring. After
 * the 2-D gradient summation of Ying et al., "Image classification at supercomputer scale", 2018,
 * and Kumar et al., "Exploring the limits of concurrency in ML training on Google TPUs", 2020. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/ring.h"

const char *pod__allreduce_torus2d_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    int n_long = 0;
    for (int d = 0; d < m->n_dims; d++) n_long += pod_group_extent(m, &args->group, d) > 1;
    return n_long < 2 ? "the group is longer than 1 in fewer than two dimensions" : NULL;
}

/* What waits for all blocks of a ring. */
static int32_t join_blocks(const pod__ring *ring, pod_sched *s)
{
    int32_t all = POD_NO_STEP;
    for (int b = 0; b < ring->size; b++) all = pod_sched_join(s, all, ring->last[b]);
    return all;
}

pod_status pod__allreduce_torus2d_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                        pod_sched *out)
{
    pod__ring ring[POD_MESH_MAX_DIMS];
    pod_range range = {0, args->count};
    int32_t entry = POD_NO_STEP;
    int tag = 0;
    for (int d = 0; d < m->n_dims; d++) {
        pod_group line = args->group;
        line.dims &= 1u << d;
        POD_TRY(pod__ring_init(out, m, line, rank, range, tag, entry, &ring[d]));
        pod__ring_reduce_scatter(&ring[d], out);
        range = pod__ring_block(&ring[d], ring[d].index);
        entry = ring[d].last[ring[d].index];
        tag += pod__ring_n_tags(&ring[d]);
    }
    for (int d = m->n_dims; d-- > 0;) {
        pod__ring_allgather(&ring[d], out);
        if (d > 0) ring[d - 1].last[ring[d - 1].index] = join_blocks(&ring[d], out);
    }
    return POD_OK;
}

double pod__allreduce_torus2d_seconds(const pod_net *net, const pod_mesh *m,
                                      const pod_coll_args *args)
{
    pod_coll_args line = *args;
    double seconds = 0;
    for (int d = 0; d < m->n_dims; d++) {
        line.group = args->group;
        line.group.dims &= 1u << d;
        seconds += pod__ring_seconds(net, m, &line, true) + pod__ring_seconds(net, m, &line, false);
        const int extent = pod_group_extent(m, &args->group, d);
        line.count = (line.count + extent - 1) / extent;
    }
    return seconds;
}
