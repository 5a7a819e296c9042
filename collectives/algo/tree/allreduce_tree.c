/* All-reduce over a binomial tree: reduce to member 0, then broadcast from it.
 *
 * 2 ceil(log2(size)) messages deep, each of the whole buffer: for little data, where the number of
 * messages that follow one another is what costs. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/tree/tree.h"

const char *pod__allreduce_tree_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    (void)m;
    (void)args;
    return NULL;
}

enum { TAG_REDUCE, TAG_BROADCAST };

pod_status pod__allreduce_tree_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                     pod_sched *out)
{
    pod__tree tree = {m, &args->group, rank, 0, TAG_REDUCE, args->count, args->dtype};
    int32_t reduced = pod__tree_reduce(&tree, out, POD_NO_STEP);
    tree.tag = TAG_BROADCAST;
    pod__tree_broadcast(&tree, out, reduced);
    return POD_OK;
}

double pod__allreduce_tree_seconds(const pod_net *net, const pod_mesh *m, const pod_coll_args *args)
{
    return pod__tree_seconds(net, m, args, true) + pod__tree_seconds(net, m, args, false);
}
