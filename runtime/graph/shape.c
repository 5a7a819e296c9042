#include "runtime/graph/shape.h"

#include <inttypes.h>
#include <stdio.h>

int64_t pod_shape_count(const pod_shape *s)
{
    int64_t count = 1;
    for (int i = 0; i < s->n_dims; i++) count *= s->dim[i];
    return count;
}

bool pod_shape_equal(const pod_shape *a, const pod_shape *b)
{
    if (a->n_dims != b->n_dims) return false;
    for (int i = 0; i < a->n_dims; i++)
        if (a->dim[i] != b->dim[i]) return false;
    return true;
}

const char *pod_shape_print(const pod_shape *s, char *text, size_t bytes)
{
    size_t used = (size_t)snprintf(text, bytes, "(");
    for (int i = 0; i < s->n_dims && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%" PRId64, i ? ", " : "", s->dim[i]);
    if (used < bytes) snprintf(text + used, bytes - used, ")");
    return text;
}

pod_type pod_type_of(pod_dtype t, int n_dims, const int64_t dim[])
{
    pod_type type = {.dtype = t, .shape = {.n_dims = n_dims}};
    for (int i = 0; i < n_dims; i++) type.shape.dim[i] = dim[i];
    return type;
}

int pod_mask_size(const pod_mesh *m, uint8_t mask)
{
    int size = 1;
    for (int d = 0; d < m->n_dims; d++)
        if (mask & 1u << d) size *= m->extent[d];
    return size;
}

pod_shape pod_type_local(const pod_type *t, const pod_mesh *m)
{
    pod_shape local = t->shape;
    for (int i = 0; i < local.n_dims; i++) {
        int64_t n = pod_mask_size(m, t->split[i]);
        local.dim[i] = (local.dim[i] + n - 1) / n;
    }
    return local;
}

size_t pod_type_local_bytes(const pod_type *t, const pod_mesh *m)
{
    pod_shape local = pod_type_local(t, m);
    return (size_t)pod_shape_count(&local) * pod_dtype_bytes(t->dtype);
}

uint8_t pod_mask_all(const pod_mesh *m)
{
    unsigned mask = 0;
    for (int d = 0; d < m->n_dims; d++)
        if (m->extent[d] > 1) mask |= 1u << d;
    return (uint8_t)mask;
}

static int64_t within(int64_t x, int64_t most) { return x < 0 ? 0 : x > most ? most : x; }

pod_part pod_type_part(const pod_type *t, int core)
{
    const int64_t count = pod_shape_count(&t->shape);
    if (t->shard.per_core == 0) return (pod_part){0, count};
    const int64_t block = core * t->shard.per_core - t->shard.first;
    const int64_t first = within(block, count);
    return (pod_part){first, within(block + t->shard.per_core, count) - first};
}
