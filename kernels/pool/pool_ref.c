/* Pooling, plainly. A window that lies outside the image altogether has maximum -inf. */
#include <math.h>
#include <stdbool.h>

#include "kernels/base/element.h"
#include "kernels/base/sets.h"
#include "kernels/pool/pool.h"
#include "kernels/pool/pool_windows.h"

/* Whether `later` takes the maximum over from `held`, which came before it. */
static bool takes_over(float later, float held) { return !(later <= held) && !isnan(held); }

/* The element that holds the maximum of window (p, q) in channel j of image n; -1 when the window
 * is empty. */
static int64_t holder(const pod_pool_shape *s, pod_dtype t, const void *x, int64_t n, int64_t p,
                      int64_t q, int64_t j)
{
    const pod__range hs = pod__pool_window(s, p, s->h), ws = pod__pool_window(s, q, s->w);
    int64_t held = -1;
    for (int64_t h = hs.begin; h < hs.end; h++) {
        for (int64_t w = ws.begin; w < ws.end; w++) {
            const int64_t at = ((n * s->h + h) * s->w + w) * s->c + j;
            if (held < 0 || takes_over(pod_element_get(t, x, at), pod_element_get(t, x, held)))
                held = at;
        }
    }
    return held;
}

static void pool_max(const pod_pool_shape *s, pod_dtype t, const void *x, void *y)
{
    for (int64_t i = 0; i < s->n * s->p * s->q * s->c; i++) {
        const int64_t j = i % s->c, q = i / s->c % s->q, p = i / (s->c * s->q) % s->p;
        const int64_t held = holder(s, t, x, i / (s->c * s->q * s->p), p, q, j);
        pod_element_put(t, y, i, held < 0 ? -INFINITY : pod_element_get(t, x, held));
    }
}

static void pool_max_grad(const pod_pool_shape *s, pod_dtype t, const void *x, const void *dy,
                          void *dx)
{
    for (int64_t i = 0; i < s->n * s->h * s->w * s->c; i++) {
        const int64_t j = i % s->c, w = i / s->c % s->w, h = i / (s->c * s->w) % s->h;
        const int64_t n = i / (s->c * s->w * s->h);
        const pod__range ps = pod__pool_covering(s, h, s->p), qs = pod__pool_covering(s, w, s->q);
        float sum = 0;
        for (int64_t p = ps.begin; p < ps.end; p++)
            for (int64_t q = qs.begin; q < qs.end; q++)
                if (holder(s, t, x, n, p, q, j) == i)
                    sum += pod_element_get(t, dy, ((n * s->p + p) * s->q + q) * s->c + j);
        pod_element_put(t, dx, i, sum);
    }
}

static void pool_mean(int64_t n, int64_t hw, int64_t c, pod_dtype t, const void *x, void *y)
{
    for (int64_t i = 0; i < n * c; i++) {
        float sum = 0;
        for (int64_t at = 0; at < hw; at++)
            sum += pod_element_get(t, x, (i / c * hw + at) * c + i % c);
        pod_element_put(t, y, i, sum / (float)hw);
    }
}

static void pool_mean_grad(int64_t n, int64_t hw, int64_t c, pod_dtype t, const void *dy, void *dx)
{
    for (int64_t i = 0; i < n * hw * c; i++)
        pod_element_put(t, dx, i, pod_element_get(t, dy, i / (hw * c) * c + i % c) / (float)hw);
}

const pod_pool pod__pool_ref = {"ref", 0, pool_max, pool_max_grad, pool_mean, pool_mean_grad};

POD_SETS_BF16(pool)
