/* All-reduce dimension by dimension in one order (torus.h): half the messages of torus2d, each
 * twice as long, and more work for the links of the first dimension than for those of the others.
 * For hosts, where a message costs more than a link. The bucket algorithm of Sack and Gropp,
 * "Collective algorithms for multiported torus networks", 2015. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/torus/torus.h"

const char *pod__allreduce_bucket_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    return pod__torus_why_not(m, args);
}

pod_status pod__allreduce_bucket_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                       pod_sched *out)
{
    return pod__torus_build(m, rank, args, false, POD__BOTH, out);
}

double pod__allreduce_bucket_seconds(const pod_net *net, const pod_mesh *m,
                                     const pod_coll_args *args)
{
    return pod__torus_seconds(net, m, args, false, POD__BOTH);
}
