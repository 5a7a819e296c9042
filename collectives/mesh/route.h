/* The route of a message through the mesh, hop by hop, and the numbers of the links.
 *
 * A message goes dimension by dimension, from the first on, and in a wrapped dimension by the
 * shorter way. If both ways are equally long, the parity of the sum of the core's coordinates
 * decides, so that neighbours along every dimension use opposite ways and both directions carry the
 * same load.
 *
 * A link connects neighbours in one direction: it leaves a rank along a dimension, up or down. Two
 * ranks that are neighbours on both sides (extent 2, wrapped) have a link for each side. */
#ifndef MINIPOD_COLLECTIVES_MESH_ROUTE_H
#define MINIPOD_COLLECTIVES_MESH_ROUTE_H

#include "collectives/mesh/mesh.h"

/* Returns the hops from coordinate `from` to `to` along dim; negative means down. up_on_tie decides
 * if both ways are equally long. */
static inline int pod_route_along(const pod_mesh *m, int dim, int from, int to, bool up_on_tie)
{
    const int extent = m->extent[dim];
    int up = to - from;
    if (!m->wraps[dim] || up == 0) return up;
    if (up < 0) up += extent;
    const int down = extent - up;
    return up < down || (up == down && up_on_tie) ? up : -down;
}

typedef struct pod_hop {
    int dim, dir; /* dir is 1 or -1 */
} pod_hop;

/* Sets the next hop from one core to another; returns false if `at` is `to`. */
static inline bool pod_route_next(const pod_mesh *m, const pod_coord *at, const pod_coord *to,
                                  pod_hop *out)
{
    for (int d = 0; d < m->n_dims; d++) {
        if (at->at[d] == to->at[d]) continue;
        const bool is_even = (at->at[0] + at->at[1] + at->at[2]) % 2 == 0;
        *out = (pod_hop){d, pod_route_along(m, d, at->at[d], to->at[d], is_even) > 0 ? 1 : -1};
        return true;
    }
    return false;
}

int pod_route_n_links(const pod_mesh *m); /* link numbers are below this */
int pod_route_link(const pod_mesh *m, int rank, pod_hop hop);

enum { POD_LINK_TEXT_BYTES = 64 };
/* Writes "dimension 1 up from 0,3,4" to `text`; returns `text`. */
const char *pod_route_link_print(const pod_mesh *m, int link, char *text, size_t text_bytes);

#endif
