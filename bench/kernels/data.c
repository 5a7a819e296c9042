#include <float.h>
#include <math.h>
#include <string.h>

#include "bench/kernels/kernels.h"
#include "kernels/base/bf16.h"
#include "kernels/base/element.h"
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
    for (int64_t i = 0; i < count; i++) pod_element_put(t, first, i, number[i % N_NUMBERS]);
    for (int s = 1; s < r->n_sets; s++) memcpy(pod_operand_at(&o, s), first, o.stride);
    *out = o;
    return POD_OK;
}

double pod_operand_value(const pod_operand *o, int64_t i)
{
    return (double)pod_element_get(o->dtype, o->data, i);
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

void pod_dot_add(pod_dot *d, double a, double b)
{
    d->value += a * b;
    d->abs += fabs(a * b);
    d->n_terms++;
}

/* What it may be off, when each operation is rounded to float32 and the result to `t` (Higham 2002,
 * section 3.1). */
static double bound_of(const pod_dot *d, pod_dtype t)
{
    const double f32 = ldexp(1, -24), bf16 = ldexp(1, -8);
    const double ku = (double)(d->n_terms + 1) * f32;
    const double error = ku * d->abs / (1 - ku), slack = 1.01 * d->slack;
    if (t != POD_BF16) return error + slack;
    /* What lies below the smallest normal number is flushed to zero. */
    return error + bf16 * (fabs(d->value) + error) + (double)FLT_MIN + slack;
}

double pod_err_of(double got, double want, double bound)
{
    return got == want ? 0 : fabs(got - want) / bound;
}

double pod_race_err(const pod_race *r, const pod_operand *out, int n, const int64_t dim[],
                    pod_element_fn *element)
{
    int64_t at[POD_MAX_OUTPUT_DIMS];
    double worst = 0;
    for (int i = 0; pod_sample_at(i, n, dim, at); i++) {
        const pod_dot want = element(r, at);
        int64_t index = 0;
        for (int d = 0; d < n; d++) index = index * dim[d] + at[d];
        const double got = pod_operand_value(out, index);
        worst = fmax(worst, pod_err_of(got, want.value, bound_of(&want, out->dtype)));
    }
    return worst;
}
