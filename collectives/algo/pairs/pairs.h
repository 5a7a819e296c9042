/* Rounds in which the members of a group exchange data in pairs, for algorithms whose number of
 * rounds is logarithmic in the size of the group.
 *
 * In each round a rank has one peer, which the algorithm chooses. In a reduce-scatter ("halving")
 * both peers hold partial sums of the same range; one keeps the lower half and receives the other's
 * contribution to it, the other keeps the upper half. The same rounds in reverse order are an
 * all-gather. In this drawing of a reduce-scatter the first peer of a rank is its neighbour, and
 * a01 is the sum of block a over ranks 0 and 1:
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
    int first_tag;   /* first of the 2 n_rounds tags that halving and its reverse use */
    int32_t last;    /* the step that the next round waits for; updated by each round */
    int n_rounds;
    int peer[POD__PAIRS_MAX_ROUNDS];         /* rank in the mesh */
    bool keeps_upper[POD__PAIRS_MAX_ROUNDS]; /* true: this rank keeps the upper half */
    int32_t sent[POD__PAIRS_MAX_ROUNDS];     /* steps that sent the other half, or none */
} pod__pairs;

/* Returns pairs without rounds. The first round that is added waits for the step `entry`. */
pod__pairs pod__pairs_of(pod_range range, int first_tag, int32_t entry);
void pod__pairs_add(pod__pairs *p, int peer, bool keeps_upper);

/* Adds the steps after which this rank has the sum of its block, and has sent the other blocks. */
void pod__pairs_reduce_scatter(pod__pairs *p, pod_sched *s);
/* Adds the steps that gather all blocks, starting with this rank's; afterwards the whole range is
 * valid. */
void pod__pairs_allgather(pod__pairs *p, pod_sched *s);
/* Adds rounds in which both peers send each other the whole range and add, from the last round to
 * the first. All ranks end with the same bits: before each round, all ranks that would keep the
 * same half hold the same bits, and both peers add the same two values. Alternates between MAIN and
 * SCRATCH, and ends in MAIN. */
void pod__pairs_exchange(pod__pairs *p, pod_sched *s);

/* Reduces a group to 2^n_rounds members, the largest power of two that is at most its size. The
 * n_extra other members are represented by neighbours: of the first 2 n_extra members, each even
 * one sends its data to the odd one after it and receives the result from it. A place is the number
 * of a remaining member among the remaining ones, from 0. */
typedef struct pod__fold {
    const pod_mesh *mesh;
    pod_group group;
    int rank; /* in the mesh */
    int n_extra, n_rounds;
    int place;   /* -1: another member represents this rank */
    int partner; /* rank that it represents, or that represents it; -1: none */
} pod__fold;

pod__fold pod__fold_of(const pod_mesh *m, const pod_group *g, int rank);
/* Adds a round for each bit of the places, from the lowest: the place of the peer differs in this
 * bit. */
void pod__fold_pairs(const pod__fold *f, pod__pairs *p);
/* Add the steps before and after the rounds, for members that are represented and those that
 * represent them. pod__fold_in returns the step that the rounds wait for. */
int32_t pod__fold_in(const pod__fold *f, pod_sched *s, int64_t count, int tag);
void pod__fold_out(const pod__fold *f, pod_sched *s, int64_t count, int tag, int32_t after);

/* Swing (swing.c) cuts the buffer into two parts for each dimension, which run at the same time.
 * Adds the rounds of one part. Parts 2 i and 2 i + 1 go in opposite directions. */
void pod__swing_pairs(const pod_mesh *m, const pod_group *g, int rank, int part, pod__pairs *p);

int pod__log2_floor(int n); /* n > 0 */

#endif
