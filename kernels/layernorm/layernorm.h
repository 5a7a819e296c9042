/* Layer normalization (Ba, Kiros and Hinton, 2016): normalizes each row of (rows, C) by its mean
 * and variance. x, res, y, dy, dx are (rows, C) of type t; mean and rstd (rows), gamma, beta and
 * their gradients (C) are float32.
 *
 *   apply        s = x, or x + res, rounded to t and stored in sum;
 *                mean = sum_c s / C,  rstd = 1 / sqrt(sum_c (s - mean)^2 / C + eps);
 *                y = (s - mean) rstd gamma + beta
 *   grad_x       g = dy gamma,  h = (s - mean) rstd,  a = sum_c g / C,  b = sum_c g h / C;
 *                dx = rstd ((g - a) - h b) [+ more]
 *   grad_params  dgamma[c] = sum_rows dy h,  dbeta[c] = sum_rows dy
 *
 * grad_x and grad_params get s as x, and read x and dy from memory once; apply reads x and res
 * once, because a row stays in the cache while its mean, variance and y are computed. Sums
 * accumulate as in kernels/reduce; only they, and results computed from them, differ between sets,
 * by roundings. A NaN affects its own row of y and dx, and its own column of dgamma and dbeta. */
#ifndef MINIPOD_KERNELS_LAYERNORM_LAYERNORM_H
#define MINIPOD_KERNELS_LAYERNORM_LAYERNORM_H

#include <stdint.h>

#include "kernels/base/bf16.h"
#include "kernels/base/cpu.h"
#include "kernels/base/dtype.h"

typedef struct pod_layernorm {
    const char *name;
    uint32_t needs; /* POD_CPU_ bits */
    /* res and sum are both given or both NULL; sum may equal x or res, y may equal x */
    void (*apply)(int64_t rows, int64_t c, float eps, pod_dtype t, const void *x, const void *res,
                  const float *gamma, const float *beta, void *sum, void *y, float *mean,
                  float *rstd);
    /* more may be NULL; dx may equal x, dy or more */
    void (*grad_x)(int64_t rows, int64_t c, pod_dtype t, const void *x, const void *dy,
                   const float *mean, const float *rstd, const float *gamma, const void *more,
                   void *dx);
    void (*grad_params)(int64_t rows, int64_t c, pod_dtype t, const void *x, const void *dy,
                        const float *mean, const float *rstd, float *dgamma, float *dbeta);
} pod_layernorm;

/* Return all sets (kernels/base/sets.h), best first, the reference last, then NULL; and the first
 * set that a CPU with these features can run. */
const pod_layernorm *const *pod_layernorm_sets(void);
const pod_layernorm *pod_layernorm_pick(uint32_t cpu);

#endif
