/* Rounds in which the members of a group meet in pairs, of which the logarithmic algorithms are
 * made.
 *
 * In each round a rank has one peer; which, the algorithm says. Halving, forwards a reduce-scatter
 * and backwards an all-gather: both hold the same range, of which one keeps the lower half and the
 * other the upper one; here with the neighbour first, a digit for each contribution:
 *
 *     rank 0   a0  b0  c0  d0       a01  b01  .    .        a0123 .     .     .
 *     rank 1   a1  b1  c1  d1       .    .    c01  d01      .     .     c0123 .
 *     rank 2   a2  b2  c2  d2       a23  b23  .    .        .     b0123 .     .
 *     rank 3   a3  b3  c3  d3       .    .    c23  d23      .     .     .     d0123 */
#ifndef MINIPOD_COLLECTIVES_ALGO_PAIRS_PAIRS_H
#define MINIPOD_COLLECTIVES_ALGO_PAIRS_PAIRS_H

#include "collectives/algo/algo.h"

enum { POD__PAIRS_MAX_ROUNDS = 31 };

typedef struct pod__pairs {
    pod_range range; /* of MAIN, cut into 2^n_rounds blocks */
    int first_tag;   /* of the 2 n_rounds that halving and its way back use */
    int32_t last;    /* what the next round waits for: given, and kept up to date */
    int n_rounds;
    int peer[POD__PAIRS_MAX_ROUNDS];         /* rank of the mesh */
    bool keeps_upper[POD__PAIRS_MAX_ROUNDS]; /* of the two halves; the peer keeps the other */
    int32_t sent[POD__PAIRS_MAX_ROUNDS];     /* the steps that sent those others; at first none */
} pod__pairs;

/* No rounds yet. */
pod__pairs pod__pairs_of(pod_range range, int first_tag, int32_t entry);
void pod__pairs_add(pod__pairs *p, int peer, bool keeps_upper);

/* Afterwards this rank has the sum of its block and has sent away the others. */
void pod__pairs_reduce_scatter(pod__pairs *p, pod_sched *s);
/* From this rank's block on; afterwards the whole range may be read. */
void pod__pairs_allgather(pod__pairs *p, pod_sched *s);
/* The whole range goes both ways in every round. From the last round to the first: those that keep
 * the same in halving hold the same here, sums made in one order, and what one has and receives is
 * what its peer receives and has: all end with the same bits. It works in MAIN and SCRATCH by turns
 * and ends in MAIN. */
void pod__pairs_exchange(pod__pairs *p, pod_sched *s);

/* The greatest power of two of members that is in a group. Each of the n_extra others acts through
 * a neighbour: of the first 2 n_extra members the even ones hand their data to the odd ones and get
 * the result from them. Those that meet are numbered from 0: their place. */
typedef struct pod__fold {
    const pod_mesh *mesh;
    pod_group group;
    int rank; /* of the mesh */
    int n_extra, n_rounds;
    int place;   /* -1: another acts for this rank */
    int partner; /* rank of the mesh: whom it acts for, or who acts for it; -1: nobody */
} pod__fold;

pod__fold pod__fold_of(const pod_mesh *m, const pod_group *g, int rank);
/* A round for each bit of the places, from the lowest: the peer's differs in it. */
void pod__fold_pairs(const pod__fold *f, pod__pairs *p);
/* What comes before the rounds and behind them, for whom another acts and who acts for another. In
 * answers the step that the rounds wait for. */
int32_t pod__fold_in(const pod__fold *f, pod_sched *s, int64_t count, int tag);
void pod__fold_out(const pod__fold *f, pod_sched *s, int64_t count, int tag, int32_t after);

/* The rounds of a part of Swing (swing.c). Those of parts 2 i and 2 i + 1 mirror each other. */
void pod__swing_pairs(const pod_mesh *m, const pod_group *g, int rank, int part, pod__pairs *p);

int pod__log2_floor(int n); /* n > 0 */

#endif
