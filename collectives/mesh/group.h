/* The ranks of one collective: the whole mesh, rows, columns, tiles, every k-th neighbour.
 *
 * A group says nothing of who asks; with a rank it names the ranks that meet with it. They agree
 * with the rank in every dimension that is not in `dims`. In a dimension that is, they lie in the
 * same run of `tile` coordinates and are `step` apart. So the groups of all ranks have one size and
 * split the mesh without rest, and a group is itself a small mesh.
 *
 *     mesh 8x2, dims {0}, tile 4, step 2       ranks with the same letter meet
 *
 *     a b a b  c d c d                         step > 1 hops over model-parallel neighbours,
 *     e f e f  g h g h                         tile limits how far the group reaches */
#ifndef MINIPOD_COLLECTIVES_MESH_GROUP_H
#define MINIPOD_COLLECTIVES_MESH_GROUP_H

#include <stdint.h>

#include "collectives/mesh/mesh.h"

typedef struct pod_group {       /* a value; without any dimension it is the rank alone */
    uint32_t dims;               /* bit d: the group reaches along dimension d */
    int step[POD_MESH_MAX_DIMS]; /* 0 means 1 */
    int tile[POD_MESH_MAX_DIMS]; /* 0 means the whole extent */
} pod_group;

pod_group pod_group_all(const pod_mesh *m); /* every rank */

/* E_INVALID unless the dimensions exist, tile divides the extent and step divides tile. The other
 * functions take a group for which this holds. */
POD_MUST pod_status pod_group_verify(const pod_mesh *m, const pod_group *g);

int pod_group_size(const pod_mesh *m, const pod_group *g);
int pod_group_extent(const pod_mesh *m, const pod_group *g, int dim); /* members along dim */

/* Members are numbered by their coordinates within the group, dimension 0 fastest: index is a
 * rank's own number in its group, member the rank that has a number in the group of `rank`. */
int pod_group_index(const pod_mesh *m, const pod_group *g, int rank);
int pod_group_member(const pod_mesh *m, const pod_group *g, int rank, int index);

/* The groups of `size` cores that cover the mesh: up to 16 of them follow one another in rank, more
 * are tiles near to square (whole chips, where the mesh has the cores of a chip as its first of
 * three dimensions), at least as wide as high: as the MLPerf ResNet-50 code lays out its batch norm
 * (32 replicas, 2 a chip: 4x4 chips; 64: 8 by 4). E_INVALID, naming the sizes there are, when such
 * groups do not cover the mesh. */
POD_MUST pod_status pod_group_tiles(const pod_mesh *m, int size, pod_group *out);

#endif
