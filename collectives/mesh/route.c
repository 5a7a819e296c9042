#include "collectives/mesh/route.h"

#include <stdio.h>

#include "kernels/base/assert.h"

int pod_route_n_links(const pod_mesh *m) { return 2 * m->n_dims * pod_mesh_size(m); }

int pod_route_link(const pod_mesh *m, int rank, pod_hop hop)
{
    return (2 * hop.dim + (hop.dir < 0)) * pod_mesh_size(m) + rank;
}

const char *pod_route_link_print(const pod_mesh *m, int link, char *text, size_t text_bytes)
{
    const int size = pod_mesh_size(m);
    POD_ASSERT(link >= 0 && link < pod_route_n_links(m), "link %d of %d", link,
               pod_route_n_links(m));
    const pod_coord c = pod_mesh_coord(m, link % size);
    const int side = link / size;
    int used =
        snprintf(text, text_bytes, "dimension %d %s from", side / 2, side % 2 ? "down" : "up");
    for (int d = 0; d < m->n_dims && (size_t)used < text_bytes; d++)
        used += snprintf(text + used, text_bytes - (size_t)used, "%c%d", d ? ',' : ' ', c.at[d]);
    return text;
}
