/* The block of each member of a ring: the elements that it sums up or passes on, in one or more
 * runs of adjacent elements.
 *
 * A range is cut into consecutive parts (pod_block). In the simple case each member has one part,
 * which is its block. On a mesh, rings may go along one dimension after another, so that part k
 * belongs to member k of the group at the end. In the rings before the last one, the block of a
 * member consists of several parts: those of all members that have its coordinate along the
 * dimension of the ring, and any coordinate along the dimensions of later rings, which are called
 * free. On a mesh 3x2, in the first ring:
 *
 *     along x, then y     block of x = 1   parts 1 4
 *     along y, then x     block of y = 1   parts 3 4 5
 *
 * Each such part is a run, because a message carries adjacent elements. Run 0 is the part whose
 * free coordinates are farthest from the ring's, because the next ring sends the farthest part
 * first. All members of a ring have the same free coordinates, and so number runs alike. A
 * pod__deal may cover only a share of each part. */
#ifndef MINIPOD_COLLECTIVES_ALGO_RING_DEAL_H
#define MINIPOD_COLLECTIVES_ALGO_RING_DEAL_H

#include "collectives/algo/algo.h"

typedef struct pod__deal { /* a value */
    pod_range range;
    int n_parts;                /* parts of the range */
    int first, extent, stride;  /* member i < extent: part first + i stride, if free ones are 0 */
    int64_t share[2], share_of; /* of each part: share[0]/share_of to share[1]/share_of; 0: all */
    int n_free;                 /* number of free dimensions */
    struct {
        /* at: the coordinate of all members of the ring; ahead, behind: distance of the farthest
         * other coordinate in each direction */
        int extent, stride, at, ahead, behind;
    } free[POD_MESH_MAX_DIMS];
} pod__deal;

/* Divides a range among a ring of `size` members: one part, which is one run, for each. */
pod__deal pod__deal_of_range(pod_range range, int size);
/* Divides a buffer of `count` elements among the members of the ring along `dim` through `rank`. At
 * the end each member of the group has one part of the buffer. `done`: bits of the dimensions along
 * which rings went before. */
pod__deal pod__deal_of_members(const pod_mesh *m, const pod_group *g, int rank, int64_t count,
                               uint32_t done, int dim);

/* Returns the elements of a run of a member's block. `index` is the member's along the ring. */
pod_range pod__deal_run(const pod__deal *d, int index, int run);

typedef struct pod__deal_place {
    int index, run;
} pod__deal_place;

/* Finds the member and run of an element of the range. */
pod__deal_place pod__deal_find(const pod__deal *d, int64_t element);

/* Returns count * num / den, rounded down. */
int64_t pod__share(int64_t count, int64_t num, int64_t den);

#endif
