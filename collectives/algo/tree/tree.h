/* What algorithms that go by trees share. */
#ifndef MINIPOD_COLLECTIVES_ALGO_TREE_TREE_H
#define MINIPOD_COLLECTIVES_ALGO_TREE_TREE_H

#include "collectives/sched/sched.h"

/* How far a place, counted from the root, is from its parent, and how many places from it on are
 * its own and those below it; for the root, the first power of two that is not below size. */
int pod__tree_reach(int size, int place);

/* The k-th of n receives that are added to the whole of MAIN one after the other; answers the step.
 * bf16 is summed in SUM on the way from the first to the last of them, so that it is rounded
 * once. */
int32_t pod__sum_receive(pod_sched *s, pod_dtype dtype, int k, int n, int peer, int tag,
                         int64_t count, int32_t after);

#endif
