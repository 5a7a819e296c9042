/* Rings dimension by dimension, in all orders at once or in one: reduce-scatter, all-gather, and
 * the all-reduce that is one after the other, strip by strip.
 *
 * Over a mesh of X x Y, where a rank keeps of n elements ever less, and then ever more:
 *
 *     reduce-scatter along x   n / X         of every row's sum
 *     reduce-scatter along y   n / (X Y)     of the sum
 *     all-gather along y       n / X         of the sum
 *     all-gather along x       n
 *
 * A dimension that wraps goes first, since both its directions work at once: so where the other
 * is open, that carries 1 / X of the data. Of two that are alike in this the shorter one goes first,
 * so that a torus turned takes the same time. In all orders a part of the payload goes x, y and the
 * rest y, x, in such shares that their first rings take the same time, half and half where the
 * dimensions are alike: then all links of the mesh work all the time. Over three dimensions of
 * chips a part goes x, y, z, one y, z, x and one z, x, y. Where the first of three is the cores
 * of a chip, these sum up before and gather after all else.
 *
 * An all-reduce is cut into strips, each of which goes through all rings on its own, every block
 * in one piece. So all ranks wait for the same, and while one strip is gathered along x another
 * one is summed up along y. A few set out at once; each other one when an earlier one has been
 * summed up along its first ring, lest early strips queue for links behind late ones.
 * `chunk_bytes` says how long the blocks of the first rings between chips are at most, in up to
 * 1024 strips; those of later rings are shorter. The own choice is few strips, for hosts, and
 * because that comes nearest to what is published of pods.
 *
 * What a rank has in the middle is the algorithm's own business in an all-reduce: there each part
 * of a strip is cut along its own order, so that blocks lie in one run. A reduce-scatter must
 * leave, and an all-gather take, the block that is the member's, of which each order has its share;
 * then what goes along x is X Y runs instead of X blocks (deal.h), and no element is moved for the
 * sake of its place.
 *
 * In an all-reduce a rank takes about 4 (X - 1 + Y - 1) steps, or 4 (X - 1 + Y - 1 + Z - 1), for
 * each strip and order, and 4 (cores - 1); in either half alone 4 (X Y - 1) for both orders of
 * two dimensions and 2 X Y (cores - 1), in an all-gather one more for each part that waits for
 * both orders. */
#ifndef MINIPOD_COLLECTIVES_ALGO_TORUS_TORUS_H
#define MINIPOD_COLLECTIVES_ALGO_TORUS_TORUS_H

#include "collectives/algo/algo.h"
#include "collectives/algo/ring/ring.h"

const char *pod__torus_why_not(const pod_mesh *m, const pod_coll_args *args);
POD_MUST pod_status pod__torus_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                     bool in_all_orders, pod__moves moves, pod_sched *out);
double pod__torus_seconds(const pod_net *net, const pod_mesh *m, const pod_coll_args *args,
                          bool in_all_orders, pod__moves moves);

#endif
