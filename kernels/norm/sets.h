/* The functions of every set in norm.def. For kernels/norm only. */
#ifndef MINIPOD_KERNELS_NORM_SETS_H
#define MINIPOD_KERNELS_NORM_SETS_H

#include "kernels/norm/norm.h"

/* One for all sets: C elements are too few to gain anything. */
void pod__norm_moments(int64_t c, double count, float eps, const float *sum, const float *sum_sq,
                       float *mean, float *var, float *rstd);
void pod__norm_fold(int64_t c, const float *mean, const float *rstd, const float *gamma,
                    const float *beta, float *scale, float *shift);

#define POD_NORM(name, needs, isa)                                                                \
    void pod__norm_sums_##isa(int64_t rows, int64_t c, pod_dtype t, const void *x, float *sum,    \
                              float *sum_sq);                                                     \
    void pod__norm_apply_##isa(int64_t rows, int64_t c, pod_norm_types t, const void *x,          \
                               const float *mean, const float *rstd, const float *gamma,          \
                               const float *beta, void *y);                                       \
    void pod__norm_grad_sums_##isa(int64_t rows, int64_t c, pod_norm_types t, const void *x,      \
                                   const void *dy, const float *mean, const float *rstd,          \
                                   float *dgamma, float *dbeta);                                  \
    void pod__norm_grad_apply_##isa(int64_t rows, int64_t c, double count, pod_norm_types t,      \
                                    const void *x, const void *dy, const float *mean,             \
                                    const float *rstd, const float *gamma, const float *dgamma,   \
                                    const float *dbeta, void *dx);                                \
    void pod__norm_apply_act_##isa(int64_t rows, int64_t c, pod_norm_types t, const void *x,      \
                                   const float *scale, const float *shift, const void *res,       \
                                   const float *res_scale, const float *res_shift,                \
                                   pod_norm_act act, void *y);                                    \
    void pod__norm_grad_sums_act_##isa(int64_t rows, int64_t c, pod_norm_types t, const void *x,  \
                                       const void *dz, const void *more, const void *z,           \
                                       const float *scale, const float *shift, const float *mean, \
                                       const float *rstd, pod_norm_act act, void *g_out,          \
                                       float *dgamma, float *dbeta);                              \
    void pod__norm_grad_apply_act_##isa(                                                          \
        int64_t rows, int64_t c, double count, pod_norm_types t, const void *x, const void *dz,   \
        const float *scale, const float *shift, const float *mean, const float *rstd,             \
        const float *gamma, const float *dgamma, const float *dbeta, void *dx);
#include "kernels/norm/norm.def"
#undef POD_NORM

/* dx = x along + (dy scale + offset), the coefficients of one column worked out so: the same bits
 * in every set. */
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
