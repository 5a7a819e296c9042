/* Sigmoid, swish and gates in vectors, compiled once for each instruction set. */
#include "kernels/base/element.h"
#include "kernels/base/rng.h"
#include "kernels/base/simd/philox.h"
#include "kernels/base/simd/simd.h"
#include "kernels/gate/gate.h"

POD_INLINE void sigmoid_as(int64_t count, pod_dtype t, const void *x, float *y)
{
    POD_VEC_EACH(POD_VEC2_LANES, count, i, n, {
        pod_vec2_store_flat(POD_F32, y, i, n,
                            pod_vec2_sigmoid(POD_F32, pod_vec2_load_flat(t, x, i, n)));
    });
}

static void gate_sigmoid(int64_t count, pod_dtype t, const void *x, float *y)
{
    POD_TYPED(t, sigmoid_as(count, T, x, y));
}

POD_INLINE void sigmoid_grad_as(int64_t count, pod_dtype t, const float *y, const float *dy,
                                void *dx)
{
    const pod_vec2 one = pod_vec2_all(1);
    POD_VEC_EACH(POD_VEC2_LANES, count, i, n, {
        const pod_vec2 s = pod_vec2_load_flat(POD_F32, y, i, n);
        const pod_vec2 slope = pod_vec2_mul(s, pod_vec2_sub(one, s));
        const pod_vec2 d = pod_vec2_load_flat(POD_F32, dy, i, n);
        pod_vec2_store_flat(t, dx, i, n, pod_vec2_mul(d, slope));
    });
}

static void gate_sigmoid_grad(int64_t count, pod_dtype t, const float *y, const float *dy, void *dx)
{
    POD_TYPED(t, sigmoid_grad_as(count, T, y, dy, dx));
}

POD_INLINE void swish_as(int64_t count, pod_dtype t, const void *x, void *y)
{
    POD_VEC_EACH(POD_VEC2_LANES, count, i, n,
                 { pod_vec2_store(t, y, i, n, pod_vec2_swish(t, pod_vec2_load(t, x, i, n))); });
}

static void gate_swish(int64_t count, pod_dtype t, const void *x, void *y)
{
    POD_TYPED(t, swish_as(count, T, x, y));
}

POD_INLINE void swish_grad_as(int64_t count, pod_dtype t, const void *x, const void *dy, void *dx)
{
    POD_VEC_EACH(POD_VEC2_LANES, count, i, n, {
        const pod_vec2 slope = pod_vec2_swish_slope(t, pod_vec2_load(t, x, i, n));
        pod_vec2_store(t, dx, i, n, pod_vec2_mul(pod_vec2_load(t, dy, i, n), slope));
    });
}

static void gate_swish_grad(int64_t count, pod_dtype t, const void *x, const void *dy, void *dx)
{
    POD_TYPED(t, swish_grad_as(count, T, x, dy, dx));
}

/* ---- gates: an image at a time ---------------------------------------------------------------- */

/* The coefficients of an image, for the rows taken as one. */
typedef struct image_tile {
    _Alignas(64) float gate[POD_TILE_MAX], more[POD_TILE_MAX];
} image_tile;

/* d_mean / rows, in the order of the coefficients. */
POD_INLINE void spread_mean(int64_t rows, pod_dtype t, const pod_tile *tile, const void *d_mean,
                            int64_t from, float *out)
{
    const pod_tile here = {0, tile->cols, tile->rep};
    float of_pixel[POD_TILE_MAX];
    for (int64_t j = 0; j < tile->cols; j++)
        of_pixel[j] = pod_element_get(t, d_mean, from + tile->first + j) / (float)rows;
    pod_vec2_spread(t, &here, of_pixel, out);
}

/* Image number `image` of x by its gate, and a share of d_mean added where it is given. */
POD_INLINE void scale_image(int64_t image, int64_t rows, int64_t c, pod_dtype t, const void *x,
                            const float *gate, bool add, const void *d_mean, bool may_pass, void *y)
{
    image_tile of;
    for (int64_t first = 0; first < c; first += POD_TILE_MAX) {
        const pod_tile tile = pod_tile_at(rows, c, first, POD_VEC2_LANES);
        pod_vec2_spread(t, &tile, gate + image * c, of.gate);
        if (add) spread_mean(rows, t, &tile, d_mean, image * c, of.more);
        const bool past = may_pass && tile.rep * c % POD_VEC2_LANES == 0;
        for (int64_t row = 0; row < rows; row += tile.rep) {
            const int64_t at = (image * rows + row) * c + first;
            POD_VEC_EACH(POD_VEC2_LANES, pod_tile_width(&tile, rows - row), i, n, {
                pod_vec2_ahead(t, x, at + i, pod_ahead_elements(t));
                pod_vec2 v = pod_vec2_mul(pod_vec2_load(t, x, at + i, n), pod_vec2_at(of.gate, i));
                if (add) v = pod_vec2_add(v, pod_vec2_at(of.more, i));
                pod_vec2_store_past(t, past, y, at + i, n, v);
            });
        }
        if (past) pod_vec_past_end();
    }
}

/* Past the caches where lines begin with images. */
POD_INLINE void scale_images(int64_t n, int64_t rows, int64_t c, pod_dtype t, const void *x,
                             const float *gate, bool add, const void *d_mean, void *y)
{
    const bool may_pass = y != x && pod_goes_past(y, t, n * rows * c, rows * c);
    for (int64_t i = 0; i < n; i++) scale_image(i, rows, c, t, x, gate, add, d_mean, may_pass, y);
}

static void gate_scale(int64_t n, int64_t rows, int64_t c, pod_dtype t, const void *x,
                       const float *gate, void *y)
{
    POD_TYPED(t, scale_images(n, rows, c, T, x, gate, false, NULL, y));
}

static void gate_mean_grad(int64_t n, int64_t rows, int64_t c, pod_dtype t, const void *dy,
                           const float *gate, const void *d_mean, void *dx)
{
    POD_TYPED(t, scale_images(n, rows, c, T, dy, gate, true, d_mean, dx));
}

/* Products of the tile's next sweeps of rows, added up in float32 and then to `total`. */
POD_INLINE void sum_strip(pod_dtype t, const void *x, const void *y, int64_t at, int64_t stride,
                          int sweeps, int64_t i, int n, double *total)
{
    pod_vec2 sum = pod_vec2_all(0);
    for (int k = 0; k < sweeps; k++) {
        pod_vec2_ahead(t, x, at + k * stride + i, pod_ahead_elements(t));
        pod_vec2_ahead(t, y, at + k * stride + i, pod_ahead_elements(t));
        const pod_vec2 a = pod_vec2_load(t, x, at + k * stride + i, n);
        sum = pod_vec2_fma(a, pod_vec2_load(t, y, at + k * stride + i, n), sum);
    }
    pod_vec2_add_f64(sum, total + i);
}

POD_INLINE void sum_image(int64_t rows, int64_t c, pod_dtype t, const void *x, const void *y,
                          int64_t image, float *sum)
{
    _Alignas(64) double total[POD_TILE_MAX];
    for (int64_t first = 0; first < c; first += POD_TILE_MAX) {
        const pod_tile tile = pod_tile_at(rows, c, first, POD_VEC2_LANES);
        memset(total, 0, sizeof total);
        for (int64_t row = 0, next; row < rows; row = next) {
            const int64_t whole = (rows - row) / tile.rep;
            const int sweeps = whole > POD_SUM_SWEEPS ? POD_SUM_SWEEPS : whole > 0 ? (int)whole : 1;
            next = row + sweeps * tile.rep;
            POD_VEC_EACH(POD_VEC2_LANES, pod_tile_width(&tile, rows - row), i, n, {
                sum_strip(t, x, y, image + row * c + first, tile.rep * c, sweeps, i, n, total);
            });
        }
        for (int64_t j = 0; j < tile.cols; j++)
            sum[first + j] = (float)pod_vec2_fold(t, &tile, total, j);
    }
}

/* Of so few rows that float32 is enough. */
POD_INLINE void sum_small_image(int64_t rows, int64_t c, pod_dtype t, const void *x, const void *y,
                                int64_t image, float *sum)
{
    POD_VEC_EACH(POD_VEC2_LANES, c, i, n, {
        pod_vec2 of = pod_vec2_all(0);
        for (int64_t k = 0; k < rows; k++) {
            const pod_vec2 a = pod_vec2_load(t, x, image + k * c + i, n);
            of = pod_vec2_fma(a, pod_vec2_load(t, y, image + k * c + i, n), of);
        }
        pod_vec2_store_flat(POD_F32, sum, i, n, pod_vec2_flat(t, of));
    });
}

POD_INLINE void sums_as(int64_t n, int64_t rows, int64_t c, pod_dtype t, const void *x,
                        const void *y, float *sum)
{
    for (int64_t i = 0; i < n; i++)
        if (rows <= POD_SUM_CHAIN)
            sum_small_image(rows, c, t, x, y, i * rows * c, sum + i * c);
        else
            sum_image(rows, c, t, x, y, i * rows * c, sum + i * c);
}

static void gate_sums(int64_t n, int64_t rows, int64_t c, pod_dtype t, const void *x, const void *y,
                      float *sum)
{
    POD_TYPED(t, sums_as(n, rows, c, T, x, y, sum));
}

/* ---- dropout ------------------------------------------------------------------------------- */

POD_INLINE void drop_row(const uint32_t key[2], float rate, int64_t c, pod_dtype t, const void *x,
                         void *y, int64_t at)
{
    const pod_vec least = pod_vec_all(rate * 0x1p24f), zero = pod_vec_all(0);
    const pod_vec kept = pod_vec_all(1 / (1 - rate));
    POD_VEC_EACH(4 * POD_VEC_LANES, c, i, count, {
        pod_vec number[4];
        pod_vec_philox(key, (uint32_t)(i / 4), 0, 0, POD_STREAM_DROPOUT, number);
        for (int k = 0; k * POD_VEC_LANES < count; k++) {
            const int left = count - k * POD_VEC_LANES;
            const int n = left < POD_VEC_LANES ? left : POD_VEC_LANES;
            const int64_t from = at + i + k * POD_VEC_LANES;
            const pod_vec gate = pod_vec_select(pod_vec_gt(least, number[k]), zero, kept);
            pod_vec_store(t, y, from, n, pod_vec_mul(pod_vec_load(t, x, from, n), gate));
        }
    });
}

POD_INLINE void drop_as(int64_t n, int64_t c, pod_dtype t, const pod_drop *how,
                        const int32_t *draws, const void *x, void *y)
{
    for (int64_t i = 0; i < n; i++) {
        const uint32_t key[2] = {(uint32_t)draws[i], how->layer};
        if (!how->by_sample) {
            drop_row(key, how->rate, c, t, x, y, i * c);
            continue;
        }
        const uint32_t counter[4] = {0, 0, 0, POD_STREAM_DROPOUT};
        uint32_t word[4];
        pod_philox(key, counter, word);
        const bool is_kept = (float)(word[0] >> 8) * 0x1p-24f >= how->rate;
        const pod_vec2 gate = pod_vec2_all(is_kept ? 1 / (1 - how->rate) : 0);
        POD_VEC_EACH(POD_VEC2_LANES, c, j, k, {
            pod_vec2_store(t, y, i * c + j, k,
                           pod_vec2_mul(pod_vec2_load(t, x, i * c + j, k), gate));
        });
    }
}

static void gate_drop(int64_t n, int64_t c, pod_dtype t, const pod_drop *how, const int32_t *draws,
                      const void *x, void *y)
{
    POD_TYPED(t, drop_as(n, c, T, how, draws, x, y));
}

const pod_gate POD_ISA(pod__gate) = {POD_ISA_SET,    gate_sigmoid,    gate_sigmoid_grad,
                                     gate_swish,     gate_swish_grad, gate_scale,
                                     gate_mean_grad, gate_sums,       gate_drop};
