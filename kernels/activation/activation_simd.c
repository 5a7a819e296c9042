/* GELU, tanh and softmax in vectors, compiled once for each instruction set. */
#include <math.h>

#include "kernels/activation/activation.h"
#include "kernels/base/element.h"
#include "kernels/base/simd/simd.h"

/* x in [-limit, limit]; a NaN stays. Beyond the limit a curve has reached its end in float32, and
 * powers of x could overflow. */
POD_INLINE pod_vec vec_within(pod_vec x, float limit)
{
    const pod_vec high = pod_vec_all(limit), low = pod_vec_all(-limit);
    x = pod_vec_select(pod_vec_gt(x, high), high, x);
    return pod_vec_select(pod_vec_gt(low, x), low, x);
}

/* ---- tanh ---------------------------------------------------------------------------------- */

/* For |x| < 0.625 the odd polynomial of Moshier's Cephes (tanhf); else (1 - e) / (1 + e), e =
 * e^(-2 |x|), with the sign of x. */
POD_INLINE pod_vec vec_tanh(pod_vec x)
{
    const pod_vec one = pod_vec_all(1), zero = pod_vec_all(0), down = pod_vec_minus_abs(x);
    const pod_vec e = pod_vec_exp(pod_vec_add(down, down));
    const pod_vec far = pod_vec_mul(pod_vec_sub(one, e), pod_vec_inverse(pod_vec_add(one, e)));
    const pod_vec z = pod_vec_mul(x, x);
    pod_vec p = pod_vec_all(-5.70498872745e-3f);
    p = pod_vec_fma(p, z, pod_vec_all(2.06390887954e-2f));
    p = pod_vec_fma(p, z, pod_vec_all(-5.37397155531e-2f));
    p = pod_vec_fma(p, z, pod_vec_all(1.33314422036e-1f));
    p = pod_vec_fma(p, z, pod_vec_all(-3.33332819422e-1f));
    const pod_vec near = pod_vec_fma(pod_vec_mul(x, z), p, x);
    const pod_vec of_sign = pod_vec_select(pod_vec_gt(x, zero), far, pod_vec_sub(zero, far));
    return pod_vec_select(pod_vec_gt(down, pod_vec_all(-0.625f)), near, of_sign);
}

POD_INLINE void tanh_as(int64_t count, pod_dtype t, const void *from, void *y)
{
    POD_VEC_EACH(POD_VEC2_LANES, count, i, n, {
        const pod_vec2 x = pod_vec2_load(t, from, i, n);
        pod_vec2_store(t, y, i, n, (pod_vec2){vec_tanh(x.a), vec_tanh(x.b)});
    });
}

static void activation_tanh(int64_t count, pod_dtype t, const void *x, void *y)
{
    POD_TYPED(t, tanh_as(count, T, x, y));
}

POD_INLINE void tanh_grad_as(int64_t count, pod_dtype t, const void *y, const void *dy, void *dx)
{
    const pod_vec2 one = pod_vec2_all(1);
    POD_VEC_EACH(POD_VEC2_LANES, count, i, n, {
        const pod_vec2 v = pod_vec2_load(t, y, i, n), d = pod_vec2_load(t, dy, i, n);
        const pod_vec2 slope = pod_vec2_mul(pod_vec2_sub(one, v), pod_vec2_add(one, v));
        pod_vec2_store(t, dx, i, n, pod_vec2_mul(d, slope));
    });
}

static void activation_tanh_grad(int64_t count, pod_dtype t, const void *y, const void *dy,
                                 void *dx)
{
    POD_TYPED(t, tanh_grad_as(count, T, y, dy, dx));
}

/* ---- gelu, tanh form ----------------------------------------------------------------------- */

/* 2 u = x (A + B x^2), A = 2 sqrt(2 / pi), B = 0.044715 A. For |x| > 20 its sigmoid is 0 or 1. */
#define GELU_A     1.5957691216f
#define GELU_B     0.0713548163f
#define GELU_LIMIT 20.0f

POD_INLINE pod_vec vec_two_u(pod_vec x, float a, float b)
{
    const pod_vec square = pod_vec_mul(x, x);
    return pod_vec_mul(x, pod_vec_fma(square, pod_vec_all(b), pod_vec_all(a)));
}

POD_INLINE pod_vec2 tanh_form(pod_dtype t, pod_vec2 whole)
{
    const pod_vec2 two_u = {vec_two_u(vec_within(whole.a, GELU_LIMIT), GELU_A, GELU_B),
                            vec_two_u(vec_within(whole.b, GELU_LIMIT), GELU_A, GELU_B)};
    return pod_vec2_mul(whole, pod_vec2_sigmoid(t, two_u));
}

/* s + s (1 - s) x d(2 u)/dx, s = sigmoid(2 u); x d(2 u)/dx = x (A + 3 B x^2). With e = e^-|2 u|, s (1
 * - s) is e / (1 + e)^2 for both signs of u, without a difference that cancels. */
POD_INLINE pod_vec vec_tanh_form_slope(pod_vec whole)
{
    const pod_vec one = pod_vec_all(1), x = vec_within(whole, GELU_LIMIT);
    const pod_vec two_u = vec_two_u(x, GELU_A, GELU_B);
    const pod_vec e = pod_vec_exp(pod_vec_minus_abs(two_u));
    const pod_vec per_sum = pod_vec_inverse(pod_vec_add(one, e));
    const pod_vec of_e = pod_vec_mul(e, per_sum);
    const pod_vec s = pod_vec_select(pod_vec_gt(two_u, pod_vec_all(0)), per_sum, of_e);
    const pod_vec grown = vec_two_u(x, GELU_A, 3 * GELU_B);
    return pod_vec_fma(pod_vec_mul(of_e, per_sum), grown, s);
}

/* ---- gelu, erf form ------------------------------------------------------------------------ */

/* With a = |x|: Phi(-a) = e^(-a^2 / 2) P(t), t = 1 / (1 + 0.3 a), where P approximates Mills'
 * ratio over sqrt(2 pi) for a in [0, 13.3] with relative error 2^-22.9 (fitted here, minimax).
 * Beyond that the exponential is 0. */
POD_INLINE pod_vec vec_phi(pod_vec x, pod_vec *bell)
{
    const pod_vec one = pod_vec_all(1), down = pod_vec_minus_abs(vec_within(x, 20.0f));
    const pod_vec t = pod_vec_inverse(pod_vec_fma(down, pod_vec_all(-0.3f), one));
    pod_vec p = pod_vec_all(3.60367521e-2f);
    p = pod_vec_fma(p, t, pod_vec_all(-1.58715338e-1f));
    p = pod_vec_fma(p, t, pod_vec_all(2.08967317e-1f));
    p = pod_vec_fma(p, t, pod_vec_all(-5.60981659e-2f));
    p = pod_vec_fma(p, t, pod_vec_all(1.29844511e-1f));
    p = pod_vec_fma(p, t, pod_vec_all(9.95227649e-2f));
    p = pod_vec_fma(p, t, pod_vec_all(1.20816935e-1f));
    p = pod_vec_fma(p, t, pod_vec_all(1.19625163e-1f));
    p = pod_vec_mul(p, t);
    *bell = pod_vec_exp(pod_vec_mul(pod_vec_mul(down, down), pod_vec_all(-0.5f)));
    const pod_vec tail = pod_vec_mul(*bell, p);
    return pod_vec_select(pod_vec_gt(x, pod_vec_all(0)), pod_vec_sub(one, tail), tail);
}

POD_INLINE pod_vec vec_erf_form(pod_vec x)
{
    pod_vec bell;
    return pod_vec_mul(x, vec_phi(x, &bell));
}

/* Phi(x) + x e^(-x^2 / 2) / sqrt(2 pi) */
POD_INLINE pod_vec vec_erf_form_slope(pod_vec x)
{
    pod_vec bell;
    const pod_vec p = vec_phi(x, &bell);
    const pod_vec scaled = pod_vec_mul(bell, pod_vec_all(0.3989422804f));
    return pod_vec_fma(vec_within(x, 20.0f), scaled, p);
}

/* ---- gelu ---------------------------------------------------------------------------------- */

POD_INLINE void gelu_as(int64_t count, pod_dtype t, bool is_erf, const void *from, void *y)
{
    POD_VEC_EACH(POD_VEC2_LANES, count, i, n, {
        const pod_vec2 x = pod_vec2_load(t, from, i, n);
        pod_vec2_store(t, y, i, n,
                       is_erf ? (pod_vec2){vec_erf_form(x.a), vec_erf_form(x.b)} : tanh_form(t, x));
    });
}

static void activation_gelu(int64_t count, pod_dtype t, pod_gelu_form form, const void *x, void *y)
{
    if (form == POD_GELU_ERF)
        POD_TYPED(t, gelu_as(count, T, true, x, y));
    else
        POD_TYPED(t, gelu_as(count, T, false, x, y));
}

POD_INLINE void gelu_grad_as(int64_t count, pod_dtype t, bool is_erf, const void *from,
                             const void *dy, void *dx)
{
    POD_VEC_EACH(POD_VEC2_LANES, count, i, n, {
        const pod_vec2 x = pod_vec2_load(t, from, i, n), d = pod_vec2_load(t, dy, i, n);
        const pod_vec2 slope = is_erf
                                   ? (pod_vec2){vec_erf_form_slope(x.a), vec_erf_form_slope(x.b)}
                                   : (pod_vec2){vec_tanh_form_slope(x.a), vec_tanh_form_slope(x.b)};
        pod_vec2_store(t, dx, i, n, pod_vec2_mul(d, slope));
    });
}

static void activation_gelu_grad(int64_t count, pod_dtype t, pod_gelu_form form, const void *x,
                                 const void *dy, void *dx)
{
    if (form == POD_GELU_ERF)
        POD_TYPED(t, gelu_grad_as(count, T, true, x, dy, dx));
    else
        POD_TYPED(t, gelu_grad_as(count, T, false, x, dy, dx));
}

/* ---- softmax: a row is read from memory once, and then from the cache ------------------------ */

/* y[first, end) = 0 */
POD_INLINE void clear(pod_dtype t, void *y, int64_t first, int64_t end)
{
    POD_VEC_EACH(POD_VEC_LANES, end - first, i, n,
                 { pod_vec_store(t, y, first + i, n, pod_vec_all(0)); });
}

POD_INLINE float row_max(pod_dtype t, const void *x, int64_t first, int64_t end)
{
    const pod_vec lowest = pod_vec_all(-INFINITY);
    pod_vec max = lowest;
    float lane[POD_VEC_LANES], top = -INFINITY;
    POD_VEC_EACH(POD_VEC_LANES, end - first, i, n, {
        const pod_vec v = pod_vec_load(t, x, first + i, n);
        max = pod_vec_max(pod_vec_first(n, v, lowest), max);
    });
    pod_vec_store(POD_F32, lane, 0, POD_VEC_LANES, max);
    for (int k = 0; k < POD_VEC_LANES; k++) top = lane[k] > top ? lane[k] : top;
    return top;
}

POD_INLINE double lanes_sum(const double lane[POD_VEC_LANES])
{
    double sum = 0;
    for (int k = 0; k < POD_VEC_LANES; k++) sum += lane[k];
    return sum;
}

/* Sums a term of each vector of x[first, end), as kernels/reduce does. */
#define ROW_SUM(first, end, i, n, total, ...)                                            \
    do {                                                                                 \
        enum { BLOCK = POD_SUM_SWEEPS * POD_VEC_LANES };                                 \
        for (int64_t block = (first); block < (end); block += BLOCK) {                   \
            pod_vec sum = pod_vec_all(0);                                                \
            POD_VEC_EACH(POD_VEC_LANES, pod_min((end)-block, BLOCK), of_block, n, {      \
                const int64_t i = block + of_block;                                      \
                sum = pod_vec_add(sum, pod_vec_first(n, (__VA_ARGS__), pod_vec_all(0))); \
            });                                                                          \
            pod_vec_add_f64(sum, total);                                                 \
        }                                                                                \
    } while (0)

POD_INLINE pod_vec power(pod_dtype t, const void *x, int64_t i, int n, pod_vec max, pod_vec scale)
{
    return pod_vec_exp(pod_vec_mul(scale, pod_vec_sub(pod_vec_load(t, x, i, n), max)));
}

POD_INLINE void softmax_as(int64_t rows, int64_t c, pod_dtype t, float scale,
                           const pod_row_span *spans, const void *x, void *y)
{
    const pod_vec by = pod_vec_all(scale);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t at = r * c, first = at + (spans ? spans[r].first : 0);
        const int64_t end = at + (spans ? spans[r].end : c);
        const pod_vec max = pod_vec_all(row_max(t, x, first, end));
        double total[POD_VEC_LANES] = {0};
        ROW_SUM(first, end, i, n, total, power(t, x, i, n, max, by));
        const pod_vec per_sum = pod_vec_all((float)(1 / lanes_sum(total)));
        POD_VEC_EACH(POD_VEC_LANES, end - first, i, n, {
            const pod_vec e = power(t, x, first + i, n, max, by);
            pod_vec_store(t, y, first + i, n, pod_vec_mul(e, per_sum));
        });
        clear(t, y, at, first);
        clear(t, y, end, at + c);
    }
}

static void activation_softmax(int64_t rows, int64_t c, pod_dtype t, float scale,
                               const pod_row_span *spans, const void *x, void *y)
{
    POD_TYPED(t, softmax_as(rows, c, T, scale, spans, x, y));
}

POD_INLINE void softmax_grad_as(int64_t rows, int64_t c, pod_dtype t, float scale,
                                const pod_row_span *spans, const void *y, const void *dy, void *dx)
{
    const pod_vec by = pod_vec_all(scale);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t at = r * c, first = at + (spans ? spans[r].first : 0);
        const int64_t end = at + (spans ? spans[r].end : c);
        double total[POD_VEC_LANES] = {0};
        ROW_SUM(first, end, i, n, total,
                pod_vec_mul(pod_vec_load(t, y, i, n), pod_vec_load(t, dy, i, n)));
        const pod_vec mean = pod_vec_all((float)lanes_sum(total));
        POD_VEC_EACH(POD_VEC_LANES, end - first, i, n, {
            const pod_vec d = pod_vec_sub(pod_vec_load(t, dy, first + i, n), mean);
            const pod_vec p = pod_vec_mul(by, pod_vec_load(t, y, first + i, n));
            pod_vec_store(t, dx, first + i, n, pod_vec_mul(p, d));
        });
        clear(t, dx, at, first);
        clear(t, dx, end, at + c);
    }
}

static void activation_softmax_grad(int64_t rows, int64_t c, pod_dtype t, float scale,
                                    const pod_row_span *spans, const void *y, const void *dy,
                                    void *dx)
{
    POD_TYPED(t, softmax_grad_as(rows, c, T, scale, spans, y, dy, dx));
}

const pod_activation POD_ISA(pod__activation) = {
    POD_ISA_SET,          activation_gelu,    activation_gelu_grad,   activation_tanh,
    activation_tanh_grad, activation_softmax, activation_softmax_grad};
