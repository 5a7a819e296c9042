/* Helpers of algorithms over shared memory. */
#ifndef MINIPOD_COLLECTIVES_ALGO_DIRECT_SHARE_H
#define MINIPOD_COLLECTIVES_ALGO_DIRECT_SHARE_H

#include "collectives/algo/algo.h"
#include "kernels/combine/combine.h"

typedef struct pod__sharers { /* a group whose ranks share memory */
    int size, index;          /* index: this rank's in the group */
    int rank[POD_COMBINE_MAX_INPUTS];
} pod__sharers;

/* Returns the group of `rank`, which has at most POD_COMBINE_MAX_INPUTS members. */
pod__sharers pod__sharers_of(const pod_mesh *m, const pod_group *g, int rank);

/* Adds this rank's messages of an all-gather: it sends its own block of MAIN to every other member
 * after the step `after`, and receives their blocks; the receives wait for no step. `count`:
 * elements of MAIN. All messages have the tag `tag`. */
void pod__share_blocks(pod_sched *s, const pod__sharers *among, int64_t count, int tag,
                       int32_t after);

#endif
