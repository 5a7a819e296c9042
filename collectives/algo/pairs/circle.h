/* Rounds in which every member sends to the one so many places further on in a circle, with as many
 * blocks; all-gather and reduce-scatter for any number of members in ceil(log2(size)) rounds.
 *
 * In the all-gather members hold 1, 2, 4, ... blocks from their own on, and send what the one as
 * many places behind lacks. Here five members:
 *
 *     0 holds   0        0 1      0 1 2 3      0 1 2 3 4
 *     1 holds   1        1 2      1 2 3 4      0 1 2 3 4
 *     2 holds   2        2 3      0 2 3 4      0 1 2 3 4
 *     3 holds   3        3 4      0 1 3 4      0 1 2 3 4
 *     4 holds   4        0 4      0 1 2 4      0 1 2 3 4
 *
 * Backwards, with sums, it is the reduce-scatter. Bruck, Ho, Kipnis, Upfal and Weathersby,
 * "Efficient algorithms for all-to-all communications in multiport message-passing systems", 1997;
 * Traeff, "Optimal, non-pipelined reduce-scatter and allreduce algorithms", 2024. */
#ifndef MINIPOD_COLLECTIVES_ALGO_PAIRS_CIRCLE_H
#define MINIPOD_COLLECTIVES_ALGO_PAIRS_CIRCLE_H

#include "collectives/algo/algo.h"

void pod__circle_allgather(const pod_mesh *m, int rank, const pod_coll_args *args, pod_sched *s);
void pod__circle_reduce_scatter(const pod_mesh *m, int rank, const pod_coll_args *args,
                                pod_sched *s);

/* Of either. */
double pod__circle_seconds(const pod_net *net, const pod_mesh *m, const pod_coll_args *args,
                           bool reduces);
/* The slowest message of a round in which every member sends `bytes` to the one `reach` further
 * on. */
double pod__circle_round_s(const pod_net *net, const pod_mesh *m, const pod_group *g, int reach,
                           double bytes);

#endif
