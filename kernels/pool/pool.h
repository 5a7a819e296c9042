/* Pooling of images, NHWC. x and its gradient (N, H, W, C), y and its gradient (N, P, Q, C), of
 * type t.
 *
 *   max       y = max over the pixels of the window inside the image; NaN if one of them is NaN
 *   max_grad  each dy is added (in float32) to the first pixel, in row-major order, that has the
 *             maximum of its window
 *   mean      y (N, C) = mean over H x W, accumulated in float32
 *   mean_grad dx = dy / (H W)
 *
 * Every set gives the same bits. Outputs and inputs do not overlap. */
#ifndef MINIPOD_KERNELS_POOL_POOL_H
#define MINIPOD_KERNELS_POOL_POOL_H

#include <stdint.h>

#include "kernels/base/bf16.h"
#include "kernels/base/cpu.h"
#include "kernels/base/dtype.h"

typedef struct pod_pool_shape {
    int64_t n, h, w, c;          /* input */
    int64_t p, q;                /* output */
    int64_t window, stride, pad; /* square windows; pad rows and columns before the image */
} pod_pool_shape;

typedef struct pod_pool {
    const char *name;
    uint32_t needs; /* POD_CPU_ bits */
    void (*max)(const pod_pool_shape *s, pod_dtype t, const void *x, void *y);
    void (*max_grad)(const pod_pool_shape *s, pod_dtype t, const void *x, const void *dy, void *dx);
    void (*mean)(int64_t n, int64_t hw, int64_t c, pod_dtype t, const void *x, void *y);
    void (*mean_grad)(int64_t n, int64_t hw, int64_t c, pod_dtype t, const void *dy, void *dx);
} pod_pool;

/* Return all sets (kernels/base/sets.h), best first, the reference last, then NULL; and the first
 * set that a CPU with these features can run. */
const pod_pool *const *pod_pool_sets(void);
const pod_pool *pod_pool_pick(uint32_t cpu);

#endif
