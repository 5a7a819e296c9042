/* All-reduce where all ranks share memory, for little data: everyone lays its buffer out in SCRATCH
 * and, when all have, sums all of them for itself.
 *
 * One meeting a call, where direct has two: no one waits at the end, because the next call lays out
 * in the other SCRATCH. Every rank reads size times the buffer. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/direct/share.h"

const char *pod__allreduce_oneshot_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    return pod__share_why_not(m, args);
}

pod_status pod__allreduce_oneshot_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                        pod_sched *out)
{
    const pod_span main = {POD_BUF_MAIN, 0}, laid_out = {POD_BUF_SCRATCH, 0};
    const pod__sharers among = pod__sharers_of(m, &args->group, rank);
    pod_sched_share(out, among.rank, among.size);
    const int32_t copied = pod_sched_copy(out, main, laid_out, args->count, POD_NO_STEP);
    const int32_t met = pod_sched_sync(out, 0, copied);
    pod_sched_reduce_from(out, laid_out, main, args->count, met);
    return POD_OK;
}

double pod__allreduce_oneshot_seconds(const pod_net *net, const pod_mesh *m,
                                      const pod_coll_args *args)
{
    const int size = pod_group_size(m, &args->group);
    const double bytes = pod__share_bytes(args, 1);
    return pod__share_reduce_seconds(net, 1, 1, bytes) + net->sync_s +
           pod__share_reduce_seconds(net, size, 1, bytes);
}
