/* All-gather over a torus: the second half of that all-reduce, with both orders of the dimensions
 * at once (torus.h). As many hops and messages as reduce_scatter torus2d. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/torus/torus.h"

const char *pod__allgather_torus2d_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    return pod__torus_why_not(m, args);
}

pod_status pod__allgather_torus2d_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                        pod_sched *out)
{
    return pod__torus_build(m, rank, args, true, POD__GATHERS, out);
}

double pod__allgather_torus2d_seconds(const pod_net *net, const pod_mesh *m,
                                      const pod_coll_args *args)
{
    return pod__torus_seconds(net, m, args, true, POD__GATHERS);
}
