/* Helpers of tree algorithms. */
#ifndef MINIPOD_COLLECTIVES_ALGO_TREE_TREE_H
#define MINIPOD_COLLECTIVES_ALGO_TREE_TREE_H

#include "collectives/sched/sched.h"

/* The place of a member is its index minus the root's, modulo `size`. Returns the difference d
 * between a place and the place of its parent. The subtree of the place is place .. place + d - 1,
 * as far as these exist. For the root, d is the smallest power of two that is at least `size`. */
int pod__tree_reach(int size, int place);

/* Adds the k-th of n RECV_REDUCE steps, which add whole buffers to MAIN one after another; returns
 * the step. With bf16 or f16 the intermediate sums are in SUM, and only the last one is rounded. */
int32_t pod__sum_receive(pod_sched *s, pod_dtype dtype, int k, int n, int peer, int tag,
                         int64_t count, int32_t after);

#endif
