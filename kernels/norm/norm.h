/* Batch normalization (Ioffe and Szegedy, 2015), its statistics apart from its application, so that
 * a group of cores can share them by summing. x, y, dy, dx are (rows, C) of type t; all else is
 * float32.
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
 *                   act is max(., 0) (a NaN stays) or nothing
 *   grad_sums_act   g = dz where the activation let x through, else 0; dbeta = sum_rows g,
 *                   dgamma = sum_rows g (x - mean) rstd. It was let through where z > 0, or without
 *                   a z where x scale + shift > 0. g_out keeps g, with the bits of dz (it may be
 *                   dz; NULL: nowhere). With a z and a g_out, dz may come in two parts: dz + more,
 *                   rounded to t
 *   grad_apply_act  grad_apply of the same g, of a z that is not given
 *
 * `count` is the group's rows. Sums are kept as in kernels/reduce: the cancellation in var costs
 * about 2^-22 (mean/std)^2 relative, negligible for activations, and that of offset with x along in
 * grad_apply about 2^-24 mean/std of the term. grad_apply with count infinite
 * gives the gradient for fixed statistics. y and dx may be in place of x, dy and dz.
 * The same set gives the same sums each time, wherever the data lies, and grad_sums_act those of
 * grad_sums of g. Of the rest, g_out among it, every set gives the same bits; in apply_act and in
 * what lets a gradient through, each product and each sum is rounded, in the order written. */
#ifndef MINIPOD_KERNELS_NORM_NORM_H
#define MINIPOD_KERNELS_NORM_NORM_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/bf16.h"
#include "kernels/base/cpu.h"
#include "kernels/base/dtype.h"

typedef struct pod_norm {
    const char *name;
    uint32_t needs; /* POD_CPU_ bits */
    void (*sums)(int64_t rows, int64_t c, pod_dtype t, const void *x, float *sum, float *sum_sq);
    void (*moments)(int64_t c, double count, float eps, const float *sum, const float *sum_sq,
                    float *mean, float *var, float *rstd);
    void (*apply)(int64_t rows, int64_t c, pod_dtype t, const void *x, const float *mean,
                  const float *rstd, const float *gamma, const float *beta, void *y);
    void (*grad_sums)(int64_t rows, int64_t c, pod_dtype t, const void *x, const void *dy,
                      const float *mean, const float *rstd, float *dgamma, float *dbeta);
    void (*grad_apply)(int64_t rows, int64_t c, double count, pod_dtype t, const void *x,
                       const void *dy, const float *mean, const float *rstd, const float *gamma,
                       const float *dgamma, const float *dbeta, void *dx);
    void (*fold)(int64_t c, const float *mean, const float *rstd, const float *gamma,
                 const float *beta, float *scale, float *shift);
    /* res, or res_scale and res_shift, may be NULL; y may be x or res. */
    void (*apply_act)(int64_t rows, int64_t c, pod_dtype t, const void *x, const float *scale,
                      const float *shift, const void *res, const float *res_scale,
                      const float *res_shift, bool relu, void *y);
    /* more may be NULL; g_out may be dz or more. */
    void (*grad_sums_act)(int64_t rows, int64_t c, pod_dtype t, const void *x, const void *dz,
                          const void *more, const void *z, const float *scale, const float *shift,
                          const float *mean, const float *rstd, void *g_out, float *dgamma,
                          float *dbeta);
    void (*grad_apply_act)(int64_t rows, int64_t c, double count, pod_dtype t, const void *x,
                           const void *dz, const float *scale, const float *shift,
                           const float *mean, const float *rstd, const float *gamma,
                           const float *dgamma, const float *dbeta, void *dx);
} pod_norm;

const pod_norm *pod_norm_sets(int *n); /* best first; the last one is the reference */
const pod_norm *pod_norm_pick(uint32_t cpu);

#endif
