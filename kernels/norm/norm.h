/* Batch normalization (Ioffe and Szegedy, 2015), its statistics apart from its application, so that
 * a group of cores can share them by summing. x, y, dy, dx are (rows, C) of the types t; all else
 * is float32.
 *
 *   sums       sum[c] = sum_rows x,  sum_sq[c] = sum_rows x^2
 *              (all-reduce of both over the group)
 *   moments    mean = sum/count, var = max(sum_sq/count - mean^2, 0), rstd = 1/sqrt(var + eps)
 *   apply      y = (x - mean) rstd gamma + beta
 *   grad_sums  dbeta[c] = sum_rows dy,  dgamma[c] = sum_rows dy (x - mean) rstd
 *              (all-reduce of both over the group)
 *   grad_apply dx = gamma rstd (dy - dbeta/count - (x - mean) rstd dgamma/count), worked out as
 *              x along + (dy scale + offset), both fused, with three coefficients a column
 *
 * and with what stands behind a normalization in a network done in the same pass:
 *
 *   fold            scale = rstd gamma,  shift = beta - mean scale
 *   apply_act       y = act(x scale + shift + r),  r = 0, res, or res res_scale + res_shift;
 *                   act is nothing, ReLU: max(., 0) (a NaN stays), or with r = 0 swish:
 *                   v sigmoid(v)
 *   grad_sums_act   dbeta = sum_rows g,  dgamma = sum_rows g (x - mean) rstd, and g in g_out (it may
 *                   be dz; NULL: nowhere). Of ReLU g is dz where it was let through, with its bits,
 *                   and else 0. It was let through where z > 0, or without a z where
 *                   x scale + shift > 0. With a z and a g_out, dz may come in two parts: dz + more,
 *                   rounded to what g_out is. Of swish g is dz times the slope at
 *                   v = x scale + shift, rounded so: dz s (1 + v (1 - s)), s = sigmoid(v); there
 *                   is a g_out, neither z nor more
 *   grad_apply_act  grad_apply of the same g, of ReLU and of a z that is not given
 *
 * `count` is the group's rows. Sums are kept as in kernels/reduce: the cancellation in var costs
 * about 2^-22 (mean/std)^2 relative, negligible for activations, and that of offset with x along in
 * grad_apply about 2^-24 mean/std of the term. grad_apply with count infinite
 * gives the gradient for fixed statistics. y and dx may be in place of x, dy and dz of their type.
 * The same set gives the same sums each time, wherever the data lies and whatever it is stored as,
 * and grad_sums_act those of grad_sums of g. Of the rest, with g_out, every set gives equal bits:
 * in apply_act and in the gates each product and each sum is rounded, in the order written. Not so
 * the sigmoid of swish, which is as in kernels/gate. */
#ifndef MINIPOD_KERNELS_NORM_NORM_H
#define MINIPOD_KERNELS_NORM_NORM_H

#include <stdint.h>

#include "kernels/base/bf16.h"
#include "kernels/base/cpu.h"
#include "kernels/base/dtype.h"

typedef enum pod_norm_act { POD_NORM_NO_ACT, POD_NORM_RELU, POD_NORM_SWISH } pod_norm_act;

/* What is stored as float32 and what as bf16: x and more; what stands beside x: dy, dz, res; and
 * what comes out: y, dx, g_out, and a z, which came out before. Where x is bf16 each may be either,
 * but g_out is not bf16 of a float32 dz; where it is float32 all are. */
typedef struct pod_norm_types {
    pod_dtype x, beside, out;
} pod_norm_types;

static inline pod_norm_types pod_norm_all(pod_dtype t) { return (pod_norm_types){t, t, t}; }

typedef struct pod_norm {
    const char *name;
    uint32_t needs; /* POD_CPU_ bits */
    void (*sums)(int64_t rows, int64_t c, pod_dtype t, const void *x, float *sum, float *sum_sq);
    void (*moments)(int64_t c, double count, float eps, const float *sum, const float *sum_sq,
                    float *mean, float *var, float *rstd);
    void (*apply)(int64_t rows, int64_t c, pod_norm_types t, const void *x, const float *mean,
                  const float *rstd, const float *gamma, const float *beta, void *y);
    void (*grad_sums)(int64_t rows, int64_t c, pod_norm_types t, const void *x, const void *dy,
                      const float *mean, const float *rstd, float *dgamma, float *dbeta);
    void (*grad_apply)(int64_t rows, int64_t c, double count, pod_norm_types t, const void *x,
                       const void *dy, const float *mean, const float *rstd, const float *gamma,
                       const float *dgamma, const float *dbeta, void *dx);
    void (*fold)(int64_t c, const float *mean, const float *rstd, const float *gamma,
                 const float *beta, float *scale, float *shift);
    /* res, or res_scale and res_shift, may be NULL; y may be x or res. */
    void (*apply_act)(int64_t rows, int64_t c, pod_norm_types t, const void *x, const float *scale,
                      const float *shift, const void *res, const float *res_scale,
                      const float *res_shift, pod_norm_act act, void *y);
    /* more may be NULL; g_out may be dz or more; act is ReLU or swish. */
    void (*grad_sums_act)(int64_t rows, int64_t c, pod_norm_types t, const void *x, const void *dz,
                          const void *more, const void *z, const float *scale, const float *shift,
                          const float *mean, const float *rstd, pod_norm_act act, void *g_out,
                          float *dgamma, float *dbeta);
    void (*grad_apply_act)(int64_t rows, int64_t c, double count, pod_norm_types t, const void *x,
                           const void *dz, const float *scale, const float *shift,
                           const float *mean, const float *rstd, const float *gamma,
                           const float *dgamma, const float *dbeta, void *dx);
} pod_norm;

/* All sets, best first, the reference last, then NULL; and the first that a CPU can run. */
const pod_norm *const *pod_norm_sets(void);
const pod_norm *pod_norm_pick(uint32_t cpu);

#endif
