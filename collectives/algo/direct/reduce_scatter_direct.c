/* Reduce-scatter where all ranks share memory: between two meetings each sums its block by reading
 * it from all. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/direct/share.h"

const char *pod__reduce_scatter_direct_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    return pod__share_why_not(m, args);
}

pod_status pod__reduce_scatter_direct_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                            pod_sched *out)
{
    const pod__sharers among = pod__sharers_of(m, &args->group, rank);
    const pod_range own = pod_block(args->count, among.size, among.index);
    const pod_span block = {POD_BUF_MAIN, own.first};
    pod_sched_share(out, among.rank, among.size);
    const int32_t met = pod_sched_sync(out, 0, POD_NO_STEP);
    pod_sched_sync(out, 1, pod_sched_reduce_from(out, block, block, own.count, met));
    return POD_OK;
}

double pod__reduce_scatter_direct_seconds(const pod_net *net, const pod_mesh *m,
                                          const pod_coll_args *args)
{
    const int size = pod_group_size(m, &args->group);
    return 2 * net->sync_s + pod__share_reduce_seconds(net, size, 1, pod__share_bytes(args, size));
}
