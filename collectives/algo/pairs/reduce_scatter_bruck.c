/* Reduce-scatter among any number of members in ceil(log2(size)) rounds, in which every rank sends
 * and receives (size - 1) / size of the buffer: Bruck's all-gather backwards, circle.h. What goes
 * round the end of the buffer is two messages. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/pairs/circle.h"

const char *pod__reduce_scatter_bruck_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    (void)m;
    (void)args;
    return NULL;
}

pod_status pod__reduce_scatter_bruck_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                           pod_sched *out)
{
    pod__circle_reduce_scatter(m, rank, args, out);
    return POD_OK;
}

double pod__reduce_scatter_bruck_seconds(const pod_net *net, const pod_mesh *m,
                                         const pod_coll_args *args)
{
    return pod__circle_seconds(net, m, args, true);
}
