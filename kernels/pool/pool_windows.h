/* The positions of pooling windows. Private to kernels/pool. */
#ifndef MINIPOD_KERNELS_POOL_POOL_WINDOWS_H
#define MINIPOD_KERNELS_POOL_POOL_WINDOWS_H

#include "kernels/pool/pool.h"

/* A range along one dimension; empty if end <= begin. */
typedef struct pod__range {
    int64_t begin, end;
} pod__range;

/* Returns the pixels that window `i` covers along a dimension of `extent` pixels. */
static inline pod__range pod__pool_window(const pod_pool_shape *s, int64_t i, int64_t extent)
{
    const int64_t begin = i * s->stride - s->pad, end = begin + s->window;
    return (pod__range){begin > 0 ? begin : 0, end < extent ? end : extent};
}

/* Returns the windows, of `n_windows`, that cover the pixel at `place`. */
static inline pod__range pod__pool_covering(const pod_pool_shape *s, int64_t place,
                                            int64_t n_windows)
{
    const int64_t at = place + s->pad, end = at / s->stride + 1;
    const int64_t begin = at < s->window ? 0 : (at - s->window) / s->stride + 1;
    return (pod__range){begin, end < n_windows ? end : n_windows};
}

#endif
