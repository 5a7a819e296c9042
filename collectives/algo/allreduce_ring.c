/* All-reduce along a ring: reduce-scatter, then all-gather.
 *
 * 2 (size - 1) rounds in which every rank sends and receives count / size elements: no rank could
 * send less (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
 * workstations", 2009). Block b is summed in the order of the ring, from member b + 1 on to b. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/ring.h"

const char *pod__allreduce_ring_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    (void)m;
    (void)args;
    return NULL;
}

pod_status pod__allreduce_ring_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                     pod_sched *out)
{
    pod__ring ring;
    POD_TRY(pod__ring_init(out, m, args->group, rank, (pod_range){0, args->count}, 0, POD_NO_STEP,
                           &ring));
    pod__ring_reduce_scatter(&ring, out);
    pod__ring_allgather(&ring, out);
    return POD_OK;
}

double pod__allreduce_ring_seconds(const pod_net *net, const pod_mesh *m, const pod_coll_args *args)
{
    return pod__ring_seconds(net, m, args, true) + pod__ring_seconds(net, m, args, false);
}
