/* Swing's rounds: pairs that stay close on a torus.
 *
 * On a ring of 2^n a rank's peer in round s is delta(s) = (1 - (-2)^(s+1)) / 3 = 1, -1, 3, -5, ...
 * further on, where its own number is even, and as far back, where it is odd: about two thirds as
 * far as with recursive doubling. On a torus the rounds take the dimensions in turn; one that is
 * done is passed over. From whichever dimension they start, and with delta or -delta, every pair
 * holds the same and everything comes together once, so that 2 per dimension run side by side and
 * keep all links of a rank busy. De Sensi et al., "Swing: short-cutting rings for higher bandwidth
 * allreduce", NSDI 2024. */
#ifndef MINIPOD_COLLECTIVES_ALGO_PAIRS_SWING_H
#define MINIPOD_COLLECTIVES_ALGO_PAIRS_SWING_H

#include "collectives/algo/pairs/pairs.h"

const char *pod__swing_why_not(const pod_mesh *m, const pod_coll_args *args);

/* Parts that may run side by side: 2 for each dimension along which the group is longer than 1; 1
 * for a rank alone. */
int pod__swing_n_parts(const pod_mesh *m, const pod_group *g);
/* The rounds of a part. Those of parts 2 i and 2 i + 1 mirror each other. */
void pod__swing_pairs(const pod_mesh *m, const pod_group *g, int rank, int part, pod__pairs *p);

/* The slowest message of a round of `n_parts` parts at once (1, or all), each of `bytes`, over
 * links that they share. */
double pod__swing_round_s(const pod_net *net, const pod_mesh *m, const pod_group *g, int n_parts,
                          int round, double bytes);

#endif
