/* All-reduce by one rank: the specification.
 *
 * Member 0 receives from members 1, 2, ... one after the other and adds in that order, then sends
 * the sum, rounded once, to all. 2 (size - 1) messages of the whole buffer pass through member
 * 0. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/tree/tree.h"

enum { TAG_GATHER, TAG_RESULT };

pod_status pod__flat_build(const pod_mesh *m, int rank, const pod_coll_args *args, pod_sched *out)
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
