/* All-reduce by recursive doubling: in round k a rank and the one whose number differs in bit k
 * exchange and add all they have.
 *
 * log2(size) messages deep and no rank waits for a root; but each is of the whole buffer, for
 * little data. Where the size is no power of two the ranks beyond it act through a neighbour, in
 * two more rounds. Thakur, Rabenseifner and Gropp, "Optimization of collective communication
 * operations in MPICH", 2005, section 4.5. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/pairs/pairs.h"

const char *pod__allreduce_recursive_doubling_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    (void)m;
    (void)args;
    return NULL;
}

enum { TAG_IN, TAG_OUT, TAG_ROUNDS };

pod_status pod__allreduce_recursive_doubling_build(const pod_mesh *m, int rank,
                                                   const pod_coll_args *args, pod_sched *out)
{
    const pod__fold fold = pod__fold_of(m, &args->group, rank);
    const int32_t entry = pod__fold_in(&fold, out, args->count, TAG_IN);
    pod__pairs pairs = pod__pairs_of((pod_range){0, args->count}, TAG_ROUNDS, entry);
    if (fold.place >= 0) pod__fold_pairs(&fold, &pairs);
    pod__pairs_exchange(&pairs, out);
    pod__fold_out(&fold, out, args->count, TAG_OUT, pairs.last);
    return POD_OK;
}

double pod__allreduce_recursive_doubling_seconds(const pod_net *net, const pod_mesh *m,
                                                 const pod_coll_args *args)
{
    const double bytes = (double)(args->count * (int64_t)pod_dtype_bytes(args->dtype));
    const pod__fold fold = pod__fold_of(m, &args->group, 0);
    return pod__fold_exchange_s(&fold, net, bytes);
}
