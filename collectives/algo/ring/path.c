#include "collectives/algo/ring/path.h"

static bool is_closed(const pod_mesh *m, const pod_group *g, int dim)
{
    return m->wraps[dim] && (g->tile[dim] == 0 || g->tile[dim] == m->extent[dim]);
}

static void put_first(pod__path *p, int i)
{
    const int dim = p->dim[i], extent = p->extent[i];
    p->dim[i] = p->dim[0];
    p->extent[i] = p->extent[0];
    p->dim[0] = dim;
    p->extent[0] = extent;
}

pod__path pod__path_of(const pod_mesh *m, pod_group group)
{
    pod__path p = {.mesh = m, .group = group, .size = pod_group_size(m, &group)};
    for (int d = 0; d < m->n_dims; d++) {
        const int extent = pod_group_extent(m, &group, d);
        if (extent == 1) continue;
        p.dim[p.n_dims] = d;
        p.extent[p.n_dims++] = extent;
    }
    if (p.n_dims == 1) p.is_line = p.size > 2 && !is_closed(m, &group, p.dim[0]);
    if (p.n_dims < 2) return p;
    for (int i = 0; i < p.n_dims && !p.returns; i++) {
        p.returns = p.size / p.extent[i] % 2 == 0;
        if (p.returns) put_first(&p, i);
    }
    return p;
}

/* To and fro through the dimensions from `first` on: a digit runs backwards where the number above
 * it is odd. */
static void sweep(const pod__path *p, int first, int position, int at[])
{
    for (int i = first; i < p->n_dims; i++) {
        const int digit = position % p->extent[i];
        position /= p->extent[i];
        at[i] = position % 2 ? p->extent[i] - 1 - digit : digit;
    }
}

static int unsweep(const pod__path *p, int first, const int at[])
{
    int position = 0;
    for (int i = p->n_dims; i-- > first;) {
        const int digit = position % 2 ? p->extent[i] - 1 - at[i] : at[i];
        position = position * p->extent[i] + digit;
    }
    return position;
}

int pod__path_index_swept(const pod__path *p, int position)
{
    int at[POD_MESH_MAX_DIMS] = {0};
    if (!p->returns) {
        sweep(p, 0, position, at);
    } else {
        const int n_swept = p->extent[0] - 1;
        const int n_rows = p->size / p->extent[0];
        const bool is_back = position >= n_swept * n_rows;
        const int row = is_back ? p->size - 1 - position : position / n_swept;
        const int digit = position % n_swept;
        if (!is_back) at[0] = 1 + (row % 2 ? n_swept - 1 - digit : digit);
        sweep(p, 1, row, at);
    }
    int coord[POD_MESH_MAX_DIMS] = {0};
    for (int i = 0; i < p->n_dims; i++) coord[p->dim[i]] = at[i];
    int index = 0;
    for (int d = p->mesh->n_dims; d-- > 0;)
        index = index * pod_group_extent(p->mesh, &p->group, d) + coord[d];
    return index;
}

int pod__path_position(const pod__path *p, int index)
{
    int coord[POD_MESH_MAX_DIMS] = {0}, at[POD_MESH_MAX_DIMS] = {0};
    for (int d = 0; d < p->mesh->n_dims; d++) {
        const int extent = pod_group_extent(p->mesh, &p->group, d);
        coord[d] = index % extent;
        index /= extent;
    }
    for (int i = 0; i < p->n_dims; i++) at[i] = coord[p->dim[i]];
    if (!p->returns) return unsweep(p, 0, at);
    const int n_swept = p->extent[0] - 1;
    const int row = unsweep(p, 1, at);
    if (at[0] == 0) return p->size - 1 - row;
    return row * n_swept + (row % 2 ? n_swept - at[0] : at[0] - 1);
}
