/* Ring all-reduce dimension by dimension, in two orders at once or in one.
 *
 * Over a mesh of X x Y, where a rank keeps of n elements ever less, and then ever more:
 *
 *     reduce-scatter along x   n / X         of every row's sum
 *     reduce-scatter along y   n / (X Y)     of the sum
 *     all-gather along y       n / X         of the sum
 *     all-gather along x       n
 *
 * A dimension that wraps goes first, since both its directions work at once: so where the other is
 * open, that carries 1 / X of the data. With `n_orders` 2 a part of the payload goes x, y and the
 * rest y, x, in such shares that both take the same time, half and half where the dimensions are
 * alike: then all links of the mesh work all the time. The cores of a chip, the first of three
 * dimensions, sum up before and gather after all else.
 *
 * A rank takes about 4 (X - 1 + Y - 1) steps for each order, times the pieces of a block, and
 * 4 (cores - 1). */
#ifndef MINIPOD_COLLECTIVES_ALGO_TORUS_H
#define MINIPOD_COLLECTIVES_ALGO_TORUS_H

#include "collectives/algo/algo.h"

const char *pod__torus_why_not(const pod_mesh *m, const pod_coll_args *args);
POD_MUST pod_status pod__torus_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                     int n_orders, pod_sched *out);
double pod__torus_seconds(const pod_net *net, const pod_mesh *m, const pod_coll_args *args,
                          int n_orders);

#endif
