/* All-reduce along a ring: reduce-scatter, then all-gather.
 *
 * 2 (size - 1) rounds in which every rank sends and receives count / size elements: no rank could
 * send less (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
 * workstations", 2009). Block b is summed in the order of the ring, from the member behind it on.
 * A group that is a line of an open dimension works as one, both ways at once: a last hop back over
 * all links would take as much again. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/ring/ring.h"

const char *pod__allreduce_ring_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    (void)m;
    (void)args;
    return NULL;
}

pod_status pod__allreduce_ring_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                     pod_sched *out)
{
    return pod__ring_build(m, rank, args, false, POD__BOTH, out);
}

double pod__allreduce_ring_seconds(const pod_net *net, const pod_mesh *m, const pod_coll_args *args)
{
    return pod__ring_args_seconds(net, m, args, false, POD__BOTH);
}
