/* The functions of every set in pool.def, and where windows lie. For kernels/pool only. */
#ifndef MINIPOD_KERNELS_POOL_SETS_H
#define MINIPOD_KERNELS_POOL_SETS_H

#include "kernels/pool/pool.h"

#define POD_POOL(name, needs, isa)                                                                \
    void pod__pool_max_##isa(const pod_pool_shape *s, pod_dtype t, const void *x, void *y);       \
    void pod__pool_max_grad_##isa(const pod_pool_shape *s, pod_dtype t, const void *x,            \
                                  const void *dy, void *dx);                                      \
    void pod__pool_mean_##isa(int64_t n, int64_t hw, int64_t c, pod_dtype t, const void *x,       \
                              void *y);                                                           \
    void pod__pool_mean_grad_##isa(int64_t n, int64_t hw, int64_t c, pod_dtype t, const void *dy, \
                                   void *dx);
#include "kernels/pool/pool.def"
#undef POD_POOL

/* Along one dimension; empty when end <= begin. */
typedef struct pod__range {
    int64_t begin, end;
} pod__range;

/* The places of the image (`extent` of them) that window `i` looks at. */
static inline pod__range pod__pool_window(const pod_pool_shape *s, int64_t i, int64_t extent)
{
    const int64_t begin = i * s->stride - s->pad, end = begin + s->window;
    return (pod__range){begin > 0 ? begin : 0, end < extent ? end : extent};
}

/* The windows (of `n_windows`) that look at the place. */
static inline pod__range pod__pool_covering(const pod_pool_shape *s, int64_t place,
                                            int64_t n_windows)
{
    const int64_t at = place + s->pad, end = at / s->stride + 1;
    const int64_t begin = at < s->window ? 0 : (at - s->window) / s->stride + 1;
    return (pod__range){begin, end < n_windows ? end : n_windows};
}

#endif
