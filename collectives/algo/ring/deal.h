/* Which elements each member of a ring sums up or hands on: its block, of one run or more.
 *
 * A range is cut into parts, in order, without gap (pod_block). In the plain case there is one for
 * each member, which is its block. Where rings go along one dimension of a mesh after the other,
 * and at the end part k is that of the group's member k, a member's block on the way is the parts
 * of all that it leads to: those with its place along this dimension, whatever their place along
 * the dimensions that are still to come, which are free. Mesh 3x2, parts by member's number:
 *
 *     along x, then y     block of x = 1   parts 1 4
 *     along y, then x     block of y = 1   parts 3 4 5
 *
 * Each such part is a run, for messages carry what lies together. Runs are counted from the
 * farthest place along the free dimensions on, which the next ring sends first; members of a ring
 * are at one place there, and so mean the same by a run. Of each part a deal may have but a
 * share. */
#ifndef MINIPOD_COLLECTIVES_ALGO_RING_DEAL_H
#define MINIPOD_COLLECTIVES_ALGO_RING_DEAL_H

#include "collectives/algo/algo.h"

typedef struct pod__deal { /* a value */
    pod_range range;
    int n_parts;                /* of the range; of a block */
    int first, extent, stride;  /* parts of the ring's members, with all that is free at 0 */
    int64_t share[2], share_of; /* of a part: from share[0] to share[1] of share_of; 0: all of it */
    int n_free;                 /* dimensions */
    struct {
        /* at: the place of its members; how far others are from it, one way and the other */
        int extent, stride, at, ahead, behind;
    } free[POD_MESH_MAX_DIMS];
} pod__deal;

/* A range for a ring of so many members, a run each. */
pod__deal pod__deal_of_range(pod_range range, int size);
/* A buffer of `count` elements, where the part of each member of the group is its own at the end,
 * for the ring along `dim` through `rank`; along the dimensions of `done` rings went before. */
pod__deal pod__deal_of_members(const pod_mesh *m, const pod_group *g, int rank, int64_t count,
                               uint32_t done, int dim);

/* The elements of a run of the block of a member, by its index along the dimension. */
pod_range pod__deal_run(const pod__deal *d, int index, int run);

typedef struct pod__deal_place {
    int index, run;
} pod__deal_place;

/* Where an element of the range is. */
pod__deal_place pod__deal_find(const pod__deal *d, int64_t element);

/* So many of `count` as num of den are. */
int64_t pod__share(int64_t count, int64_t num, int64_t den);

#endif
