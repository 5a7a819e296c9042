/* Helpers of tree algorithms. */
#ifndef MINIPOD_COLLECTIVES_ALGO_TREE_TREE_H
#define MINIPOD_COLLECTIVES_ALGO_TREE_TREE_H

#include "collectives/sched/sched.h"

/* Returns the distance of a place, counted from the root, to its parent; it is also the number of
 * places in its subtree, which starts at the place (fewer at the end). For the root: the smallest
 * power of two that is at least `size`. */
int pod__tree_reach(int size, int place);

/* Adds the k-th of n receives that are added to all of MAIN one after another; returns the step.
 * bf16 is summed in SUM from the first to the last of them, and rounded once. */
int32_t pod__sum_receive(pod_sched *s, pod_dtype dtype, int k, int n, int peer, int tag,
                         int64_t count, int32_t after);

#endif
