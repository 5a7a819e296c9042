/* The order in which a ring goes through the members of a group.
 *
 * Neighbours on the ring are neighbours on the mesh wherever they can be, so that no two of its
 * messages want one link. Along one dimension that is the order of index: closed where the
 * dimension wraps, else a line with two ends. Over two or three the ring sweeps to and fro through
 * all columns but the first, and comes back along that one. It needs no wrapped edge, only an even
 * number of members; mesh 3x4, position by coordinate:
 *
 *     11  0  1
 *     10  3  2
 *      9  4  5
 *      8  7  6
 *
 * With an odd number it sweeps through all columns, and the last member is hops from the first. */
#ifndef MINIPOD_COLLECTIVES_ALGO_RING_PATH_H
#define MINIPOD_COLLECTIVES_ALGO_RING_PATH_H

#include "collectives/mesh/group.h"

typedef struct pod__path { /* a value */
    const pod_mesh *mesh;  /* borrowed */
    pod_group group;
    int size;
    bool is_line; /* the last has no way back to the first but through all the others */
    bool returns; /* along the first column of dim[0] */
    int n_dims, dim[POD_MESH_MAX_DIMS], extent[POD_MESH_MAX_DIMS]; /* longer than 1 */
} pod__path;

pod__path pod__path_of(const pod_mesh *m, pod_group group);
int pod__path_index_swept(const pod__path *p, int position); /* over two or more dimensions */

/* A member's index in its group by its position on the path, and the inverse. */
static inline int pod__path_index(const pod__path *p, int position)
{
    return p->n_dims == 1 ? position : pod__path_index_swept(p, position);
}
int pod__path_position(const pod__path *p, int index);

#endif
