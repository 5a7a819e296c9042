/* All-gather by recursive doubling: recursive halving backwards, the nearest peers first, so that
 * what a rank holds doubles from round to round. log2(size) rounds, in which every rank sends and
 * receives (size - 1) / size of the buffer. Thakur, Rabenseifner and Gropp, "Optimization of
 * collective communication operations in MPICH", 2005, section 4.1. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/pairs/pairs.h"

const char *pod__allgather_recursive_doubling_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    return pod__power_of_two_why_not(m, args);
}

pod_status pod__allgather_recursive_doubling_build(const pod_mesh *m, int rank,
                                                   const pod_coll_args *args, pod_sched *out)
{
    pod__pairs pairs = pod__pairs_of((pod_range){0, args->count}, 0, POD_NO_STEP);
    pod__far_pairs(m, &args->group, rank, &pairs);
    pod__pairs_allgather(&pairs, out);
    return POD_OK;
}

double pod__allgather_recursive_doubling_seconds(const pod_net *net, const pod_mesh *m,
                                                 const pod_coll_args *args)
{
    return pod__far_pairs_s(net, m, args, false);
}
