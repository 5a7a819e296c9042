/* All-reduce by Swing, for much data: a reduce-scatter by halving and an all-gather the same way
 * back, among peers that stay close on a torus (swing.h).
 *
 * Every link of a torus works: the buffer is cut into a part for each dimension and direction, and
 * the parts run side by side. 2 log2(size) rounds; a rank sends 2 (size - 1) / size of the buffer,
 * no more than in a ring; a link carries more than that, since peers are up to about a third of an
 * extent apart, but most of the data moves in the first rounds, between neighbours. */
#include <math.h>

#include "collectives/algo/algorithms.h"
#include "collectives/algo/pairs/swing.h"

const char *pod__allreduce_swing_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    return pod__swing_why_not(m, args);
}

pod_status pod__allreduce_swing_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                      pod_sched *out)
{
    const int n_parts = pod__swing_n_parts(m, &args->group);
    int tag = 0;
    for (int part = 0; part < n_parts; part++) {
        pod__pairs pairs = pod__pairs_of(pod_block(args->count, n_parts, part), tag, POD_NO_STEP);
        pod__swing_pairs(m, &args->group, rank, part, &pairs);
        pod__pairs_reduce_scatter(&pairs, out);
        pod__pairs_allgather(&pairs, out);
        tag += 2 * pairs.n_rounds;
    }
    return POD_OK;
}

/* What takes longest: the rounds of the part that begins last; the messages of all parts, which a
 * rank prepares one after the other, until the last has come; or what it adds one after the other,
 * from when the first has come, and then the all-gather. */
double pod__allreduce_swing_seconds(const pod_net *net, const pod_mesh *m,
                                    const pod_coll_args *args)
{
    const pod_group *g = &args->group;
    const int n_parts = pod__swing_n_parts(m, g), n_rounds = pod__log2_floor(pod_group_size(m, g));
    double bytes = (double)(args->count * (int64_t)pod_dtype_bytes(args->dtype)) / n_parts;
    double messages = 0, adds = 0, nearest = 0;
    for (int k = 0; k < n_rounds; k++) {
        bytes /= 2;
        const double message = pod__swing_round_s(net, m, g, n_parts, k, bytes);
        if (k == 0) nearest = message;
        messages += message;
        adds += pod_net_reduce_s(net, bytes);
    }
    if (n_rounds == 0) return 0;
    const double rounds = (n_parts - 1) * net->message_s + 2 * messages + adds;
    const double sender = (2 * n_rounds * n_parts - 1) * net->message_s + nearest;
    return fmax(rounds, fmax(sender, nearest + n_parts * adds + messages));
}
