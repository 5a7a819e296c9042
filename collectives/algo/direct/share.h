/* Helpers of algorithms over shared memory. */
#ifndef MINIPOD_COLLECTIVES_ALGO_DIRECT_SHARE_H
#define MINIPOD_COLLECTIVES_ALGO_DIRECT_SHARE_H

#include "collectives/algo/algo.h"
#include "kernels/combine/combine.h"

typedef struct pod__sharers { /* the ranks that share memory, by index */
    int size, index;          /* index: that of the rank itself */
    int rank[POD_COMBINE_MAX_INPUTS];
} pod__sharers;

/* Returns the group of `rank`, which has at most POD_COMBINE_MAX_INPUTS members. */
pod__sharers pod__sharers_of(const pod_mesh *m, const pod_group *g, int rank);

/* Adds messages in which each member sends its own block of MAIN to all others, after the step
 * `after`, and receives theirs, at any time. `count`: elements of MAIN. Uses one tag. */
void pod__share_blocks(pod_sched *s, const pod__sharers *among, int64_t count, int tag,
                       int32_t after);

#endif
