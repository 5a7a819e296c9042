/* A lower limit of the time of any algorithm, from the links alone.
 *
 * It is the largest of four bounds, for n cores and a buffer of S bytes:
 *
 *     far       the time of a message to the farthest core: message_s and the latency of its hops
 *     corner    every core must receive (in a reduce-scatter: send) at least S (n-1)/n bytes, in an
 *               all-reduce, broadcast, reduce or sendrecv S; the core with the fewest links takes
 *               longest, on an open mesh a corner
 *     traffic   every element must cross at least n-1 links, in an all-reduce 2 (n-1), and all
 *               links work at once. On a torus of extents > 2 with d dimensions of equal links,
 *               an all-gather takes at least (n-1)/n S / (2 d bandwidth), an all-reduce twice that
 *     halves    in an all-to-all, the two halves of a dimension send data to each other over the
 *               links between them
 *
 * Corner and traffic are also computed with all cores of a chip, row or plane as one node, and only
 * the links between such nodes. So a slow dimension, or links that cores share, can set the
 * limit. */
#ifndef MINIPOD_COLLECTIVES_ALGO_IDEAL_H
#define MINIPOD_COLLECTIVES_ALGO_IDEAL_H

#include "collectives/algo/algo.h"
#include "collectives/net/net.h"

/* Returns the limit in seconds of a collective over the whole mesh whose ranks share no memory; 0
 * for one core or no elements. */
double pod_coll_ideal_s(const pod_net *net, const pod_mesh *m, const pod_coll_args *args);

#endif
