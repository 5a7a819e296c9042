/* Rows by number, plainly: what kernels/embed/embed.h says. */
#include <string.h>

#include "kernels/base/assert.h"
#include "kernels/base/element.h"
#include "kernels/base/sets.h"
#include "kernels/embed/embed.h"

static void check_id(int32_t id, int64_t v)
{
    POD_ASSERT(id >= POD_NO_TOKEN && id < v, "id %d of %lld", (int)id, (long long)v);
}

static void embed_lookup(int64_t n, int64_t v, int64_t h, const int32_t *id, const float *table,
                         pod_dtype t, void *y)
{
    for (int64_t i = 0; i < n; i++) {
        check_id(id[i], v);
        for (int64_t j = 0; j < h; j++)
            pod_element_put(t, y, i * h + j, id[i] == POD_NO_TOKEN ? 0 : table[id[i] * h + j]);
    }
}

static void embed_lookup_grad(int64_t n, int64_t v, int64_t h, const int32_t *id, pod_dtype t,
                              const void *dy, const float *more, float *dtable)
{
    for (int64_t k = 0; k < v * h; k++) dtable[k] = more ? more[k] : 0;
    for (int64_t i = 0; i < n; i++) {
        check_id(id[i], v);
        for (int64_t j = 0; j < h && id[i] != POD_NO_TOKEN; j++)
            dtable[id[i] * h + j] += pod_element_get(t, dy, i * h + j);
    }
}

static void check_place(const pod_gather_shape *s, int32_t place)
{
    POD_ASSERT(place >= 0 && place < s->s, "place %d of %lld", (int)place, (long long)s->s);
}

static void embed_gather(const pod_gather_shape *s, pod_dtype t, const int32_t *place,
                         const void *x, void *y)
{
    const size_t row_bytes = (size_t)s->h * pod_dtype_bytes(t);
    for (int64_t i = 0; i < s->n * s->p; i++) {
        check_place(s, place[i]);
        const int64_t row = i / s->p * s->s + place[i];
        memcpy((char *)y + (size_t)i * row_bytes, (const char *)x + (size_t)row * row_bytes,
               row_bytes);
    }
}

static void embed_gather_grad(const pod_gather_shape *s, pod_dtype t, const int32_t *place,
                              const void *dy, void *dx)
{
    for (int64_t i = 0; i < s->n * s->p; i++) check_place(s, place[i]);
    for (int64_t i = 0; i < s->n * s->s; i++)
        for (int64_t j = 0; j < s->h; j++) {
            const int64_t first = i / s->s * s->p; /* of the sequence's places */
            float sum = 0;
            for (int64_t p = first; p < first + s->p; p++)
                if (place[p] == i % s->s) sum += pod_element_get(t, dy, p * s->h + j);
            pod_element_put(t, dx, i * s->h + j, sum);
        }
}

const pod_embed pod__embed_ref = {
    "ref", 0, embed_lookup, embed_lookup_grad, embed_gather, embed_gather_grad};

POD_SETS_BF16(embed)
