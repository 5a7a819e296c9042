/* What algorithms over shared memory have in common. */
#ifndef MINIPOD_COLLECTIVES_ALGO_DIRECT_SHARE_H
#define MINIPOD_COLLECTIVES_ALGO_DIRECT_SHARE_H

#include "collectives/algo/algo.h"
#include "kernels/combine/combine.h"

typedef struct pod__sharers { /* ranks that share memory, by their index */
    int size, index;          /* index: of the rank that asks */
    int rank[POD_COMBINE_MAX_INPUTS];
} pod__sharers;

/* The group of `rank`, of POD_COMBINE_MAX_INPUTS members at most. */
pod__sharers pod__sharers_of(const pod_mesh *m, const pod_group *g, int rank);

/* Each hands its own block of MAIN, of `count` elements, to all others after `after`, and takes
 * theirs at any time. One tag. */
void pod__share_blocks(pod_sched *s, const pod__sharers *among, int64_t count, int tag,
                       int32_t after);

#endif
