/* Moves along a binomial tree over the members of a group, of the whole buffer.
 *
 * Members are counted from the root on. A member's parent lacks its lowest bit that is set, so the
 * tree is right for any number of members and ceil(log2(size)) messages deep:
 *
 *     0 -- 1        reduce: up, a parent adds its nearest child first
 *     |--- 2 -- 3   broadcast: down, a parent serves its farthest child first
 *     '--- 4 -- 5 */
#ifndef MINIPOD_COLLECTIVES_ALGO_TREE_TREE_H
#define MINIPOD_COLLECTIVES_ALGO_TREE_TREE_H

#include "collectives/algo/algo.h"

typedef struct pod__tree {
    const pod_mesh *mesh;
    const pod_group *group;
    int rank; /* of the mesh */
    int root; /* index in the group */
    int tag;
    int64_t count;
    pod_dtype dtype; /* bf16 is summed in float32 and rounded once a rank */
} pod__tree;

/* Begins after `after`; answers the step with which this rank's part ends: the root has the sum,
 * another member has handed its part on and may overwrite it. */
int32_t pod__tree_reduce(const pod__tree *t, pod_sched *s, int32_t after);
/* Begins after `after`. */
void pod__tree_broadcast(const pod__tree *t, pod_sched *s, int32_t after);

/* How far a place, counted from the root, is from its parent, and how many places from it on are
 * its own and those below it; for the root, the first power of two that is not below size. */
int pod__tree_reach(int size, int place);

/* Of the reduction (or, without `reduces`, the broadcast) of the whole buffer. */
double pod__tree_seconds(const pod_net *net, const pod_mesh *m, const pod_coll_args *args,
                         bool reduces);

#endif
