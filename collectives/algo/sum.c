#include "collectives/algo/sum.h"

int32_t pod__sum_receive(pod_sched *s, pod_dtype dtype, int k, int n, int peer, int tag,
                         int64_t count, int32_t after)
{
    if (count == 0) return after;
    const pod_buf between =
        pod_sched_dtype(POD_BUF_SUM, dtype) == dtype ? POD_BUF_MAIN : POD_BUF_SUM;
    return pod_sched_add(s, (pod_step){.kind = POD_STEP_RECV_REDUCE,
                                       .peer = peer,
                                       .tag = tag,
                                       .after = {after, POD_NO_STEP},
                                       .src = {k == 0 ? POD_BUF_MAIN : between, 0},
                                       .dst = {k == n - 1 ? POD_BUF_MAIN : between, 0},
                                       .count = count});
}
