/* Reduce over a binomial tree: ceil(log2(size)) messages deep, each of the whole buffer. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/tree/tree.h"

const char *pod__reduce_tree_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    (void)m;
    (void)args;
    return NULL;
}

pod_status pod__reduce_tree_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                  pod_sched *out)
{
    pod__tree tree = {m, &args->group, rank, args->root, 0, args->count, args->dtype};
    pod__tree_reduce(&tree, out, POD_NO_STEP);
    return POD_OK;
}

double pod__reduce_tree_seconds(const pod_net *net, const pod_mesh *m, const pod_coll_args *args)
{
    return pod__tree_seconds(net, m, args, true);
}
