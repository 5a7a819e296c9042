#include "collectives/mesh/group.h"

#include <stdio.h>

#include "kernels/base/assert.h"

static bool has_dim(const pod_group *g, int dim) { return (g->dims >> dim & 1u) != 0; }

static int step_of(const pod_group *g, int dim) { return g->step[dim] ? g->step[dim] : 1; }

static int tile_of(const pod_mesh *m, const pod_group *g, int dim)
{
    return g->tile[dim] ? g->tile[dim] : m->extent[dim];
}

pod_group pod_group_all(const pod_mesh *m) { return (pod_group){.dims = (1u << m->n_dims) - 1}; }

pod_status pod_group_verify(const pod_mesh *m, const pod_group *g)
{
    if (g->dims >> m->n_dims)
        return pod_fail(POD_E_INVALID, "group reaches along dimensions 0x%x of a mesh of %d",
                        (unsigned)g->dims, m->n_dims);
    for (int d = 0; d < m->n_dims; d++) {
        if (!has_dim(g, d)) continue;
        int step = step_of(g, d);
        int tile = tile_of(m, g, d);
        if (tile < 1 || m->extent[d] % tile)
            return pod_fail(POD_E_INVALID, "group: a tile of %d does not divide extent %d", tile,
                            m->extent[d]);
        if (step < 1 || tile % step)
            return pod_fail(POD_E_INVALID, "group: a step of %d does not divide a reach of %d",
                            step, tile);
    }
    return POD_OK;
}

int pod_group_extent(const pod_mesh *m, const pod_group *g, int dim)
{
    return has_dim(g, dim) ? tile_of(m, g, dim) / step_of(g, dim) : 1;
}

int pod_group_size(const pod_mesh *m, const pod_group *g)
{
    int size = 1;
    for (int d = 0; d < m->n_dims; d++) size *= pod_group_extent(m, g, d);
    return size;
}

int pod_group_index(const pod_mesh *m, const pod_group *g, int rank)
{
    pod_coord c = pod_mesh_coord(m, rank);
    int index = 0;
    for (int d = m->n_dims; d-- > 0;) {
        if (!has_dim(g, d)) continue;
        int place = c.at[d] % tile_of(m, g, d) / step_of(g, d);
        index = index * pod_group_extent(m, g, d) + place;
    }
    return index;
}

int pod_group_member(const pod_mesh *m, const pod_group *g, int rank, int index)
{
    POD_DCHECK(index >= 0 && index < pod_group_size(m, g), "member %d of %d", index,
               pod_group_size(m, g));
    pod_coord c = pod_mesh_coord(m, rank);
    for (int d = 0; d < m->n_dims; d++) {
        if (!has_dim(g, d)) continue;
        int tile = tile_of(m, g, d);
        int step = step_of(g, d);
        int extent = pod_group_extent(m, g, d);
        c.at[d] = c.at[d] / tile * tile + c.at[d] % step + index % extent * step;
        index /= extent;
    }
    return pod_mesh_rank(m, c);
}

/* ---- groups by their size -------------------------------------------------------------------- */

enum { MOST_IN_A_ROW = 16, SIZES_TEXT = 160 };

static void reach(pod_group *g, int dim, int tile)
{
    g->dims |= 1u << dim;
    g->tile[dim] = tile;
}

static bool take_row(const pod_mesh *m, int size, pod_group *g)
{
    for (int d = 0; d < m->n_dims && size > 1; d++) {
        const int tile = size < m->extent[d] ? size : m->extent[d];
        if (m->extent[d] % tile != 0 || size % tile != 0) return false;
        reach(g, d, tile);
        size /= tile;
    }
    return size == 1;
}

/* The tallest of the tiles that are at least as wide as high. */
static bool take_tile(const pod_mesh *m, int size, pod_group *g)
{
    const int x = m->n_dims - 2, n_cores = x > 0 ? m->extent[0] : 1;
    if (size % n_cores != 0) return false;
    const int area = size / n_cores;
    int rows = 0;
    for (int r = 1; r <= area / r; r++)
        if (area % r == 0 && m->extent[x + 1] % r == 0 && m->extent[x] % (area / r) == 0) rows = r;
    if (rows == 0) return false;
    if (x > 0) reach(g, 0, n_cores);
    reach(g, x, area / rows);
    reach(g, x + 1, rows);
    return true;
}

static bool take_group(const pod_mesh *m, int size, pod_group *g)
{
    *g = (pod_group){0};
    if (size < 1 || pod_mesh_size(m) % size != 0) return false;
    if (size <= MOST_IN_A_ROW || m->n_dims == 1) return take_row(m, size, g);
    return take_tile(m, size, g);
}

pod_status pod_group_tiles(const pod_mesh *m, int size, pod_group *out)
{
    pod_group g;
    if (take_group(m, size, out)) return POD_OK;
    char mesh[POD_MESH_TEXT_BYTES], sizes[SIZES_TEXT] = "";
    size_t used = 0;
    for (int i = 1; i <= pod_mesh_size(m) && used + 8 < sizeof sizes; i++)
        if (take_group(m, i, &g))
            used += (size_t)snprintf(sizes + used, sizeof sizes - used, " %d", i);
    return pod_fail(POD_E_INVALID, "groups of %d cores do not tile the mesh %s; sizes that do:%s",
                    size, pod_mesh_print(m, mesh, sizeof mesh), sizes);
}
