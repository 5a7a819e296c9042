/* All-reduce by one rank: the specification.
 *
 * Member 0 receives from members 1, 2, ... one after the other and adds in that order, then sends
 * the sum, rounded once, to all. 2 (size - 1) messages of the whole buffer pass through member
 * 0. */
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

/* The messages to member 0 leave at once, and are added one after the other as they come; those
 * back leave at once. */
double pod__allreduce_flat_seconds(const pod_net *net, const pod_mesh *m, const pod_coll_args *args)
{
    const int size = pod_group_size(m, &args->group);
    const double bytes = (double)(args->count * (int64_t)pod_dtype_bytes(args->dtype));
    const int root = pod_group_member(m, &args->group, 0, 0);
    pod_net_fan in = {0}, out = {0};
    double added_s = 0; /* were no link shared */
    for (int i = 1; i < size; i++) {
        const int member = pod_group_member(m, &args->group, 0, i);
        pod_net_fan_add(&in, net, m, member, root, bytes, false);
        pod_net_fan_add(&out, net, m, root, member, bytes, true);
        const double came_s = pod_net_message_s(net, m, member, root, bytes);
        added_s = (came_s > added_s ? came_s : added_s) + pod_net_reduce_s(net, bytes);
    }
    const double came_s = pod_net_fan_s(&in, net, bytes, false);
    const double last_s = size > 1 ? came_s + pod_net_reduce_s(net, bytes) : 0;
    return (last_s > added_s ? last_s : added_s) + pod_net_fan_s(&out, net, bytes, true);
}
