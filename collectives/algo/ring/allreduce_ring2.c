/* All-reduce along a ring, both ways at once: reduce-scatter, then all-gather.
 *
 * A block is summed from both sides, half of the members in each direction, and goes back out the
 * same way: as many messages as the ring one way, but size / 2 hops deep, and the links of both
 * directions work. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/ring/ring.h"

const char *pod__allreduce_ring2_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    return pod__ring_why_not_both_ways(m, args);
}

pod_status pod__allreduce_ring2_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                      pod_sched *out)
{
    return pod__ring_build(m, rank, args, true, POD__BOTH, out);
}

double pod__allreduce_ring2_seconds(const pod_net *net, const pod_mesh *m,
                                    const pod_coll_args *args)
{
    return pod__ring_args_seconds(net, m, args, true, POD__BOTH);
}
