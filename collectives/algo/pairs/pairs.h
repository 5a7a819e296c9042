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

/* For a group of 2^n members, where block i is that of member i: a round for each bit of the
 * members' numbers, from the highest. */
const char *pod__power_of_two_why_not(const pod_mesh *m, const pod_coll_args *args);
void pod__far_pairs(const pod_mesh *m, const pod_group *g, int rank, pod__pairs *p);
/* The closed form of halving with them, or of its way back, which does not add. */
double pod__far_pairs_s(const pod_net *net, const pod_mesh *m, const pod_coll_args *args,
                        bool reduces);

int pod__log2_floor(int n); /* n > 0 */

/* ---- closed forms -------------------------------------------------------------------------- */

/* A message of a round in which members send as far as this one, over links that n of them share,
 * in the dimension where it goes farthest. A member meets its peer D members on. By pairs, the
 * lower D of 2 D send up over the link in their middle; or all go the same way, and the last D
 * before a link cross it: n = D. Halfway round a ring neighbours go opposite ways (mesh/route.h):
 * n = D / 2, rounded up. The caller may know that it is `most` at the most. Cores of a chip that
 * share its links make it as many times more.
 *
 * A link serves them one by one. With x = bytes / bandwidth, and g = D / n members (rounded up)
 * from one of the n to the next, a message comes to one that entered the link g members further on,
 * and again: it waits n - 1 times for what is left of x when its head has gone that far,
 *
 *     t = message_s + D hops + x + (n - 1) max(0, x - g hops) */
double pod__shared_message_s(const pod_net *net, const pod_mesh *m, const pod_group *g, int from,
                             int to, double bytes, int most);
/* How many members further on, the shorter way round, along the dimension where it is farthest. */
int pod__distance(const pod_mesh *m, const pod_group *g, int from, int to);
/* Members on one chip that share its links along this dimension, itself among them. */
int pod__n_on_chip(const pod_net *net, const pod_mesh *m, const pod_group *g, int dim);
/* The same of a message that goes over `distance` members, where n share a link. */
double pod__waiting_message_s(const pod_net *net, const pod_mesh *m, int from, int to, double bytes,
                              int distance, int n);

/* The slowest message of a round of pod__fold_pairs in which each sends `bytes`. */
double pod__fold_round_s(const pod__fold *f, const pod_net *net, int bit, double bytes);
/* An exchange of `bytes` with all that comes before and behind it, member by member: those who act
 * for nobody need not wait for those who do. Of more than 4096 members each round is taken to last
 * as long as its longest message. */
double pod__fold_exchange_s(const pod__fold *f, const pod_net *net, double bytes);
/* In and out, of the whole buffer. */
double pod__fold_ends_s(const pod__fold *f, const pod_net *net, double bytes);
/* The copy with which an exchange ends in MAIN. */
double pod__exchange_copy_s(int n_rounds, const pod_net *net, double bytes);

#endif
