/* All-reduce after Rabenseifner: a reduce-scatter by halving, nearest peers and largest halves
 * first, and an all-gather the same way back.
 *
 * 2 log2(size) rounds, in which every rank sends and receives 2 (size - 1) / size of the buffer, as
 * little as a ring. Where the size is no power of two the ranks beyond it act through a neighbour,
 * with the whole buffer in two more rounds. Rabenseifner, "Optimization of collective reduction
 * operations", ICCS 2004. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/pairs/pairs.h"

const char *pod__allreduce_rabenseifner_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    (void)m;
    (void)args;
    return NULL;
}

enum { TAG_IN, TAG_OUT, TAG_ROUNDS };

pod_status pod__allreduce_rabenseifner_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                             pod_sched *out)
{
    const pod__fold fold = pod__fold_of(m, &args->group, rank);
    const int32_t entry = pod__fold_in(&fold, out, args->count, TAG_IN);
    pod__pairs pairs = pod__pairs_of((pod_range){0, args->count}, TAG_ROUNDS, entry);
    if (fold.place >= 0) pod__fold_pairs(&fold, &pairs);
    pod__pairs_reduce_scatter(&pairs, out);
    pod__pairs_allgather(&pairs, out);
    pod__fold_out(&fold, out, args->count, TAG_OUT, pairs.last);
    return POD_OK;
}

double pod__allreduce_rabenseifner_seconds(const pod_net *net, const pod_mesh *m,
                                           const pod_coll_args *args)
{
    const double bytes = (double)(args->count * (int64_t)pod_dtype_bytes(args->dtype));
    const pod__fold fold = pod__fold_of(m, &args->group, 0);
    double seconds = pod__fold_ends_s(&fold, net, bytes);
    for (int bit = 1; bit < 1 << fold.n_rounds; bit *= 2) {
        const double given = bytes / (2 * bit);
        seconds += 2 * pod__fold_round_s(&fold, net, bit, given) + pod_net_reduce_s(net, given);
    }
    return seconds;
}
