/* All-gather among any number of members in ceil(log2(size)) rounds, in which every rank sends and
 * receives (size - 1) / size of the buffer: circle.h. Blocks come straight to their places, so that
 * what goes round the end of the buffer is two messages. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/pairs/circle.h"

const char *pod__allgather_bruck_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    (void)m;
    (void)args;
    return NULL;
}

pod_status pod__allgather_bruck_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                      pod_sched *out)
{
    pod__circle_allgather(m, rank, args, out);
    return POD_OK;
}

double pod__allgather_bruck_seconds(const pod_net *net, const pod_mesh *m,
                                    const pod_coll_args *args)
{
    return pod__circle_seconds(net, m, args, false);
}
