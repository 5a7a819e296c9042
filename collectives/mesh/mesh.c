#include "collectives/mesh/mesh.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/base/assert.h"

/* One extent with its suffix; answers where it ends, or NULL. */
static const char *parse_extent(const char *p, pod_mesh *m)
{
    if (m->n_dims == POD_MESH_MAX_DIMS || !isdigit((unsigned char)*p)) return NULL;
    char *end;
    long extent = strtol(p, &end, 10);
    if (extent < 1 || extent > INT_MAX / pod_mesh_size(m)) return NULL;
    bool is_open = *end == 'o';
    bool is_forced = is_open || *end == 'w';
    m->extent[m->n_dims] = (int)extent;
    m->wraps[m->n_dims] = !is_open;
    m->is_forced[m->n_dims] = is_forced;
    m->n_dims++;
    return is_forced ? end + 1 : end;
}

pod_status pod_mesh_parse(const char *text, pod_mesh *out)
{
    pod_mesh m = {0};
    const char *p = parse_extent(text, &m);
    while (p && *p == 'x') p = parse_extent(p + 1, &m);
    if (!p || *p != '\0')
        return pod_fail(
            POD_E_INVALID,
            "mesh '%s' is not 1 to %d extents >= 1 joined by x, each with o (open) or "
            "w (wrapped) behind it at will, like 2x2 or 2x128ox32, and below 2^31 cores in all",
            text, POD_MESH_MAX_DIMS);
    *out = m;
    return POD_OK;
}

const char *pod_mesh_print(const pod_mesh *m, char *text, size_t text_bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (int d = 0; d < m->n_dims && used < text_bytes; d++) {
        const char *suffix = !m->wraps[d] ? "o" : m->is_forced[d] ? "w" : "";
        used += (size_t)snprintf(text + used, text_bytes - used, "%s%d%s", d ? "x" : "",
                                 m->extent[d], suffix);
    }
    return text;
}

int pod_mesh_size(const pod_mesh *m)
{
    int size = 1;
    for (int d = 0; d < m->n_dims; d++) size *= m->extent[d];
    return size;
}

pod_coord pod_mesh_coord(const pod_mesh *m, int rank)
{
    POD_DCHECK(rank >= 0 && rank < pod_mesh_size(m), "rank %d of %d", rank, pod_mesh_size(m));
    pod_coord c = {{0}};
    for (int d = 0; d < m->n_dims; d++) {
        c.at[d] = rank % m->extent[d];
        rank /= m->extent[d];
    }
    return c;
}

int pod_mesh_rank(const pod_mesh *m, pod_coord at)
{
    int rank = 0;
    for (int d = m->n_dims; d-- > 0;) {
        POD_DCHECK(at.at[d] >= 0 && at.at[d] < m->extent[d], "coordinate %d of %d", at.at[d],
                   m->extent[d]);
        rank = rank * m->extent[d] + at.at[d];
    }
    return rank;
}

int pod_mesh_neighbor(const pod_mesh *m, int rank, int dim, int dir)
{
    POD_ASSERT(dim >= 0 && dim < m->n_dims, "dimension %d of %d", dim, m->n_dims);
    POD_ASSERT(dir == 1 || dir == -1, "direction %d", dir);
    pod_coord c = pod_mesh_coord(m, rank);
    int next = c.at[dim] + dir;
    bool is_edge = next < 0 || next == m->extent[dim];
    if (is_edge && !m->wraps[dim]) return -1;
    c.at[dim] = (next + m->extent[dim]) % m->extent[dim];
    return pod_mesh_rank(m, c);
}
