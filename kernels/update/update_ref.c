/* Updates, plainly: what kernels/update/update.h says, every operation rounded to float32. */
#include <math.h>

#include "kernels/update/sets.h"

void pod__update_momentum_outer_ref(int64_t count, float rate, float momentum, float decay,
                                    bool nesterov, const float *g, float *v, float *w)
{
    for (int64_t i = 0; i < count; i++) {
        const float e = g[i] + decay * w[i];
        v[i] = momentum * v[i] + e;
        const float d = nesterov ? e + momentum * v[i] : v[i];
        w[i] = w[i] - rate * d;
    }
}

void pod__update_momentum_inner_ref(int64_t count, float rate, float momentum, float decay,
                                    bool nesterov, const float *g, float *v, float *w)
{
    for (int64_t i = 0; i < count; i++) {
        const float e = rate * (g[i] + decay * w[i]);
        v[i] = momentum * v[i] + e;
        const float d = nesterov ? e + momentum * v[i] : v[i];
        w[i] = w[i] - d;
    }
}

void pod__update_adam_direction_ref(int64_t count, const pod_adam_attr *attr, const float *g,
                                    const float *w, float *m, float *v, float *u)
{
    const float b1 = attr->beta1, b2 = attr->beta2, eps = attr->eps, decay = attr->decay;
    /* Divided once, not for each element. */
    const float per_c1 = 1 / attr->correction1, per_c2 = 1 / attr->correction2;
    for (int64_t i = 0; i < count; i++) {
        m[i] = b1 * m[i] + (1 - b1) * g[i];
        v[i] = b2 * v[i] + (1 - b2) * (g[i] * g[i]);
        u[i] = m[i] * per_c1 / (sqrtf(v[i] * per_c2) + eps) + decay * w[i];
    }
}

void pod__update_descend_ref(int64_t count, float rate, const float *u, float *w)
{
    for (int64_t i = 0; i < count; i++) w[i] = w[i] - rate * u[i];
}
