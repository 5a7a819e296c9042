/* The order in which a ring goes through the members of a group.
 *
 * Neighbours on the ring are neighbours on the mesh where possible, so that no two messages use the
 * same link. Along one dimension the order is that of the index: a closed ring if the dimension
 * wraps, else a line with two ends. Over two or three dimensions the ring goes back and forth
 * through all columns except the first, and returns along the first. This needs an even number of
 * members, but no link that wraps. Mesh 3x4, each core with its position on the ring:
 *
 *     11  0  1
 *     10  3  2
 *      9  4  5
 *      8  7  6
 *
 * With an odd number of members the ring goes through all columns, and the last member is several
 * hops from the first. */
#ifndef MINIPOD_COLLECTIVES_ALGO_RING_PATH_H
#define MINIPOD_COLLECTIVES_ALGO_RING_PATH_H

#include "collectives/mesh/group.h"

typedef struct pod__path { /* a value */
    const pod_mesh *mesh;  /* borrowed */
    pod_group group;
    int size;
    bool is_line; /* no link from the last member to the first */
    bool returns; /* it returns along the first column of dim[0] */
    int n_dims, dim[POD_MESH_MAX_DIMS], extent[POD_MESH_MAX_DIMS]; /* with extent > 1 */
} pod__path;

pod__path pod__path_of(const pod_mesh *m, pod_group group);
int pod__path_index_swept(const pod__path *p, int position); /* for two or more dimensions */

/* Return a member's index in its group from its position on the path, and the inverse. */
static inline int pod__path_index(const pod__path *p, int position)
{
    return p->n_dims == 1 ? position : pod__path_index_swept(p, position);
}
int pod__path_position(const pod__path *p, int index);

#endif
