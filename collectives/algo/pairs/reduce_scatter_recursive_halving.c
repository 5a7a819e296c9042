/* Reduce-scatter by recursive halving: the farthest peers and the largest halves first, since the
 * halves are those of the members' numbers. log2(size) rounds, in which every rank sends and
 * receives (size - 1) / size of the buffer. Thakur, Rabenseifner and Gropp, "Optimization of
 * collective communication operations in MPICH", 2005, section 4.2. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/pairs/pairs.h"

const char *pod__reduce_scatter_recursive_halving_why_not(const pod_mesh *m,
                                                          const pod_coll_args *args)
{
    return pod__power_of_two_why_not(m, args);
}

pod_status pod__reduce_scatter_recursive_halving_build(const pod_mesh *m, int rank,
                                                       const pod_coll_args *args, pod_sched *out)
{
    pod__pairs pairs = pod__pairs_of((pod_range){0, args->count}, 0, POD_NO_STEP);
    pod__far_pairs(m, &args->group, rank, &pairs);
    pod__pairs_reduce_scatter(&pairs, out);
    return POD_OK;
}

double pod__reduce_scatter_recursive_halving_seconds(const pod_net *net, const pod_mesh *m,
                                                     const pod_coll_args *args)
{
    return pod__far_pairs_s(net, m, args, true);
}
