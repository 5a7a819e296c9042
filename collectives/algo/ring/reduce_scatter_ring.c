/* Reduce-scatter along a ring: the first half of the ring all-reduce. size - 1 rounds of count /
 * size elements. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/ring/ring.h"

const char *pod__reduce_scatter_ring_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    (void)m;
    (void)args;
    return NULL;
}

pod_status pod__reduce_scatter_ring_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                          pod_sched *out)
{
    return pod__ring_build(m, rank, args, false, POD__REDUCES, out);
}

double pod__reduce_scatter_ring_seconds(const pod_net *net, const pod_mesh *m,
                                        const pod_coll_args *args)
{
    return pod__ring_args_seconds(net, m, args, false, POD__REDUCES);
}
