/* All-reduce by Swing, for little data: in each round a rank and its peer exchange and add all they
 * have, among peers that stay close on a torus (swing.h). log2(size) messages deep, each of the
 * whole buffer. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/pairs/swing.h"

const char *pod__allreduce_swing_latency_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    return pod__swing_why_not(m, args);
}

pod_status pod__allreduce_swing_latency_build(const pod_mesh *m, int rank,
                                              const pod_coll_args *args, pod_sched *out)
{
    pod__pairs pairs = pod__pairs_of((pod_range){0, args->count}, 0, POD_NO_STEP);
    pod__swing_pairs(m, &args->group, rank, 0, &pairs);
    pod__pairs_exchange(&pairs, out);
    return POD_OK;
}

double pod__allreduce_swing_latency_seconds(const pod_net *net, const pod_mesh *m,
                                            const pod_coll_args *args)
{
    const double bytes = (double)(args->count * (int64_t)pod_dtype_bytes(args->dtype));
    const int n_rounds = pod__log2_floor(pod_group_size(m, &args->group));
    double seconds = pod__exchange_copy_s(n_rounds, net, bytes);
    for (int k = 0; k < n_rounds; k++)
        seconds +=
            pod__swing_round_s(net, m, &args->group, 1, k, bytes) + pod_net_reduce_s(net, bytes);
    return seconds;
}
