/* All-reduce by one rank: the specification.
 *
 * Member 0 receives from members 1, 2, ... one after the other and adds in that order, then sends
 * the sum, rounded once, to all. 2 (size - 1) messages of the whole buffer pass through member 0. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/sum.h"

const char *pod__allreduce_flat_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    (void)m;
    (void)args;
    return NULL;
}

enum { TAG_GATHER, TAG_RESULT };

pod_status pod__allreduce_flat_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                     pod_sched *out)
{
    const pod_group *g = &args->group;
    const pod_span whole = {POD_BUF_MAIN, 0};
    int root = pod_group_member(m, g, rank, 0);
    if (rank != root) {
        int32_t sent = pod_sched_send(out, root, TAG_GATHER, whole, args->count, POD_NO_STEP);
        pod_sched_recv(out, root, TAG_RESULT, whole, args->count, sent);
        return POD_OK;
    }
    int size = pod_group_size(m, g);
    int32_t sum = POD_NO_STEP;
    for (int i = 1; i < size; i++)
        sum = pod__sum_receive(out, args->dtype, i - 1, size - 1, pod_group_member(m, g, rank, i),
                               TAG_GATHER, args->count, sum);
    for (int i = 1; i < size; i++)
        pod_sched_send(out, pod_group_member(m, g, rank, i), TAG_RESULT, whole, args->count, sum);
    return POD_OK;
}

/* The messages to member 0 leave at once and come in one after the other over its links; those back
 * leave it likewise. */
double pod__allreduce_flat_seconds(const pod_net *net, const pod_mesh *m, const pod_coll_args *args)
{
    const double bytes = (double)(args->count * (int64_t)pod_dtype_bytes(args->dtype));
    const int root = pod_group_member(m, &args->group, 0, 0);
    double seconds = 0;
    for (int i = 1; i < pod_group_size(m, &args->group); i++) {
        const int member = pod_group_member(m, &args->group, 0, i);
        seconds += pod_net_message_s(net, m, member, root, bytes) + pod_net_reduce_s(net, bytes) +
                   pod_net_message_s(net, m, root, member, bytes);
    }
    return seconds;
}
