/* All-reduce over a torus in its published form: two parts of the payload run the two orders of
 * dimensions at once, x then y and y then x, or over three dimensions of chips three parts three
 * orders (torus.h); strip by strip.
 *
 * 2 (X - 1) + 2 (Y - 1) hops one way, or half as many both ways, against 2 (X Y - 1) of one ring,
 * and as little data. Ying et al., "Image classification at supercomputer scale", 2018; Kumar et
 * al., "Exploring the limits of concurrency in ML training on Google TPUs", 2020, for the open
 * multipod. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/torus/torus.h"

const char *pod__allreduce_torus2d_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    return pod__torus_why_not(m, args);
}

pod_status pod__allreduce_torus2d_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                        pod_sched *out)
{
    return pod__torus_build(m, rank, args, true, POD__BOTH, out);
}

double pod__allreduce_torus2d_seconds(const pod_net *net, const pod_mesh *m,
                                      const pod_coll_args *args)
{
    return pod__torus_seconds(net, m, args, true, POD__BOTH);
}
