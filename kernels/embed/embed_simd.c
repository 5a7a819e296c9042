/* Rows by number in vectors, compiled once for each instruction set. */
#include "kernels/base/assert.h"
#include "kernels/base/element.h"
#include "kernels/base/simd/simd.h"
#include "kernels/embed/embed.h"

/* Whether the id has a row of the table. */
static bool has_row(int32_t id, int64_t v)
{
    POD_ASSERT(id >= POD_NO_TOKEN && id < v, "id %d of %lld", (int)id, (long long)v);
    return id != POD_NO_TOKEN;
}

POD_INLINE void lookup_as(int64_t n, int64_t v, int64_t h, const int32_t *id, const float *table,
                          pod_dtype t, void *y)
{
    const size_t row_bytes = (size_t)h * pod_dtype_bytes(t);
    for (int64_t i = 0; i < n; i++) {
        if (!has_row(id[i], v)) {
            memset((char *)y + (size_t)i * row_bytes, 0, row_bytes);
            continue;
        }
        const float *row = table + id[i] * h;
        POD_VEC_EACH(POD_VEC2_LANES, h, j, lanes, {
            pod_vec2_store_flat(t, y, i * h + j, lanes, pod_vec2_load_flat(POD_F32, row, j, lanes));
        });
    }
}

static void embed_lookup(int64_t n, int64_t v, int64_t h, const int32_t *id, const float *table,
                         pod_dtype t, void *y)
{
    POD_TYPED(t, lookup_as(n, v, h, id, table, T, y));
}

/* sum[0, count) += x[from, from + count) */
POD_INLINE void add_row(int64_t count, pod_dtype t, const void *x, int64_t from, float *sum)
{
    POD_VEC_EACH(POD_VEC2_LANES, count, j, n, {
        const pod_vec2 so_far = pod_vec2_load_flat(POD_F32, sum, j, n);
        const pod_vec2 term = pod_vec2_load_flat(t, x, from + j, n);
        pod_vec2_store_flat(POD_F32, sum, j, n, pod_vec2_add(so_far, term));
    });
}

static void embed_lookup_grad(int64_t n, int64_t v, int64_t h, const int32_t *id, pod_dtype t,
                              const void *dy, const float *more, float *dtable)
{
    const size_t bytes = sizeof *dtable * (size_t)(v * h);
    if (!more)
        memset(dtable, 0, bytes);
    else if (more != dtable)
        memcpy(dtable, more, bytes);
    for (int64_t i = 0; i < n; i++)
        if (has_row(id[i], v)) POD_TYPED(t, add_row(h, T, dy, i * h, dtable + id[i] * h));
}

/* Whether place[p] occurs before p. */
static bool was_seen(const int32_t *place, int64_t p)
{
    for (int64_t q = 0; q < p; q++)
        if (place[q] == place[p]) return true;
    return false;
}

/* The gradient of the place that occurs first at p, a piece of the row at a time. */
POD_INLINE void sum_place(const pod_gather_shape *s, int64_t p, pod_dtype t, const int32_t *place,
                          const void *dy, void *dx)
{
    float sum[POD_TILE_MAX];
    for (int64_t from = 0; from < s->h; from += POD_TILE_MAX) {
        const int64_t width = s->h - from < POD_TILE_MAX ? s->h - from : POD_TILE_MAX;
        memset(sum, 0, sizeof *sum * (size_t)width);
        for (int64_t q = p; q < s->p; q++)
            if (place[q] == place[p]) add_row(width, t, dy, q * s->h + from, sum);
        POD_VEC_EACH(POD_VEC2_LANES, width, j, n, {
            pod_vec2_store_flat(t, dx, place[p] * s->h + from + j, n,
                                pod_vec2_load_flat(POD_F32, sum, j, n));
        });
    }
}

static void embed_gather_grad(const pod_gather_shape *s, pod_dtype t, const int32_t *place,
                              const void *dy, void *dx)
{
    const int64_t element_bytes = (int64_t)pod_dtype_bytes(t);
    memset(dx, 0, (size_t)(s->n * s->s * s->h * element_bytes));
    for (int64_t i = 0; i < s->n; i++) {
        const int32_t *here = place + i * s->p;
        const void *of_y = pod_element_at(t, dy, i * s->p * s->h);
        void *of_x = (char *)dx + i * s->s * s->h * element_bytes;
        for (int64_t p = 0; p < s->p; p++) {
            POD_ASSERT(here[p] >= 0 && here[p] < s->s, "place %d of %lld", (int)here[p],
                       (long long)s->s);
            if (!was_seen(here, p)) POD_TYPED(t, sum_place(s, p, T, here, of_y, of_x));
        }
    }
}

/* A copy, in which vectors gain nothing over memcpy. */
static void embed_gather(const pod_gather_shape *s, pod_dtype t, const int32_t *place,
                         const void *x, void *y)
{
    pod_embed_pick(POD_CPU_REFERENCE_ONLY)->gather(s, t, place, x, y);
}

const pod_embed POD_ISA(pod__embed) = {POD_ISA_SET, embed_lookup, embed_lookup_grad, embed_gather,
                                       embed_gather_grad};
