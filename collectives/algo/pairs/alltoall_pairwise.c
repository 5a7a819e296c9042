/* All-to-all in size - 1 rounds: in round k a member sends to the one k further on and receives
 * from the one k behind. What comes in waits in SCRATCH until the block in its place has left. */
#include "collectives/algo/algorithms.h"

pod_status pod__pairwise_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                               pod_sched *out)
{
    const pod_group *g = &args->group;
    const int size = pod_group_size(m, g), index = pod_group_index(m, g, rank);
    const int64_t count = args->count / size;
    int32_t *sent = POD_ARENA_NEW(pod_sched_arena(out), int32_t, size);
    if (!sent) return POD_E_NOMEM;
    for (int k = 1; k < size; k++) {
        const int to = (index + k) % size;
        sent[to] = pod_sched_send(out, pod_group_member(m, g, rank, to), k,
                                  (pod_span){POD_BUF_MAIN, to * count}, count, POD_NO_STEP);
    }
    for (int k = 1; k < size; k++) {
        const int from = (index - k + size) % size;
        const pod_span waits = {POD_BUF_SCRATCH, from * count};
        const int32_t came =
            pod_sched_recv(out, pod_group_member(m, g, rank, from), k, waits, count, POD_NO_STEP);
        pod_sched_copy(out, waits, (pod_span){POD_BUF_MAIN, from * count}, count,
                       pod_sched_join(out, came, sent[from]));
    }
    return POD_OK;
}
