/* All-gather where all ranks share memory: everyone reads every block from the rank that has it, by
 * size - 1 messages at once, none of which waits for another. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/direct/share.h"

const char *pod__allgather_direct_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    return pod__share_why_not(m, args);
}

pod_status pod__allgather_direct_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                       pod_sched *out)
{
    const pod__sharers among = pod__sharers_of(m, &args->group, rank);
    pod__share_blocks(out, &among, args->count, 0, POD_NO_STEP);
    return POD_OK;
}

double pod__allgather_direct_seconds(const pod_net *net, const pod_mesh *m,
                                     const pod_coll_args *args)
{
    const pod__sharers among = pod__sharers_of(m, &args->group, 0);
    return pod_net_all_to_all_s(net, m, &args->group, pod__share_bytes(args, among.size));
}
