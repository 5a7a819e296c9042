/* Shared by all sets of kernels/layernorm. */
#ifndef MINIPOD_KERNELS_LAYERNORM_LAYERNORM_RSTD_H
#define MINIPOD_KERNELS_LAYERNORM_LAYERNORM_RSTD_H

#include <math.h>

#include "kernels/layernorm/layernorm.h"

/* Returns rstd from the sum of squared deviations from the mean. */
static inline float pod__layernorm_rstd(double sum_sq, int64_t c, float eps)
{
    return (float)(1 / sqrt(sum_sq / (double)c + (double)eps));
}

#endif
