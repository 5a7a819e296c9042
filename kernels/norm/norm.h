/* Batch normalization (Ioffe and Szegedy, 2015). Computing the statistics and applying them are
 * separate functions, so that a group of cores can share statistics by an all-reduce. x, y, dy, dx
 * are (rows, C) of the types t; everything else is float32.
 *
 *   sums       sum[c] = sum_rows x,  sum_sq[c] = sum_rows x^2
 *              (all-reduce of both over the group)
 *   moments    mean = sum/count, var = max(sum_sq/count - mean^2, 0), rstd = 1/sqrt(var + eps)
 *   apply      y = (x - mean) rstd gamma + beta
 *   grad_sums  dbeta[c] = sum_rows dy,  dgamma[c] = sum_rows dy (x - mean) rstd
 *              (all-reduce of both over the group)
 *   grad_apply dx = gamma rstd (dy - dbeta/count - (x - mean) rstd dgamma/count), computed as
 *              x along + (dy scale + offset), two fused multiply-adds, with the coefficients along,
 *              scale and offset of each column
 *
 * Functions that fuse a normalization with the operations after it:
 *
 *   fold            scale = rstd gamma,  shift = beta - mean scale
 *   apply_act       y = act(x scale + shift + r),  r = 0, res, or res res_scale + res_shift;
 *                   act is none, ReLU: max(., 0) (a NaN stays), or, only with r = 0, swish:
 *                   v sigmoid(v)
 *   grad_sums_act   dbeta = sum_rows g,  dgamma = sum_rows g (x - mean) rstd; stores g to g_out,
 *                   which may be dz or NULL.
 *                   ReLU: g = dz, with its bits, where the input was positive, else 0. It was
 *                   positive where z > 0 or, if z is NULL, where x scale + shift > 0. With z and
 *                   g_out, the gradient may be a sum: dz + more, rounded to the type of g_out.
 *                   Swish: g = dz s (1 + v (1 - s)), s = sigmoid(v), v = x scale + shift, rounded
 *                   to the type of g_out, which must be given; z and more are NULL
 *   grad_apply_act  grad_apply with the g of ReLU without z
 *
 * `count` is the number of rows of the group. Sums accumulate as in kernels/reduce. The
 * cancellation in var has a relative error of about 2^-22 (mean/std)^2, negligible for activations.
 * In grad_apply the cancellation between offset and x along has a relative error of about 2^-24
 * mean/std. grad_apply with infinite count gives the gradient for constant statistics. y and dx may
 * be the memory of x, dy or dz of the same type. The same set gives the same sums each time, at any
 * address and for any storage type; grad_sums_act gives the sums that grad_sums gives for g. All
 * other results, g_out included, have the same bits in every set: in apply_act, and in the test x
 * scale + shift > 0, each product and each sum is rounded, in the order written. The exception is
 * the sigmoid of swish, which is that of kernels/gate. */
#ifndef MINIPOD_KERNELS_NORM_NORM_H
#define MINIPOD_KERNELS_NORM_NORM_H

#include <stdint.h>

#include "kernels/base/bf16.h"
#include "kernels/base/cpu.h"
#include "kernels/base/dtype.h"

typedef enum pod_norm_act { POD_NORM_NO_ACT, POD_NORM_RELU, POD_NORM_SWISH } pod_norm_act;

/* The types of tensors: `x` is that of x and more, `beside` that of dy, dz and res, `out` that of
 * y, dx, g_out, and z (an earlier y). If x is bf16, the others may be float32 or bf16, but g_out is
 * not bf16 if dz is float32. If x is float32, so are the others. */
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
    /* res, or res_scale and res_shift, may be NULL; y may equal x or res. */
    void (*apply_act)(int64_t rows, int64_t c, pod_norm_types t, const void *x, const float *scale,
                      const float *shift, const void *res, const float *res_scale,
                      const float *res_shift, pod_norm_act act, void *y);
    /* more may be NULL; g_out may equal dz or more; act is ReLU or swish. */
    void (*grad_sums_act)(int64_t rows, int64_t c, pod_norm_types t, const void *x, const void *dz,
                          const void *more, const void *z, const float *scale, const float *shift,
                          const float *mean, const float *rstd, pod_norm_act act, void *g_out,
                          float *dgamma, float *dbeta);
    void (*grad_apply_act)(int64_t rows, int64_t c, double count, pod_norm_types t, const void *x,
                           const void *dz, const float *scale, const float *shift,
                           const float *mean, const float *rstd, const float *gamma,
                           const float *dgamma, const float *dbeta, void *dx);
} pod_norm;

/* Return all sets (kernels/base/sets.h), best first, the reference last, then NULL; and the first
 * set that a CPU with these features can run. */
const pod_norm *const *pod_norm_sets(void);
const pod_norm *pod_norm_pick(uint32_t cpu);

#endif
