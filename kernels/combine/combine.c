#include "kernels/combine/combine.h"

#include <stdbool.h>

#include "kernels/base/assert.h"

enum { PART_BYTES = 4096 };

const char *pod_redop_name(pod_redop op)
{
    static const char *const names[POD_N_OPS] = {"sum", "prod", "max", "min", "avg"};
    return names[op];
}

const char *pod_redop_why_not(pod_redop op, pod_dtype t)
{
    return t == POD_BINNED && op != POD_SUM ? "exact elements have sums alone" : NULL;
}

/* ---- by any operation ----------------------------------------------------------------------- */

static bool is_short(pod_dtype t) { return t == POD_BF16 || t == POD_F16; }

/* What has a kernel of its own. */
static bool is_added(pod_redop op, pod_dtype t)
{
    return (op == POD_SUM || op == POD_AVG) && (t == POD_F32 || t == POD_BF16 || t == POD_BINNED);
}

static const char *at(const void *data, pod_dtype t, int64_t i)
{
    return (const char *)data + i * (int64_t)pod_dtype_bytes(t);
}

static int64_t part_of(int64_t count, int64_t i, pod_dtype t)
{
    const int64_t n = PART_BYTES / (int64_t)pod_dtype_bytes(t);
    return count - i < n ? count - i : n;
}

/* Combines n elements of type t from `from` with those in `into`. */
static void widen_and_fold(const pod_combine *k, pod_redop op, int64_t n, pod_dtype t,
                           const void *from, float *into)
{
    float wide[PART_BYTES / sizeof(float)];
    k->convert(n, t, from, POD_F32, wide);
    k->fold(n, op, POD_F32, wide, into, into);
}

void pod_combine_two(const pod_combine *k, pod_redop op, int64_t count, pod_dtype t,
                     const void *from, pod_dtype t_out, const void *own, void *out)
{
    POD_DCHECK(!pod_redop_why_not(op, t), "%s of %s", pod_redop_name(op), pod_dtype_name(t));
    if (is_added(op, t)) {
        k->add(count, t, from, t_out, own, out);
        return;
    }
    if (!is_short(t)) {
        k->fold(count, op, t, from, own, out);
        return;
    }
    for (int64_t i = 0, n; i < count; i += n) {
        float sum[PART_BYTES / sizeof(float)];
        n = part_of(count, i, POD_F32);
        k->convert(n, t_out, at(own, t_out, i), POD_F32, sum);
        widen_and_fold(k, op, n, t, at(from, t, i), sum);
        k->convert(n, POD_F32, sum, t_out, (char *)out + (at(own, t_out, i) - (const char *)own));
    }
}

/* One part of what lies in all inputs, in L1; stored when all of it is there. */
static void combine_part(const pod_combine *k, pod_redop op, int64_t i, int64_t n, pod_dtype t,
                         int n_in, const void *const in[], int n_out, void *const out[])
{
    _Alignas(64) char sum[PART_BYTES];
    const pod_dtype t_sum = is_short(t) ? POD_F32 : t;
    k->convert(n, t, at(in[0], t, i), t_sum, sum);
    for (int j = 1; j < n_in; j++) {
        if (t_sum != t)
            widen_and_fold(k, op, n, t, at(in[j], t, i), (float *)(void *)sum);
        else
            k->fold(n, op, t, at(in[j], t, i), sum, sum);
    }
    for (int j = 0; j < n_out; j++)
        k->convert(n, t_sum, sum, t, (char *)out[j] + i * (int64_t)pod_dtype_bytes(t));
}

void pod_combine_all(const pod_combine *k, pod_redop op, int64_t count, pod_dtype t, int n_in,
                     const void *const in[], int n_out, void *const out[])
{
    POD_DCHECK(!pod_redop_why_not(op, t), "%s of %s", pod_redop_name(op), pod_dtype_name(t));
    if (is_added(op, t)) {
        k->add_all(count, t, n_in, in, n_out, out);
        return;
    }
    for (int64_t i = 0, n; i < count; i += n) {
        n = part_of(count, i, is_short(t) ? POD_F32 : t);
        combine_part(k, op, i, n, t, n_in, in, n_out, out);
    }
}

#define DIVIDE(type) \
    for (int64_t i = 0; i < count; i++) ((type *)data)[i] = (type)(((type *)data)[i] / (type)n)

static void divide_integers(int64_t count, pod_dtype t, int n, void *data)
{
    switch (t) {
    case POD_I8:
        for (int64_t i = 0; i < count; i++) ((int8_t *)data)[i] = (int8_t)(((int8_t *)data)[i] / n);
        break;
    case POD_U8:
        for (int64_t i = 0; i < count; i++)
            ((uint8_t *)data)[i] = (uint8_t)(((uint8_t *)data)[i] / n);
        break;
    case POD_I32: DIVIDE(int32_t); break;
    case POD_U32: DIVIDE(uint32_t); break;
    case POD_I64: DIVIDE(int64_t); break;
    case POD_U64: DIVIDE(uint64_t); break;
    default: POD_ASSERT(false, "an average of %s", pod_dtype_name(t));
    }
}

void pod_combine_divide(const pod_combine *k, int64_t count, pod_dtype t, int n, void *data)
{
    if (t == POD_F64) {
        DIVIDE(double);
    } else if (t == POD_F32) {
        DIVIDE(float);
    } else if (is_short(t)) {
        for (int64_t i = 0, m; i < count; i += m) {
            float wide[PART_BYTES / sizeof(float)];
            void *part = (char *)data + i * (int64_t)pod_dtype_bytes(t);
            m = part_of(count, i, POD_F32);
            k->convert(m, t, part, POD_F32, wide);
            for (int64_t j = 0; j < m; j++) wide[j] /= (float)n;
            k->convert(m, POD_F32, wide, t, part);
        }
    } else {
        divide_integers(count, t, n, data);
    }
}
