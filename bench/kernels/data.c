#include <float.h>
#include <math.h>
#include <string.h>

#include "bench/kernels/kernels.h"
#include "kernels/base/bf16.h"
#include "kernels/base/rng.h"

/* Numbers repeat after so many; a prime, so that rows of an operand differ. */
enum { N_NUMBERS = 8191, N_SAMPLES = 64 };

pod_status pod_operand_room(pod_race *r, pod_dtype t, int64_t count, pod_operand *out)
{
    const size_t bytes = pod_dtype_bytes(t) * (size_t)count, align = POD_RACE_ALIGN;
    const size_t stride = (bytes + align - 1) / align * align;
    char *data = pod_arena_get_array(r->arena, align, stride, (size_t)r->n_sets);
    if (!data) return POD_E_NOMEM;
    *out = (pod_operand){.dtype = t, .count = count, .stride = stride, .data = data};
    return POD_OK;
}

void *pod_operand_at(const pod_operand *o, int set) { return o->data + (size_t)set * o->stride; }

pod_status pod_operand_random(pod_race *r, pod_dtype t, int64_t count, uint64_t seed,
                              pod_operand *out)
{
    pod_operand o;
    float number[N_NUMBERS];
    POD_TRY(pod_operand_room(r, t, count, &o));
    pod_rng rng = pod_rng_at(seed, (pod_place){.stream = POD_STREAM_TEST});
    for (int i = 0; i < N_NUMBERS; i++)
        number[i] = pod_bf16_to_f32(pod_bf16_from_f32(2 * pod_rng_uniform(&rng) - 1));
    void *first = pod_operand_at(&o, 0);
    for (int64_t i = 0; i < count; i++) {
        if (t == POD_BF16)
            ((pod_bf16 *)first)[i] = pod_bf16_from_f32(number[i % N_NUMBERS]);
        else
            ((float *)first)[i] = number[i % N_NUMBERS];
    }
    for (int s = 1; s < r->n_sets; s++) memcpy(pod_operand_at(&o, s), first, o.stride);
    *out = o;
    return POD_OK;
}

double pod_operand_value(const pod_operand *o, int64_t i)
{
    const void *first = o->data;
    return (double)(o->dtype == POD_BF16 ? pod_bf16_to_f32(((const pod_bf16 *)first)[i])
                                         : ((const float *)first)[i]);
}

void pod_operand_spoil(const pod_operand *o)
{
    memset(o->data, 0xff, pod_dtype_bytes(o->dtype) * (size_t)o->count);
}

bool pod_operand_is_finite(const pod_operand *o)
{
    for (int64_t i = 0; i < o->count; i++)
        if (!isfinite(pod_operand_value(o, i))) return false;
    return true;
}

/* ---- right or wrong -------------------------------------------------------------------------- */

double pod_dot_bound(int64_t n_terms, double sum_abs, double result, pod_dtype t)
{
    const double f32 = ldexp(1, -24), bf16 = ldexp(1, -8);
    const double ku = (double)(n_terms + 1) * f32;
    const double error = ku * sum_abs / (1 - ku);
    if (t != POD_BF16) return error;
    /* What lies below the smallest normal number is flushed to zero. */
    return error + bf16 * (fabs(result) + error) + (double)FLT_MIN;
}

bool pod_sample_at(int i, int n, const int64_t dim[], int64_t at[])
{
    const int n_corners = 1 << n;
    if (i >= n_corners + N_SAMPLES) return false;
    pod_rng rng = pod_rng_at(7, (pod_place){.stream = POD_STREAM_TEST, .sample = (uint64_t)i});
    for (int d = 0; d < n; d++) {
        if (i < n_corners)
            at[d] = (i >> d) & 1 ? dim[d] - 1 : 0;
        else
            at[d] = (int64_t)pod_rng_below(&rng, (uint64_t)dim[d]);
    }
    return true;
}
