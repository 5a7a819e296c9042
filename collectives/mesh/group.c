#include "collectives/mesh/group.h"

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
