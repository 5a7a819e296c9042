/* The functions of every set in layernorm.def. For kernels/layernorm only. */
#ifndef MINIPOD_KERNELS_LAYERNORM_SETS_H
#define MINIPOD_KERNELS_LAYERNORM_SETS_H

#include <math.h>

#include "kernels/layernorm/layernorm.h"

#define POD_LAYERNORM(name, needs, isa)                                                         \
    void pod__layernorm_apply_##isa(                                                            \
        int64_t rows, int64_t c, float eps, pod_dtype t, const void *x, const void *res,        \
        const float *gamma, const float *beta, void *sum, void *y, float *mean, float *rstd);   \
    void pod__layernorm_grad_x_##isa(int64_t rows, int64_t c, pod_dtype t, const void *x,       \
                                     const void *dy, const float *mean, const float *rstd,      \
                                     const float *gamma, const void *more, void *dx);           \
    void pod__layernorm_grad_params_##isa(int64_t rows, int64_t c, pod_dtype t, const void *x,  \
                                          const void *dy, const float *mean, const float *rstd, \
                                          float *dgamma, float *dbeta);
#include "kernels/layernorm/layernorm.def"
#undef POD_LAYERNORM

/* rstd of the sum of squares about the mean. */
static inline float pod__layernorm_rstd(double sum_sq, int64_t c, float eps)
{
    return (float)(1 / sqrt(sum_sq / (double)c + (double)eps));
}

#endif
