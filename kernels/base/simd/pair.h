/* Pairs of vectors, for loops that serve bf16 and float32 alike. A pair holds POD_VEC2_LANES
 * elements in the order that is cheapest to load for the type:
 *
 *   f32    | 0 1 2 ... L-1 |   | L L+1 ... 2L-1 |
 *   bf16   | 0 2 4 ...     |   | 1 3 5 ...      |      each 32 bits are an even and an odd element
 *
 * Coefficients for elements of type t are put into that order too (pod_vec2_spread), and sums are
 * taken out of it (pod_vec2_fold). Included after the header of an instruction set. */
#ifndef MINIPOD_KERNELS_BASE_SIMD_PAIR_H
#define MINIPOD_KERNELS_BASE_SIMD_PAIR_H

#include "kernels/base/arith.h"
#include "kernels/base/simd/loop.h"

#ifdef POD_SIMD

enum { POD_VEC2_LANES = 2 * POD_VEC_LANES };
typedef struct pod_vec2 {
    pod_vec a, b;
} pod_vec2;

/* As pod_vec_load and pod_vec_store, for n <= POD_VEC2_LANES. */
POD_INLINE pod_vec2 pod_vec2_load(pod_dtype t, const void *data, int64_t i, int n)
{
    if (t == POD_BF16) {
        const pod_vec16 x = pod_vec16_load(data, i, n);
        return (pod_vec2){pod_vec16_even(x), pod_vec16_odd(x)};
    }
    const int first = n < POD_VEC_LANES ? n : POD_VEC_LANES;
    return (pod_vec2){pod_vec_load(POD_F32, data, i, first),
                      pod_vec_load(POD_F32, data, i + first, n - first)};
}

POD_INLINE void pod_vec2_store(pod_dtype t, void *data, int64_t i, int n, pod_vec2 x)
{
    if (t == POD_BF16) {
        pod_vec16_store(data, i, n, pod_vec16_join(x.a, x.b));
        return;
    }
    const int first = n < POD_VEC_LANES ? n : POD_VEC_LANES;
    pod_vec_store(POD_F32, data, i, first, x.a);
    pod_vec_store(POD_F32, data, i + first, n - first, x.b);
}

/* The same; past the caches if `past`, the result of pod_goes_past. */
POD_INLINE void pod_vec2_store_past(pod_dtype t, bool past, void *data, int64_t i, int n,
                                    pod_vec2 x)
{
    if (!past || n < POD_VEC2_LANES) {
        pod_vec2_store(t, data, i, n, x);
    } else if (t == POD_BF16) {
        pod_vec16_store_past(data, i, pod_vec16_join(x.a, x.b));
    } else {
        pod_vec_store_past(data, i, x.a);
        pod_vec_store_past(data, i + POD_VEC_LANES, x.b);
    }
}

/* Prefetches the pair that begins `ahead` elements after element i. */
POD_INLINE void pod_vec2_ahead(pod_dtype t, const void *data, int64_t i, int64_t ahead)
{
    enum { LINE = 64 };
    const int64_t bytes = (int64_t)pod_dtype_bytes(t);
    for (int64_t k = 0; k < POD_VEC2_LANES * bytes; k += LINE)
        pod_ahead(data, (i + ahead) * bytes + k);
}
POD_INLINE int64_t pod_ahead_elements(pod_dtype t)
{
    return POD_AHEAD_BYTES / (int64_t)pod_dtype_bytes(t);
}

/* Like pod_vec2_load, but gives 0 in lanes where x > y is false. */
POD_INLINE pod_vec2 pod_vec2_load_where(pod_vec2 x, pod_vec2 y, pod_dtype t, const void *data,
                                        int64_t i, int n)
{
    const pod_vec_mask a = pod_vec_gt(x.a, y.a), b = pod_vec_gt(x.b, y.b);
    if (t == POD_BF16) {
        const pod_vec16 v = pod_vec16_load(data, i, n);
        return (pod_vec2){pod_vec16_even_where(a, v), pod_vec16_odd_where(b, v)};
    }
    const pod_vec zero = pod_vec_all(0);
    const pod_vec2 v = pod_vec2_load(t, data, i, n);
    return (pod_vec2){pod_vec_select(a, v.a, zero), pod_vec_select(b, v.b, zero)};
}

/* Like pod_vec2_store for elements that were loaded by pod_vec2_load, or 0: stores their bits
 * without rounding. */
POD_INLINE void pod_vec2_put_back(pod_dtype t, void *data, int64_t i, int n, pod_vec2 x)
{
    if (t == POD_BF16)
        pod_vec16_store(data, i, n, pod_vec16_rejoin(x.a, x.b));
    else
        pod_vec2_store(POD_F32, data, i, n, x);
}

/* Like pod_vec2_load and pod_vec2_store, but with elements in the order of memory for both
 * types. */
POD_INLINE pod_vec2 pod_vec2_load_flat(pod_dtype t, const void *data, int64_t i, int n)
{
    const int first = n < POD_VEC_LANES ? n : POD_VEC_LANES;
    return (pod_vec2){pod_vec_load(t, data, i, first), pod_vec_load(t, data, i + first, n - first)};
}
POD_INLINE void pod_vec2_store_flat(pod_dtype t, void *data, int64_t i, int n, pod_vec2 x)
{
    if (t == POD_BF16)
        pod_vec16_store(data, i, n, pod_vec16_narrow(x.a, x.b));
    else
        pod_vec2_store(POD_F32, data, i, n, x);
}

/* Puts a pair from the order of type t into the order of memory. */
POD_INLINE pod_vec2 pod_vec2_flat(pod_dtype t, pod_vec2 x)
{
    if (t != POD_BF16) return x;
    return (pod_vec2){pod_vec_zip_first(x.a, x.b), pod_vec_zip_second(x.a, x.b)};
}

/* Load and store a full pair of coefficients or sums, in the order of memory. */
POD_INLINE pod_vec2 pod_vec2_at(const float *x, int64_t i)
{
    return pod_vec2_load(POD_F32, x, i, POD_VEC2_LANES);
}
POD_INLINE void pod_vec2_put(float *x, int64_t i, pod_vec2 v)
{
    pod_vec2_store(POD_F32, x, i, POD_VEC2_LANES, v);
}

POD_INLINE pod_vec2 pod_vec2_all(float x) { return (pod_vec2){pod_vec_all(x), pod_vec_all(x)}; }
POD_INLINE pod_vec2 pod_vec2_add(pod_vec2 x, pod_vec2 y)
{
    return (pod_vec2){pod_vec_add(x.a, y.a), pod_vec_add(x.b, y.b)};
}
POD_INLINE pod_vec2 pod_vec2_sub(pod_vec2 x, pod_vec2 y)
{
    return (pod_vec2){pod_vec_sub(x.a, y.a), pod_vec_sub(x.b, y.b)};
}
POD_INLINE pod_vec2 pod_vec2_mul(pod_vec2 x, pod_vec2 y)
{
    return (pod_vec2){pod_vec_mul(x.a, y.a), pod_vec_mul(x.b, y.b)};
}
POD_INLINE pod_vec2 pod_vec2_fma(pod_vec2 x, pod_vec2 y, pod_vec2 z) /* x y + z */
{
    return (pod_vec2){pod_vec_fma(x.a, y.a, z.a), pod_vec_fma(x.b, y.b, z.b)};
}

/* max(x, 0); NaN and -0 stay. */
POD_INLINE pod_vec2 pod_vec2_relu(pod_vec2 x)
{
    const pod_vec zero = pod_vec_all(0);
    return (pod_vec2){pod_vec_max(zero, x.a), pod_vec_max(zero, x.b)};
}

/* x if y > 0, else 0. */
POD_INLINE pod_vec2 pod_vec2_where_positive(pod_vec2 y, pod_vec2 x)
{
    const pod_vec zero = pod_vec_all(0);
    return (pod_vec2){pod_vec_select(pod_vec_gt(y.a, zero), x.a, zero),
                      pod_vec_select(pod_vec_gt(y.b, zero), x.b, zero)};
}

/* into[i ...] += x, in double. */
POD_INLINE void pod_vec2_add_f64(pod_vec2 x, double *into)
{
    pod_vec_add_f64(x.a, into);
    pod_vec_add_f64(x.b, into + POD_VEC_LANES);
}

/* Like pod_tile_spread, with the elements in the order of pairs of type t; the last pair is filled
 * with zeros. `out` has room for POD_TILE_MAX elements, which is a whole number of pairs. */
POD_INLINE void pod_vec2_spread(pod_dtype t, const pod_tile *tile, const float *of, float *out)
{
    const int64_t width = pod_tile_width(tile, tile->rep);
    pod_tile_spread(tile, of, out);
    for (int64_t i = width; i % POD_VEC2_LANES; i++) out[i] = 0;
    if (t != POD_BF16) return;
    for (int64_t i = 0; i < width; i += POD_VEC2_LANES) {
        const pod_vec2 x = pod_vec2_at(out, i);
        pod_vec2_put(out, i, (pod_vec2){pod_vec_even(x.a, x.b), pod_vec_odd(x.a, x.b)});
    }
}

/* Like pod_tile_fold for sums in the order of type t. */
POD_INLINE double pod_vec2_fold(pod_dtype t, const pod_tile *tile, const double *of, int64_t j)
{
    double sum = 0;
    for (int64_t r = 0; r < tile->rep; r++) {
        const int64_t i = r * tile->cols + j, k = i % POD_VEC2_LANES;
        sum += of[t == POD_BF16 ? i - k + k % 2 * POD_VEC_LANES + k / 2 : i];
    }
    return sum;
}

#endif
#endif
