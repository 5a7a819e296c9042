/* The block of each member of a ring: the elements that it sums up or passes on, in one or more
 * runs.
 *
 * A range is cut into consecutive parts (pod_block). In the simple case each member has one part,
 * which is its block. If rings go along one dimension of a mesh after another, and part k belongs
 * to member k of the group at the end, a member's block in between consists of several parts: those
 * of all members with the same coordinate along this dimension, and any coordinate along the
 * dimensions that follow, which are called free. Mesh 3x2, parts by the number of the member:
 *
 *     along x, then y     block of x = 1   parts 1 4
 *     along y, then x     block of y = 1   parts 3 4 5
 *
 * Each such part is a run, because a message carries adjacent elements. Runs are numbered from the
 * farthest coordinate along the free dimensions, which the next ring sends first; members of a ring
 * have the same coordinates there, and so number runs alike. A deal may have only a share of each
 * part. */
#ifndef MINIPOD_COLLECTIVES_ALGO_RING_DEAL_H
#define MINIPOD_COLLECTIVES_ALGO_RING_DEAL_H

#include "collectives/algo/algo.h"

typedef struct pod__deal { /* a value */
    pod_range range;
    int n_parts;                /* parts of the range */
    int first, extent, stride;  /* parts of the ring's members, at free coordinates 0 */
    int64_t share[2], share_of; /* of each part: share[0]/share_of to share[1]/share_of; 0: all */
    int n_free;                 /* number of free dimensions */
    struct {
        /* at: coordinate of the ring's members; distance of the farthest other coordinates, in both
         * directions */
        int extent, stride, at, ahead, behind;
    } free[POD_MESH_MAX_DIMS];
} pod__deal;

/* Deals a range to a ring of `size` members, one run each. */
pod__deal pod__deal_of_range(pod_range range, int size);
/* Deals a buffer of `count` elements, of which each member of the group gets its part at the end,
 * for the ring along `dim` through `rank`. `done`: bits of the dimensions along which rings went
 * before. */
pod__deal pod__deal_of_members(const pod_mesh *m, const pod_group *g, int rank, int64_t count,
                               uint32_t done, int dim);

/* Returns the elements of a run of a member's block; index: the member's along the dimension. */
pod_range pod__deal_run(const pod__deal *d, int index, int run);

typedef struct pod__deal_place {
    int index, run;
} pod__deal_place;

/* Finds the member and run of an element of the range. */
pod__deal_place pod__deal_find(const pod__deal *d, int64_t element);

/* Returns count * num / den, rounded down. */
int64_t pod__share(int64_t count, int64_t num, int64_t den);

#endif
