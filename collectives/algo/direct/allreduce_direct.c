/* All-reduce where all ranks share memory: each sums its share of the buffer by reading it from
 * all, and stores the sum to all.
 *
 *     meet | rank i: block i of every rank = its sum over them | meet
 *
 * Every element is read and written once on every rank, and nothing is copied on the way; the sum
 * is made in the order of the members, so the bits are those of flat. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/direct/share.h"

const char *pod__allreduce_direct_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    return pod__share_why_not(m, args);
}

pod_status pod__allreduce_direct_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                       pod_sched *out)
{
    const pod__sharers among = pod__sharers_of(m, &args->group, rank);
    const pod_range own = pod_block(args->count, among.size, among.index);
    pod_sched_share(out, among.rank, among.size);
    const int32_t met = pod_sched_sync(out, 0, POD_NO_STEP);
    const int32_t summed =
        pod_sched_reduce_all(out, (pod_span){POD_BUF_MAIN, own.first}, own.count, met);
    pod_sched_sync(out, 1, summed);
    return POD_OK;
}

double pod__allreduce_direct_seconds(const pod_net *net, const pod_mesh *m,
                                     const pod_coll_args *args)
{
    const int size = pod_group_size(m, &args->group);
    return 2 * net->sync_s +
           pod__share_reduce_seconds(net, size, size, pod__share_bytes(args, size));
}
