/* Pointwise kernels in vectors, compiled once for each instruction set: the roundings of the
 * reference, in its order, so the same bits. */
#include "kernels/base/assert.h"
#include "kernels/base/simd/simd.h"
#include "kernels/pointwise/pointwise.h"

POD_INLINE void cast_as(int64_t count, pod_dtype from, const void *x, pod_dtype to, void *y)
{
    POD_VEC_EACH(POD_VEC2_LANES, count, i, n, {
        pod_vec2_ahead(from, x, i, pod_ahead_elements(from));
        pod_vec2_store_flat(to, y, i, n, pod_vec2_load_flat(from, x, i, n));
    });
}

static void pointwise_cast(int64_t count, pod_dtype from, const void *x, pod_dtype to, void *y)
{
    POD_ASSERT(from != to, "cast from %s to itself", pod_dtype_name(from));
    if (from == POD_BF16)
        cast_as(count, POD_BF16, x, POD_F32, y);
    else
        cast_as(count, POD_F32, x, POD_BF16, y);
}

static void pointwise_relu(int64_t count, pod_dtype t, const void *x, void *y)
{
    if (t == POD_BF16) {
        POD_VEC_EACH(POD_VEC16_LANES, count, i, n, {
            pod_vec2_ahead(POD_BF16, x, i, pod_ahead_elements(POD_BF16));
            pod_vec16_store(y, i, n, pod_vec16_relu(pod_vec16_load(x, i, n)));
        });
        return;
    }
    const pod_vec zero = pod_vec_all(0);
    POD_VEC_EACH(POD_VEC_LANES, count, i, n, {
        const pod_vec v = pod_vec_load(POD_F32, x, i, n);
        pod_vec_store(POD_F32, y, i, n, pod_vec_select(pod_vec_not_le(v, zero), v, zero));
    });
}

static void pointwise_relu_grad(int64_t count, pod_dtype t, const void *y, const void *dy, void *dx)
{
    if (t == POD_BF16) {
        POD_VEC_EACH(POD_VEC16_LANES, count, i, n, {
            pod_vec2_ahead(POD_BF16, y, i, pod_ahead_elements(POD_BF16));
            pod_vec2_ahead(POD_BF16, dy, i, pod_ahead_elements(POD_BF16));
            const pod_vec16 v = pod_vec16_load(dy, i, n);
            pod_vec16_store(dx, i, n, pod_vec16_where_positive(pod_vec16_load(y, i, n), v));
        });
        return;
    }
    const pod_vec zero = pod_vec_all(0);
    POD_VEC_EACH(POD_VEC_LANES, count, i, n, {
        const pod_vec_mask positive = pod_vec_gt(pod_vec_load(POD_F32, y, i, n), zero);
        const pod_vec v = pod_vec_load(POD_F32, dy, i, n);
        pod_vec_store(POD_F32, dx, i, n, pod_vec_select(positive, v, zero));
    });
}

POD_INLINE void add_as(int64_t count, pod_dtype t, const void *a, const void *b, void *y)
{
    const bool past = y != a && y != b && pod_goes_past(y, t, count, 0);
    POD_VEC_EACH(POD_VEC2_LANES, count, i, n, {
        pod_vec2_ahead(t, a, i, pod_ahead_elements(t));
        pod_vec2_ahead(t, b, i, pod_ahead_elements(t));
        const pod_vec2 sum = pod_vec2_add(pod_vec2_load(t, a, i, n), pod_vec2_load(t, b, i, n));
        pod_vec2_store_past(t, past, y, i, n, sum);
    });
    if (past) pod_vec_past_end();
}

static void pointwise_add(int64_t count, pod_dtype t, const void *a, const void *b, void *y)
{
    POD_TYPED(t, add_as(count, T, a, b, y));
}

POD_INLINE void bias_add_as(int64_t rows, int64_t c, pod_dtype t, const void *x, const float *bias,
                            void *y)
{
    _Alignas(64) float b[POD_TILE_MAX];
    for (int64_t first = 0; first < c; first += POD_TILE_MAX) {
        const pod_tile tile = pod_tile_at(rows, c, first, POD_VEC2_LANES);
        pod_vec2_spread(t, &tile, bias, b);
        for (int64_t row = 0; row < rows; row += tile.rep) {
            const int64_t at = row * c + first;
            POD_VEC_EACH(POD_VEC2_LANES, pod_tile_width(&tile, rows - row), i, n, {
                const pod_vec2 v = pod_vec2_load(t, x, at + i, n);
                pod_vec2_store(t, y, at + i, n, pod_vec2_add(v, pod_vec2_at(b, i)));
            });
        }
    }
}

static void pointwise_bias_add(int64_t rows, int64_t c, pod_dtype t, const void *x,
                               const float *bias, void *y)
{
    POD_TYPED(t, bias_add_as(rows, c, T, x, bias, y));
}

static void pointwise_axpby(int64_t count, float alpha, const float *x, float beta, const float *z,
                            float *y)
{
    const pod_vec a = pod_vec_all(alpha), b = pod_vec_all(beta);
    if (beta == 0) {
        POD_VEC_EACH(POD_VEC_LANES, count, i, n, {
            pod_vec_store(POD_F32, y, i, n, pod_vec_mul(a, pod_vec_load(POD_F32, x, i, n)));
        });
        return;
    }
    POD_VEC_EACH(POD_VEC_LANES, count, i, n, {
        const pod_vec ax = pod_vec_mul(a, pod_vec_load(POD_F32, x, i, n));
        const pod_vec bz = pod_vec_mul(b, pod_vec_load(POD_F32, z, i, n));
        pod_vec_store(POD_F32, y, i, n, pod_vec_add(ax, bz));
    });
}

POD_INLINE void normalize_u8_as(int64_t rows, int64_t c, const uint8_t *x, const float *scale,
                                const float *shift, pod_dtype t, void *y)
{
    _Alignas(64) float a[POD_TILE_MAX], b[POD_TILE_MAX];
    for (int64_t first = 0; first < c; first += POD_TILE_MAX) {
        const pod_tile tile = pod_tile_at(rows, c, first, POD_VEC2_LANES);
        pod_vec2_spread(POD_F32, &tile, scale, a);
        pod_vec2_spread(POD_F32, &tile, shift, b);
        for (int64_t row = 0; row < rows; row += tile.rep) {
            const int64_t at = row * c + first;
            POD_VEC_EACH(POD_VEC2_LANES, pod_tile_width(&tile, rows - row), i, n, {
                const int half = n < POD_VEC_LANES ? n : POD_VEC_LANES;
                const pod_vec2 v = {pod_vec_load_u8(x, at + i, half),
                                    pod_vec_load_u8(x, at + i + half, n - half)};
                const pod_vec2 scaled = pod_vec2_mul(v, pod_vec2_at(a, i));
                pod_vec2_store_flat(t, y, at + i, n, pod_vec2_add(scaled, pod_vec2_at(b, i)));
            });
        }
    }
}

static void pointwise_normalize_u8(int64_t rows, int64_t c, const uint8_t *x, const float *scale,
                                   const float *shift, pod_dtype t, void *y)
{
    POD_TYPED(t, normalize_u8_as(rows, c, x, scale, shift, T, y));
}

const pod_pointwise POD_ISA(pod__pointwise) = {
    POD_ISA_SET,   pointwise_cast,     pointwise_relu,  pointwise_relu_grad,
    pointwise_add, pointwise_bias_add, pointwise_axpby, pointwise_normalize_u8};
