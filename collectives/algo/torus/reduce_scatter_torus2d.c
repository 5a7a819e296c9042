/* Reduce-scatter over a torus: the first half of that all-reduce, with both orders of the
 * dimensions at once (torus.h).
 *
 * X / 2 + Y / 2 hops where the mesh wraps, and all links work, against X Y / 2 hops of a ring both
 * ways, which uses half of the links. A rank sends up to 2 X Y messages, each of half a block,
 * where a ring sends X Y: hosts, which pay for every message, may do better with that. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/torus/torus.h"

const char *pod__reduce_scatter_torus2d_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    return pod__torus_why_not(m, args);
}

pod_status pod__reduce_scatter_torus2d_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                             pod_sched *out)
{
    return pod__torus_build(m, rank, args, true, POD__REDUCES, out);
}

double pod__reduce_scatter_torus2d_seconds(const pod_net *net, const pod_mesh *m,
                                           const pod_coll_args *args)
{
    return pod__torus_seconds(net, m, args, true, POD__REDUCES);
}
