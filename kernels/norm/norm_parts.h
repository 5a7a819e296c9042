/* Shared by all sets of kernels/norm. */
#ifndef MINIPOD_KERNELS_NORM_NORM_PARTS_H
#define MINIPOD_KERNELS_NORM_NORM_PARTS_H

#include "kernels/norm/norm.h"

/* One function for all sets, because C elements are too few for vectors to gain. */
void pod__norm_moments(int64_t c, double count, float eps, const float *sum, const float *sum_sq,
                       float *mean, float *var, float *rstd);
void pod__norm_fold(int64_t c, const float *mean, const float *rstd, const float *gamma,
                    const float *beta, float *scale, float *shift);

/* The coefficients of one column in dx = x along + (dy scale + offset), computed here so that every
 * set has the same bits. */
typedef struct pod__norm_slope {
    float along, scale, offset;
} pod__norm_slope;

static inline pod__norm_slope pod__norm_slope_of(double count, float mean, float rstd, float gamma,
                                                 float dgamma, float dbeta)
{
    const float scale = gamma * rstd;
    const double slope = (double)rstd * (double)dgamma / count;
    const double offset = (double)mean * slope - (double)dbeta / count;
    return (pod__norm_slope){(float)((double)scale * -slope), scale,
                             (float)((double)scale * offset)};
}

#endif
