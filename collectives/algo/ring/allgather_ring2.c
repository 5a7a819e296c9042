/* All-gather along a ring, both ways at once: the second half of that all-reduce. size / 2
 * rounds. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/ring/ring.h"

const char *pod__allgather_ring2_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    return pod__ring_why_not_both_ways(m, args);
}

pod_status pod__allgather_ring2_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                      pod_sched *out)
{
    return pod__ring_build(m, rank, args, true, POD__GATHERS, out);
}

double pod__allgather_ring2_seconds(const pod_net *net, const pod_mesh *m,
                                    const pod_coll_args *args)
{
    return pod__ring_args_seconds(net, m, args, true, POD__GATHERS);
}
