/* The ranks of one collective: the whole mesh, rows, columns, tiles, or every k-th neighbour.
 *
 * A pod_group describes the groups of all ranks: for each rank, the ranks with which it takes part
 * in a collective. These have the rank's coordinates in all dimensions that are not in `dims`. In a
 * dimension in `dims`, they are in the same run of `tile` coordinates, and `step` apart. So all
 * groups have the same size and partition the mesh, and each group is a small mesh itself.
 *
 *     mesh 8x2, dims {0}, tile 4, step 2       ranks with the same letter are a group
 *
 *     a b a b  c d c d                         step > 1 skips model-parallel neighbours;
 *     e f e f  g h g h                         tile limits the length of a group */
#ifndef MINIPOD_COLLECTIVES_MESH_GROUP_H
#define MINIPOD_COLLECTIVES_MESH_GROUP_H

#include <stdint.h>

#include "collectives/mesh/mesh.h"

typedef struct pod_group {       /* a value; without dimensions each rank is alone */
    uint32_t dims;               /* bit d: the group extends along dimension d */
    int step[POD_MESH_MAX_DIMS]; /* 0 means 1 */
    int tile[POD_MESH_MAX_DIMS]; /* 0 means the whole extent */
} pod_group;

pod_group pod_group_all(const pod_mesh *m); /* every rank */

/* Fails with E_INVALID unless the dimensions exist, tile divides the extent, and step divides tile.
 * The other functions require this. */
POD_MUST pod_status pod_group_verify(const pod_mesh *m, const pod_group *g);

int pod_group_size(const pod_mesh *m, const pod_group *g);
int pod_group_extent(const pod_mesh *m, const pod_group *g, int dim); /* members along dim */

/* Members are numbered by their coordinates within the group, dimension 0 fastest: pod_group_index
 * returns a rank's number in its group, and pod_group_member the rank with number `index` in the
 * group of `rank`. */
int pod_group_index(const pod_mesh *m, const pod_group *g, int rank);
int pod_group_member(const pod_mesh *m, const pod_group *g, int rank, int index);

/* Sets the groups of `size` cores for batch norm, as in MLPerf's ResNet-50 code: groups of up to 16
 * cores are consecutive ranks; larger ones are nearly square tiles, at least as wide as high (of
 * whole chips, if the first of three dimensions is the cores of a chip; 32 cores, 2 per chip: 4x4
 * chips; 64: 8x4). Fails with E_INVALID, naming the possible sizes, if such groups do not cover the
 * mesh. */
POD_MUST pod_status pod_group_tiles(const pod_mesh *m, int size, pod_group *out);

#endif
