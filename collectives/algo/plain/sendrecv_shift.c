/* Send and receive at once: every rank sends its buffer to the next member and takes that of the
 * one before. What leaves is copied aside first, since what comes stands in its place. */
#include "collectives/algo/algorithms.h"

const char *pod__sendrecv_shift_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    (void)m;
    (void)args;
    return NULL;
}

pod_status pod__sendrecv_shift_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                     pod_sched *out)
{
    const int size = pod_group_size(m, &args->group),
              index = pod_group_index(m, &args->group, rank);
    const int next = pod_group_member(m, &args->group, rank, (index + 1) % size);
    const int before = pod_group_member(m, &args->group, rank, (index + size - 1) % size);
    const pod_span main = {POD_BUF_MAIN, 0}, aside = {POD_BUF_SCRATCH, 0};
    if (size == 1) return POD_OK;
    const int32_t copied = pod_sched_copy(out, main, aside, args->count, POD_NO_STEP);
    pod_sched_send(out, next, 0, aside, args->count, copied);
    pod_sched_recv(out, before, 0, main, args->count, copied);
    return POD_OK;
}

double pod__sendrecv_shift_seconds(const pod_net *net, const pod_mesh *m, const pod_coll_args *args)
{
    const int size = pod_group_size(m, &args->group);
    const double bytes = (double)args->count * (double)pod_dtype_bytes(args->dtype);
    double longest_s = 0;
    for (int rank = 0; size > 1 && rank < pod_mesh_size(m); rank++) {
        const int index = pod_group_index(m, &args->group, rank);
        const int next = pod_group_member(m, &args->group, rank, (index + 1) % size);
        const double s = pod_net_message_s(net, m, rank, next, bytes);
        if (s > longest_s) longest_s = s;
    }
    return size == 1 ? 0 : 2 * bytes / net->memory_bytes_per_s + longest_s;
}
