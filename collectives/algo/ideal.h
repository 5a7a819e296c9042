/* The time below which no algorithm can be: what the links alone demand.
 *
 * The largest of four bounds, for n cores and a buffer of S bytes:
 *
 *     far       the farthest core hears of it: message_s and the latency of the hops between
 *     corner    what a core must take in or give out, S (n-1)/n or S, over its links one way; where
 *               a mesh is open, a corner has the fewest
 *     traffic   every element is moved n-1 times, in an all-reduce 2 (n-1) times, over all links
 *               together: so a torus of extents > 2 with d dimensions of equal links takes an
 *               all-gather (n-1)/n S / (2 d bandwidth), and an all-reduce twice that
 *     halves    in an all-to-all, what the halves of a dimension have for each other
 *
 * Corner and traffic hold for chips, rows and planes as well, each taken for one core with the
 * links that leave it: a slow dimension, or links that cores share, set the limit then. */
#ifndef MINIPOD_COLLECTIVES_ALGO_IDEAL_H
#define MINIPOD_COLLECTIVES_ALGO_IDEAL_H

#include "collectives/algo/algo.h"
#include "collectives/net/net.h"

/* Of a collective over the whole mesh whose ranks share no memory; 0 for one core or no
 * elements. */
double pod_coll_ideal_s(const pod_net *net, const pod_mesh *m, const pod_coll_args *args);

#endif
