/* A lower limit of the time of any algorithm, from the links alone.
 *
 * It is the largest of four bounds, for n cores and a buffer of S bytes:
 *
 *     far       a message reaches the farthest core: message_s and the latency of the hops
 *     corner    a core must receive or send S (n-1)/n or S over its links in one direction; on an
 *               open mesh, a corner has the fewest links
 *     traffic   every element is moved n-1 times, in an all-reduce 2 (n-1) times, over all links
 *               together: so a torus of extents > 2 with d dimensions of equal links takes an
 *               all-gather (n-1)/n S / (2 d bandwidth), and an all-reduce twice that
 *     halves    in an all-to-all, the data that the halves of a dimension send to each other
 *
 * Corner and traffic are also computed with chips, rows and planes in the place of cores, and the
 * links that leave them: so a slow dimension, or links that cores share, can set the limit. */
#ifndef MINIPOD_COLLECTIVES_ALGO_IDEAL_H
#define MINIPOD_COLLECTIVES_ALGO_IDEAL_H

#include "collectives/algo/algo.h"
#include "collectives/net/net.h"

/* Returns the limit of a collective over the whole mesh, if ranks share no memory; 0 for one core
 * or no elements. */
double pod_coll_ideal_s(const pod_net *net, const pod_mesh *m, const pod_coll_args *args);

#endif
