/* Rows by number, plainly: what kernels/embed/embed.h says. */
#include <string.h>

#include "kernels/base/assert.h"
#include "kernels/base/element.h"
#include "kernels/base/sets.h"
#include "kernels/embed/embed.h"

static void embed_lookup(int64_t n, int64_t h, const int32_t *id, const float *table, pod_dtype t,
                         void *y)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < h; j++) pod_element_put(t, y, i * h + j, table[id[i] * h + j]);
}

static void embed_lookup_grad(int64_t n, int64_t v, int64_t h, const int32_t *id, pod_dtype t,
                              const void *dy, const float *more, float *dtable)
{
    for (int64_t k = 0; k < v * h; k++) dtable[k] = more ? more[k] : 0;
    for (int64_t i = 0; i < n; i++) {
        POD_DCHECK(id[i] >= 0 && id[i] < v, "id %d of %lld", (int)id[i], (long long)v);
        for (int64_t j = 0; j < h; j++) dtable[id[i] * h + j] += pod_element_get(t, dy, i * h + j);
    }
}

static void embed_gather(const pod_gather_shape *s, pod_dtype t, const int32_t *place,
                         const void *x, void *y)
{
    const size_t row_bytes = (size_t)s->h * pod_dtype_bytes(t);
    for (int64_t i = 0; i < s->n * s->p; i++) {
        POD_DCHECK(place[i] >= 0 && place[i] < s->s, "place %d of %lld", (int)place[i],
                   (long long)s->s);
        const int64_t row = i / s->p * s->s + place[i];
        memcpy((char *)y + (size_t)i * row_bytes, (const char *)x + (size_t)row * row_bytes,
               row_bytes);
    }
}

static void embed_gather_grad(const pod_gather_shape *s, pod_dtype t, const int32_t *place,
                              const void *dy, void *dx)
{
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

pod_status pod_embed_check(const char *what, int64_t count, const int32_t *number, int64_t n_rows)
{
    for (int64_t i = 0; i < count; i++)
        if (number[i] < 0 || number[i] >= n_rows)
            return pod_fail(POD_E_FORMAT, "%s: number %lld of %lld is %d, need 0 to %lld", what,
                            (long long)i, (long long)count, (int)number[i], (long long)n_rows - 1);
    return POD_OK;
}
