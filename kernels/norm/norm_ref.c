/* Batch normalization, plainly: sums in double and rounded once; what is elementwise in float32. */
#include <math.h>
#include <stdbool.h>

#include "kernels/base/element.h"
#include "kernels/base/sets.h"
#include "kernels/norm/norm.h"
#include "kernels/norm/norm_parts.h"

static void norm_sums(int64_t rows, int64_t c, pod_dtype t, const void *x, float *sum,
                      float *sum_sq)
{
    for (int64_t j = 0; j < c; j++) {
        double s = 0, q = 0;
        for (int64_t row = 0; row < rows; row++) {
            const double v = (double)pod_element_get(t, x, row * c + j);
            s += v;
            q += v * v;
        }
        sum[j] = (float)s;
        sum_sq[j] = (float)q;
    }
}

void pod__norm_moments(int64_t c, double count, float eps, const float *sum, const float *sum_sq,
                       float *mean, float *var, float *rstd)
{
    for (int64_t j = 0; j < c; j++) {
        const double m = (double)sum[j] / count;
        const double difference = (double)sum_sq[j] / count - m * m;
        const double v = difference < 0 ? 0 : difference; /* a NaN stays */
        mean[j] = (float)m;
        var[j] = (float)v;
        rstd[j] = (float)(1 / sqrt(v + (double)eps));
    }
}

static void norm_apply(int64_t rows, int64_t c, pod_norm_types t, const void *x, const float *mean,
                       const float *rstd, const float *gamma, const float *beta, void *y)
{
    for (int64_t i = 0; i < rows * c; i++) {
        const int64_t j = i % c;
        const float centred = pod_element_get(t.x, x, i) - mean[j];
        pod_element_put(t.out, y, i, centred * (rstd[j] * gamma[j]) + beta[j]);
    }
}

static void norm_grad_sums(int64_t rows, int64_t c, pod_norm_types t, const void *x, const void *dy,
                           const float *mean, const float *rstd, float *dgamma, float *dbeta)
{
    for (int64_t j = 0; j < c; j++) {
        double by_x = 0, alone = 0;
        for (int64_t row = 0; row < rows; row++) {
            const double g = (double)pod_element_get(t.beside, dy, row * c + j);
            by_x += g * ((double)pod_element_get(t.x, x, row * c + j) - (double)mean[j]);
            alone += g;
        }
        dgamma[j] = (float)(by_x * (double)rstd[j]);
        dbeta[j] = (float)alone;
    }
}

static void norm_grad_apply(int64_t rows, int64_t c, double count, pod_norm_types t, const void *x,
                            const void *dy, const float *mean, const float *rstd,
                            const float *gamma, const float *dgamma, const float *dbeta, void *dx)
{
    for (int64_t i = 0; i < rows * c; i++) {
        const int64_t j = i % c;
        const pod__norm_slope k =
            pod__norm_slope_of(count, mean[j], rstd[j], gamma[j], dgamma[j], dbeta[j]);
        const float along_dy = fmaf(pod_element_get(t.beside, dy, i), k.scale, k.offset);
        pod_element_put(t.out, dx, i, fmaf(pod_element_get(t.x, x, i), k.along, along_dy));
    }
}

void pod__norm_fold(int64_t c, const float *mean, const float *rstd, const float *gamma,
                    const float *beta, float *scale, float *shift)
{
    for (int64_t j = 0; j < c; j++) {
        scale[j] = rstd[j] * gamma[j];
        shift[j] = (float)((double)beta[j] - (double)mean[j] * (double)scale[j]);
    }
}

static float activated(pod_norm_act act, float v)
{
    if (act == POD_NORM_SWISH) return (float)((double)v / (1 + exp(-(double)v)));
    return act == POD_NORM_RELU && v <= 0.0f ? 0.0f : v;
}

static void norm_apply_act(int64_t rows, int64_t c, pod_norm_types t, const void *x,
                           const float *scale, const float *shift, const void *res,
                           const float *res_scale, const float *res_shift, pod_norm_act act,
                           void *y)
{
    for (int64_t i = 0; i < rows * c; i++) {
        const int64_t j = i % c;
        float v = pod_element_get(t.x, x, i) * scale[j] + shift[j];
        if (res) {
            float r = pod_element_get(t.beside, res, i);
            if (res_scale) r = r * res_scale[j] + res_shift[j];
            v += r;
        }
        pod_element_put(t.out, y, i, activated(act, v));
    }
}

/* Whether the activation let element i, of column j, through. */
static bool passes(pod_norm_types t, const void *x, const void *z, const float *scale,
                   const float *shift, int64_t i, int64_t j)
{
    if (z) return pod_element_get(t.out, z, i) > 0.0f;
    return pod_element_get(t.x, x, i) * scale[j] + shift[j] > 0.0f;
}

/* v as it would be stored. */
static float stored(pod_dtype t, float v)
{
    return t == POD_BF16 ? pod_bf16_to_f32(pod_bf16_from_f32(v)) : v;
}

/* dz, or dz + more as it would be stored, of element i. */
static float gradient(pod_norm_types t, const void *dz, const void *more, int64_t i)
{
    const float own = pod_element_get(t.beside, dz, i);
    return more ? stored(t.out, own + pod_element_get(t.x, more, i)) : own;
}

/* dz times the slope of swish, of element i in column j, as it would be stored. */
static float slanted(pod_norm_types t, const void *x, const void *dz, const float *scale,
                     const float *shift, int64_t i, int64_t j)
{
    const double v = (double)(pod_element_get(t.x, x, i) * scale[j] + shift[j]);
    const double s = 1 / (1 + exp(-v));
    return stored(t.out, (float)((double)pod_element_get(t.beside, dz, i) * s * (1 + v * (1 - s))));
}

static void norm_grad_sums_act(int64_t rows, int64_t c, pod_norm_types t, const void *x,
                               const void *dz, const void *more, const void *z, const float *scale,
                               const float *shift, const float *mean, const float *rstd,
                               pod_norm_act act, void *g_out, float *dgamma, float *dbeta)
{
    for (int64_t j = 0; j < c; j++) {
        double by_x = 0, alone = 0;
        for (int64_t i = j; i < rows * c; i += c) {
            const bool open = act == POD_NORM_RELU && passes(t, x, z, scale, shift, i, j);
            float g = open ? gradient(t, dz, more, i) : 0.0f;
            if (act == POD_NORM_SWISH) g = slanted(t, x, dz, scale, shift, i, j);
            by_x += (double)g * ((double)pod_element_get(t.x, x, i) - (double)mean[j]);
            alone += (double)g;
            if (g_out && t.out == POD_BF16 && open && !more)
                ((pod_bf16 *)g_out)[i] = ((const pod_bf16 *)dz)[i];
            else if (g_out)
                pod_element_put(t.out, g_out, i, g);
        }
        dgamma[j] = (float)(by_x * (double)rstd[j]);
        dbeta[j] = (float)alone;
    }
}

static void norm_grad_apply_act(int64_t rows, int64_t c, double count, pod_norm_types t,
                                const void *x, const void *dz, const float *scale,
                                const float *shift, const float *mean, const float *rstd,
                                const float *gamma, const float *dgamma, const float *dbeta,
                                void *dx)
{
    for (int64_t i = 0; i < rows * c; i++) {
        const int64_t j = i % c;
        const pod__norm_slope k =
            pod__norm_slope_of(count, mean[j], rstd[j], gamma[j], dgamma[j], dbeta[j]);
        const float g =
            passes(t, x, NULL, scale, shift, i, j) ? pod_element_get(t.beside, dz, i) : 0.0f;
        const float along_g = fmaf(g, k.scale, k.offset);
        pod_element_put(t.out, dx, i, fmaf(pod_element_get(t.x, x, i), k.along, along_g));
    }
}

const pod_norm pod__norm_ref = {"ref",
                                0,
                                norm_sums,
                                pod__norm_moments,
                                norm_apply,
                                norm_grad_sums,
                                norm_grad_apply,
                                pod__norm_fold,
                                norm_apply_act,
                                norm_grad_sums_act,
                                norm_grad_apply_act};

POD_SETS_BF16(norm)
