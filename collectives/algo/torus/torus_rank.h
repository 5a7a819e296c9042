/* One rank of a torus, followed by hand: when a reduce-scatter, an all-gather or an all-reduce over
 * two rings in two orders ends where all ranks do the same at the same time.
 *
 * On rings that close, what a rank sends one way at some time its other neighbour sends to it at
 * that time. So a piece that leaves comes back as the piece of the neighbour, and the times of one
 * rank are those of all:
 *
 *     leaves = max(ready, sender free) + message_s
 *     comes  = max(leaves, link free) + piece / bandwidth + latency
 *     added  = max(comes, own part ready, adder free) + piece / reduce rate
 *
 * A piece is ready for its next hop when it has been added, or has come. It is ready for its first
 * hop at once on the first ring, and on the second when the first has done with it; an all-gather
 * begins with the second. In an all-reduce pieces are strips (torus.h): a few are ready at once,
 * each other one when an earlier one is summed up on the first ring. Links, sender and adder take
 * what is ready first, of both orders, and of one time what the schedule has first: one order's
 * first ring and the other's second want the same links. What is received is added only after the
 * last but one before it on its ring and way (ring.c); from strip to strip that is left out.
 *
 * Exact, but within some per cent, 12 at the most that were seen, where ranks take turns another
 * way than others: those whose blocks are an element longer, and where several messages come at the
 * same time. This takes time in the number of messages of one rank, and no memory but the stack. */
#ifndef MINIPOD_COLLECTIVES_ALGO_TORUS_TORUS_RANK_H
#define MINIPOD_COLLECTIVES_ALGO_TORUS_TORUS_RANK_H

#include "collectives/algo/ring/ring.h"

enum {
    POD__RANK_RINGS = 2,
    POD__RANK_ORDERS = 2,
    POD__RANK_MAX_PIECES = 256,
    POD__RANK_MAX_SIZE = 1 << 16
};

typedef struct pod__rank_ring { /* a value */
    pod__ring_plan plan;        /* that works both ways, or over two members */
    int dim;
    double piece_bytes;
} pod__rank_ring;

typedef struct pod__rank_plan { /* a value */
    pod__moves moves;
    int n_at_once; /* strips of an all-reduce */
    int n_orders;
    /* ring[i] are those of an order, as a reduce-scatter goes; an all-gather goes back. At most
     * POD__RANK_MAX_PIECES pieces a block. */
    pod__rank_ring ring[POD__RANK_ORDERS][POD__RANK_RINGS];
} pod__rank_plan;

double pod__rank_seconds(const pod_net *net, const pod__rank_plan *plan);

#endif
