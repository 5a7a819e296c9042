/* Layer normalization in vectors, compiled once for each instruction set: what is elementwise has
 * the roundings of the reference, in its order; sums are short in float32, then combined in
 * double. */
#include <stdbool.h>

#include "kernels/base/simd/simd.h"
#include "kernels/layernorm/layernorm.h"
#include "kernels/layernorm/layernorm_rstd.h"

/* Coefficients of elements from i on, in the order of t. */
POD_INLINE pod_vec2 coefficients(pod_dtype t, const float *of, int64_t i, int n)
{
    const pod_vec2 x = pod_vec2_load(POD_F32, of, i, n);
    if (t != POD_BF16) return x;
    return (pod_vec2){pod_vec_even(x.a, x.b), pod_vec_odd(x.a, x.b)};
}

/* The first n elements, the others 0. */
POD_INLINE pod_vec2 first(pod_dtype t, int n, pod_vec2 x)
{
    const int in_a = t == POD_BF16 ? (n + 1) / 2 : n < POD_VEC_LANES ? n : POD_VEC_LANES;
    const pod_vec zero = pod_vec_all(0);
    if (n == POD_VEC2_LANES) return x;
    return (pod_vec2){pod_vec_first(in_a, x.a, zero), pod_vec_first(n - in_a, x.b, zero)};
}

POD_INLINE double lanes_sum(const double lane[POD_VEC_LANES])
{
    double sum = 0;
    for (int k = 0; k < POD_VEC_LANES; k++) sum += lane[k];
    return sum;
}

/* Sums along a row, of which BLOCK elements come together in float32. */
enum { BLOCK = POD_SUM_SWEEPS * POD_VEC2_LANES };

typedef struct one_row {
    pod_dtype t;
    int64_t c, at; /* its first element */
} one_row;

POD_INLINE double row_sum(one_row of, const void *x)
{
    double total[POD_VEC_LANES] = {0};
    for (int64_t begin = 0; begin < of.c; begin += BLOCK) {
        const int64_t length = of.c - begin < BLOCK ? of.c - begin : BLOCK;
        pod_vec2 sum = pod_vec2_all(0);
        POD_VEC_EACH(POD_VEC2_LANES, length, i, n,
                     { sum = pod_vec2_add(sum, pod_vec2_load(of.t, x, of.at + begin + i, n)); });
        pod_vec_add_f64(pod_vec_add(sum.a, sum.b), total);
    }
    return lanes_sum(total);
}

POD_INLINE double row_sum_sq(one_row of, const void *x, float mean)
{
    const pod_vec2 m = pod_vec2_all(mean);
    double total[POD_VEC_LANES] = {0};
    for (int64_t begin = 0; begin < of.c; begin += BLOCK) {
        const int64_t length = of.c - begin < BLOCK ? of.c - begin : BLOCK;
        pod_vec2 sum = pod_vec2_all(0);
        POD_VEC_EACH(POD_VEC2_LANES, length, i, n, {
            const pod_vec2 d = pod_vec2_sub(pod_vec2_load(of.t, x, of.at + begin + i, n), m);
            const pod_vec2 only = first(of.t, n, d);
            sum = pod_vec2_fma(only, only, sum);
        });
        pod_vec_add_f64(pod_vec_add(sum.a, sum.b), total);
    }
    return lanes_sum(total);
}

POD_INLINE void row_add(one_row of, const void *x, const void *res, void *sum)
{
    POD_VEC_EACH(POD_VEC2_LANES, of.c, i, n, {
        const pod_vec2 s = pod_vec2_add(pod_vec2_load(of.t, x, of.at + i, n),
                                        pod_vec2_load(of.t, res, of.at + i, n));
        pod_vec2_store(of.t, sum, of.at + i, n, s);
    });
}

POD_INLINE void apply_as(int64_t rows, int64_t c, float eps, pod_dtype t, const void *x,
                         const void *res, const float *gamma, const float *beta, void *sum, void *y,
                         float *mean, float *rstd)
{
    const void *s = res ? sum : x;
    for (int64_t r = 0; r < rows; r++) {
        const one_row of = {t, c, r * c};
        if (res) row_add(of, x, res, sum);
        mean[r] = (float)(row_sum(of, s) / (double)c);
        rstd[r] = pod__layernorm_rstd(row_sum_sq(of, s, mean[r]), c, eps);
        const pod_vec2 m = pod_vec2_all(mean[r]), k = pod_vec2_all(rstd[r]);
        POD_VEC_EACH(POD_VEC2_LANES, c, i, n, {
            const pod_vec2 h = pod_vec2_mul(pod_vec2_sub(pod_vec2_load(t, s, of.at + i, n), m), k);
            const pod_vec2 scaled = pod_vec2_mul(h, coefficients(t, gamma, i, n));
            pod_vec2_store(t, y, of.at + i, n, pod_vec2_add(scaled, coefficients(t, beta, i, n)));
        });
    }
}

static void layernorm_apply(int64_t rows, int64_t c, float eps, pod_dtype t, const void *x,
                            const void *res, const float *gamma, const float *beta, void *sum,
                            void *y, float *mean, float *rstd)
{
    POD_TYPED(t, apply_as(rows, c, eps, T, x, res, gamma, beta, sum, y, mean, rstd));
}

/* g and h of the elements from i on in their row. */
typedef struct slope {
    pod_vec2 g, h;
} slope;

POD_INLINE slope slope_of(one_row of, const void *x, const void *dy, const float *gamma,
                          pod_vec2 mean, pod_vec2 rstd, int64_t i, int n)
{
    const pod_vec2 dyi = pod_vec2_load(of.t, dy, of.at + i, n);
    const pod_vec2 centred = pod_vec2_sub(pod_vec2_load(of.t, x, of.at + i, n), mean);
    return (slope){pod_vec2_mul(dyi, coefficients(of.t, gamma, i, n)), pod_vec2_mul(centred, rstd)};
}

POD_INLINE void grad_x_as(int64_t rows, int64_t c, pod_dtype t, bool with_more, const void *x,
                          const void *dy, const float *mean, const float *rstd, const float *gamma,
                          const void *more, void *dx)
{
    for (int64_t r = 0; r < rows; r++) {
        const one_row of = {t, c, r * c};
        const pod_vec2 m = pod_vec2_all(mean[r]), k = pod_vec2_all(rstd[r]);
        double alone[POD_VEC_LANES] = {0}, by_h[POD_VEC_LANES] = {0};
        for (int64_t begin = 0; begin < c; begin += BLOCK) {
            const int64_t length = c - begin < BLOCK ? c - begin : BLOCK;
            pod_vec2 sum = pod_vec2_all(0), sum_h = sum;
            POD_VEC_EACH(POD_VEC2_LANES, length, i, n, {
                const slope s = slope_of(of, x, dy, gamma, m, k, begin + i, n);
                sum = pod_vec2_add(sum, s.g);
                sum_h = pod_vec2_fma(s.g, first(t, n, s.h), sum_h);
            });
            pod_vec_add_f64(pod_vec_add(sum.a, sum.b), alone);
            pod_vec_add_f64(pod_vec_add(sum_h.a, sum_h.b), by_h);
        }
        const pod_vec2 a = pod_vec2_all((float)(lanes_sum(alone) / (double)c));
        const pod_vec2 b = pod_vec2_all((float)(lanes_sum(by_h) / (double)c));
        POD_VEC_EACH(POD_VEC2_LANES, c, i, n, {
            const slope s = slope_of(of, x, dy, gamma, m, k, i, n);
            const pod_vec2 inner = pod_vec2_sub(pod_vec2_sub(s.g, a), pod_vec2_mul(s.h, b));
            pod_vec2 d = pod_vec2_mul(k, inner);
            if (with_more) d = pod_vec2_add(d, pod_vec2_load(t, more, of.at + i, n));
            pod_vec2_store(t, dx, of.at + i, n, d);
        });
    }
}

static void layernorm_grad_x(int64_t rows, int64_t c, pod_dtype t, const void *x, const void *dy,
                             const float *mean, const float *rstd, const float *gamma,
                             const void *more, void *dx)
{
    if (more)
        POD_TYPED(t, grad_x_as(rows, c, T, true, x, dy, mean, rstd, gamma, more, dx));
    else
        POD_TYPED(t, grad_x_as(rows, c, T, false, x, dy, mean, rstd, gamma, more, dx));
}

typedef struct column_sums {
    _Alignas(64) float by_h[POD_TILE_MAX], alone[POD_TILE_MAX];
} column_sums;

/* Adds n_rows rows, the first of which is `row`, to the sums of columns [first, first + cols). */
POD_INLINE void column_rows(int n_rows, pod_dtype t, int64_t c, int64_t row, int64_t first_col,
                            int64_t cols, const void *x, const void *dy, const float *mean,
                            const float *rstd, column_sums *sums)
{
    POD_VEC_EACH(POD_VEC2_LANES, cols, i, n, {
        pod_vec2 by_h = pod_vec2_at(sums->by_h, i), alone = pod_vec2_at(sums->alone, i);
        for (int r = 0; r < n_rows; r++) {
            const int64_t at = (row + r) * c + first_col + i;
            const pod_vec2 m = pod_vec2_all(mean[row + r]), k = pod_vec2_all(rstd[row + r]);
            const pod_vec2 h = pod_vec2_mul(pod_vec2_sub(pod_vec2_load(t, x, at, n), m), k);
            const pod_vec2 g = pod_vec2_load(t, dy, at, n);
            by_h = pod_vec2_fma(g, h, by_h);
            alone = pod_vec2_add(alone, g);
        }
        pod_vec2_put(sums->by_h, i, by_h);
        pod_vec2_put(sums->alone, i, alone);
    });
}

POD_INLINE void grad_params_as(int64_t rows, int64_t c, pod_dtype t, const void *x, const void *dy,
                               const float *mean, const float *rstd, float *dgamma, float *dbeta)
{
    for (int64_t at = 0; at < c; at += POD_TILE_MAX) {
        const pod_tile tile = {at, c - at < POD_TILE_MAX ? c - at : POD_TILE_MAX, 1};
        double by_h[POD_TILE_MAX] = {0}, alone[POD_TILE_MAX] = {0};
        for (int64_t row = 0; row < rows;) {
            const int64_t end = row + POD_SUM_CHAIN < rows ? row + POD_SUM_CHAIN : rows;
            column_sums sums = {0};
            for (; row + POD_SUM_ROWS <= end; row += POD_SUM_ROWS)
                column_rows(POD_SUM_ROWS, t, c, row, at, tile.cols, x, dy, mean, rstd, &sums);
            for (; row < end; row++)
                column_rows(1, t, c, row, at, tile.cols, x, dy, mean, rstd, &sums);
            for (int64_t i = 0; i < tile.cols; i += POD_VEC2_LANES) {
                pod_vec2_add_f64(pod_vec2_at(sums.by_h, i), by_h + i);
                pod_vec2_add_f64(pod_vec2_at(sums.alone, i), alone + i);
            }
        }
        for (int64_t j = 0; j < tile.cols; j++) {
            dgamma[at + j] = (float)pod_vec2_fold(t, &tile, by_h, j);
            dbeta[at + j] = (float)pod_vec2_fold(t, &tile, alone, j);
        }
    }
}

static void layernorm_grad_params(int64_t rows, int64_t c, pod_dtype t, const void *x,
                                  const void *dy, const float *mean, const float *rstd,
                                  float *dgamma, float *dbeta)
{
    POD_TYPED(t, grad_params_as(rows, c, T, x, dy, mean, rstd, dgamma, dbeta));
}

const pod_layernorm POD_ISA(pod__layernorm) = {POD_ISA_SET, layernorm_apply, layernorm_grad_x,
                                               layernorm_grad_params};
