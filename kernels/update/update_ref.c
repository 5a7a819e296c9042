/* Updates, plainly: what kernels/update/update.h says, every operation rounded to float32. */
#include <math.h>

#include "kernels/base/sets.h"
#include "kernels/update/update.h"

static void update_momentum_outer(int64_t count, float rate, float momentum, float decay,
                                  bool nesterov, const float *g, float *v, float *w)
{
    for (int64_t i = 0; i < count; i++) {
        const float e = g[i] + decay * w[i];
        v[i] = momentum * v[i] + e;
        const float d = nesterov ? e + momentum * v[i] : v[i];
        w[i] = w[i] - rate * d;
    }
}

static void update_momentum_inner(int64_t count, float rate, float momentum, float decay,
                                  bool nesterov, const float *g, float *v, float *w)
{
    for (int64_t i = 0; i < count; i++) {
        const float e = rate * (g[i] + decay * w[i]);
        v[i] = momentum * v[i] + e;
        const float d = nesterov ? e + momentum * v[i] : v[i];
        w[i] = w[i] - d;
    }
}

static void update_rmsprop(int64_t count, const pod_rmsprop_attr *attr, float rate, const float *g,
                           float *s, float *v, float *w)
{
    for (int64_t i = 0; i < count; i++) {
        const float e = g[i] + attr->decay * w[i];
        s[i] = attr->rho * s[i] + (1 - attr->rho) * (e * e);
        v[i] = attr->momentum * v[i] + rate * e / sqrtf(s[i] + attr->eps);
        w[i] = w[i] - v[i];
    }
}

/* Divided once, not for each element. */
typedef struct corrections {
    float per_c1, per_c2;
} corrections;

static corrections corrections_of(const pod_adam_attr *attr)
{
    return (corrections){1 / attr->correction1, 1 / attr->correction2};
}

static void take_gradient(const pod_adam_attr *attr, float g, float *m, float *v)
{
    *m = attr->beta1 * *m + (1 - attr->beta1) * g;
    *v = attr->beta2 * *v + (1 - attr->beta2) * (g * g);
}

static float direction(const pod_adam_attr *attr, corrections by, float m, float v, float w)
{
    return m * by.per_c1 / (sqrtf(v * by.per_c2) + attr->eps) + attr->decay * w;
}

static void update_adam_step(int64_t count, const pod_adam_attr *attr, float rate, const float *g,
                             float *m, float *v, float *w)
{
    const corrections by = corrections_of(attr);
    for (int64_t i = 0; i < count; i++) {
        take_gradient(attr, g[i], &m[i], &v[i]);
        w[i] = w[i] - rate * direction(attr, by, m[i], v[i], w[i]);
    }
}

static void update_adam_norms(int64_t count, const pod_adam_attr *attr, const float *g,
                              const float *w, float *m, float *v, float *w_sq, float *u_sq)
{
    const corrections by = corrections_of(attr);
    double w_sum = 0, u_sum = 0;
    for (int64_t i = 0; i < count; i++) {
        take_gradient(attr, g[i], &m[i], &v[i]);
        const double u = (double)direction(attr, by, m[i], v[i], w[i]);
        w_sum += (double)w[i] * (double)w[i];
        u_sum += u * u;
    }
    *w_sq = (float)w_sum;
    *u_sq = (float)u_sum;
}

static void update_adam_direction(int64_t count, const pod_adam_attr *attr, const float *g,
                                  const float *w, float *m, float *v, float *u)
{
    const corrections by = corrections_of(attr);
    for (int64_t i = 0; i < count; i++) {
        take_gradient(attr, g[i], &m[i], &v[i]);
        u[i] = direction(attr, by, m[i], v[i], w[i]);
    }
}

static void update_adam_descend(int64_t count, const pod_adam_attr *attr, float rate,
                                const float *m, const float *v, float *w)
{
    const corrections by = corrections_of(attr);
    for (int64_t i = 0; i < count; i++) w[i] = w[i] - rate * direction(attr, by, m[i], v[i], w[i]);
}

const pod_update pod__update_ref = {"ref",
                                    0,
                                    update_momentum_outer,
                                    update_momentum_inner,
                                    update_rmsprop,
                                    update_adam_step,
                                    update_adam_norms,
                                    update_adam_direction,
                                    update_adam_descend};

POD_SETS(update)
