/* Layer normalization, plainly: sums in double, what is elementwise in float32. */
#include "kernels/base/element.h"
#include "kernels/base/sets.h"
#include "kernels/layernorm/layernorm.h"
#include "kernels/layernorm/layernorm_rstd.h"

static void layernorm_apply(int64_t rows, int64_t c, float eps, pod_dtype t, const void *x,
                            const void *res, const float *gamma, const float *beta, void *sum,
                            void *y, float *mean, float *rstd)
{
    const void *s = res ? sum : x;
    for (int64_t i = 0; res && i < rows * c; i++)
        pod_element_put(t, sum, i, pod_element_get(t, x, i) + pod_element_get(t, res, i));
    for (int64_t r = 0; r < rows; r++) {
        double total = 0, squares = 0;
        for (int64_t i = r * c; i < (r + 1) * c; i++) total += (double)pod_element_get(t, s, i);
        mean[r] = (float)(total / (double)c);
        for (int64_t i = r * c; i < (r + 1) * c; i++) {
            const double d = (double)pod_element_get(t, s, i) - (double)mean[r];
            squares += d * d;
        }
        rstd[r] = pod__layernorm_rstd(squares, c, eps);
        for (int64_t j = 0; j < c; j++) {
            const float h = (pod_element_get(t, s, r * c + j) - mean[r]) * rstd[r];
            pod_element_put(t, y, r * c + j, h * gamma[j] + beta[j]);
        }
    }
}

static void layernorm_grad_x(int64_t rows, int64_t c, pod_dtype t, const void *x, const void *dy,
                             const float *mean, const float *rstd, const float *gamma,
                             const void *more, void *dx)
{
    for (int64_t r = 0; r < rows; r++) {
        double alone = 0, by_h = 0;
        for (int64_t j = 0; j < c; j++) {
            const float g = pod_element_get(t, dy, r * c + j) * gamma[j];
            const float h = (pod_element_get(t, x, r * c + j) - mean[r]) * rstd[r];
            alone += (double)g;
            by_h += (double)g * (double)h;
        }
        const float a = (float)(alone / (double)c), b = (float)(by_h / (double)c);
        for (int64_t i = r * c; i < (r + 1) * c; i++) {
            const float g = pod_element_get(t, dy, i) * gamma[i - r * c];
            const float h = (pod_element_get(t, x, i) - mean[r]) * rstd[r];
            float d = rstd[r] * ((g - a) - h * b);
            if (more) d = d + pod_element_get(t, more, i);
            pod_element_put(t, dx, i, d);
        }
    }
}

static void layernorm_grad_params(int64_t rows, int64_t c, pod_dtype t, const void *x,
                                  const void *dy, const float *mean, const float *rstd,
                                  float *dgamma, float *dbeta)
{
    for (int64_t j = 0; j < c; j++) {
        double by_h = 0, alone = 0;
        for (int64_t r = 0; r < rows; r++) {
            const float h = (pod_element_get(t, x, r * c + j) - mean[r]) * rstd[r];
            const double g = (double)pod_element_get(t, dy, r * c + j);
            by_h += g * (double)h;
            alone += g;
        }
        dgamma[j] = (float)by_h;
        dbeta[j] = (float)alone;
    }
}

const pod_layernorm pod__layernorm_ref = {"ref", 0, layernorm_apply, layernorm_grad_x,
                                          layernorm_grad_params};

POD_SETS_BF16(layernorm)
