/* Batch normalization in vectors, compiled once for each instruction set. What is elementwise has
 * the roundings of the reference, in its order, so the same bits; sums are short in float32, then
 * combined in double. */
#include <stdbool.h>
#include <stddef.h>

#include "kernels/base/simd/simd.h"
#include "kernels/norm/norm.h"
#include "kernels/norm/norm_parts.h"

/* ---- types --------------------------------------------------------------------------------- */

/* A kind of call whose arguments the compiler knows is a function of its own: with all kinds in one,
 * gcc takes minutes. */
#define NORM_FUNCTION static __attribute__((noinline, noclone))

/* Compiled for each kind; under the address sanitizer, which makes many branches of each, once. */
#ifdef __SANITIZE_ADDRESS__
#define NORM_EACH_KIND NORM_FUNCTION
#else
#define NORM_EACH_KIND POD_INLINE
#endif

/* How values may be stored: T(name, x, beside, out). */
#define NORM_TYPES(T)                           \
    T(f32, POD_F32, POD_F32, POD_F32)           \
    T(bf16, POD_BF16, POD_BF16, POD_BF16)       \
    T(bf16_to_f32, POD_BF16, POD_BF16, POD_F32) \
    T(f32_to_bf16, POD_BF16, POD_F32, POD_BF16) \
    T(f32_f32, POD_BF16, POD_F32, POD_F32)

/* Calls <function>_<name> of the types. */
#define NORM_CALL(t, function, ...)                             \
    do {                                                        \
        if ((t).x == POD_F32)                                   \
            function##_f32(__VA_ARGS__);                        \
        else if ((t).beside == POD_BF16 && (t).out == POD_BF16) \
            function##_bf16(__VA_ARGS__);                       \
        else if ((t).beside == POD_BF16)                        \
            function##_bf16_to_f32(__VA_ARGS__);                \
        else if ((t).out == POD_BF16)                           \
            function##_f32_to_bf16(__VA_ARGS__);                \
        else                                                    \
            function##_f32_f32(__VA_ARGS__);                    \
    } while (0)

/* The type in whose order elements stand in a pair: bf16 where all are, else float32, one behind
 * the other. */
POD_INLINE pod_dtype norm_order(pod_norm_types t)
{
    return t.beside == POD_BF16 && t.out == POD_BF16 ? POD_BF16 : POD_F32;
}

/* pod_vec2_load of what is stored as `from`, and pod_vec2_store_past. */
POD_INLINE pod_vec2 norm_load(pod_norm_types t, pod_dtype from, const void *data, int64_t i, int n)
{
    if (norm_order(t) == POD_BF16) return pod_vec2_load(POD_BF16, data, i, n);
    return pod_vec2_load_flat(from, data, i, n);
}
POD_INLINE void norm_store(pod_norm_types t, bool past, void *data, int64_t i, int n, pod_vec2 x)
{
    if (norm_order(t) == t.out)
        pod_vec2_store_past(t.out, past, data, i, n, x);
    else if (past && n == POD_VEC2_LANES)
        pod_vec16_store_past(data, i, pod_vec16_narrow(x.a, x.b));
    else
        pod_vec2_store_flat(t.out, data, i, n, x);
}

/* norm_load of what lies where x > y, and 0 elsewhere. */
POD_INLINE pod_vec2 norm_load_where(pod_norm_types t, pod_vec2 x, pod_vec2 y, const void *data,
                                    int64_t i, int n)
{
    if (t.beside == norm_order(t)) return pod_vec2_load_where(x, y, t.beside, data, i, n);
    const pod_vec2 v = pod_vec2_load_flat(t.beside, data, i, n);
    const pod_vec zero = pod_vec_all(0);
    return (pod_vec2){pod_vec_select(pod_vec_gt(x.a, y.a), v.a, zero),
                      pod_vec_select(pod_vec_gt(x.b, y.b), v.b, zero)};
}

#include "kernels/norm/norm_sums.inc"

/* ---- what is elementwise ------------------------------------------------------------------- */

NORM_EACH_KIND void apply_as(int64_t rows, int64_t c, pod_norm_types t, const void *x,
                             const float *mean, const float *rstd, const float *gamma,
                             const float *beta, void *y)
{
    _Alignas(64) float m[POD_TILE_MAX], r[POD_TILE_MAX], k[POD_TILE_MAX], b[POD_TILE_MAX];
    for (int64_t first = 0; first < c; first += POD_TILE_MAX) {
        const pod_tile tile = pod_tile_at(rows, c, first, POD_VEC2_LANES);
        pod_vec2_spread(norm_order(t), &tile, mean, m);
        pod_vec2_spread(norm_order(t), &tile, rstd, r);
        pod_vec2_spread(norm_order(t), &tile, gamma, k);
        pod_vec2_spread(norm_order(t), &tile, beta, b);
        for (int64_t i = 0; i < tile.rep * tile.cols; i += POD_VEC2_LANES)
            pod_vec2_put(k, i, pod_vec2_mul(pod_vec2_at(k, i), pod_vec2_at(r, i)));
        const bool past = y != x && pod_goes_past(y, t.out, rows * c, tile.rep * c);
        for (int64_t row = 0; row < rows; row += tile.rep) {
            const int64_t at = row * c + first;
            POD_VEC_EACH(POD_VEC2_LANES, pod_tile_width(&tile, rows - row), i, n, {
                pod_vec2_ahead(t.x, x, at + i, pod_ahead_elements(norm_order(t)));
                const pod_vec2 centred =
                    pod_vec2_sub(norm_load(t, t.x, x, at + i, n), pod_vec2_at(m, i));
                const pod_vec2 scaled = pod_vec2_mul(centred, pod_vec2_at(k, i));
                norm_store(t, past, y, at + i, n, pod_vec2_add(scaled, pod_vec2_at(b, i)));
            });
        }
        if (past) pod_vec_past_end();
    }
}

#define APPLY(type, tx, tbeside, tout)                                                         \
    NORM_FUNCTION void apply_##type(int64_t rows, int64_t c, const void *x, const float *mean, \
                                    const float *rstd, const float *gamma, const float *beta,  \
                                    void *y)                                                   \
    {                                                                                          \
        apply_as(rows, c, (pod_norm_types){tx, tbeside, tout}, x, mean, rstd, gamma, beta, y); \
    }
NORM_TYPES(APPLY)

static void norm_apply(int64_t rows, int64_t c, pod_norm_types t, const void *x, const float *mean,
                       const float *rstd, const float *gamma, const float *beta, void *y)
{
    t.beside = t.out; /* there is nothing beside x */
    NORM_CALL(t, apply, rows, c, x, mean, rstd, gamma, beta, y);
}

/* What is added before the activation: nothing, res, or res res_scale + res_shift. */
typedef enum residual { RES_NONE, RES_PLAIN, RES_SCALED } residual;

typedef struct act_tile {
    _Alignas(64) float scale[POD_TILE_MAX], shift[POD_TILE_MAX];
    float res_scale[POD_TILE_MAX], res_shift[POD_TILE_MAX];
} act_tile;

POD_INLINE void apply_act_row(pod_norm_types t, residual with, pod_norm_act act, bool past,
                              int64_t at, int64_t width, const void *x, const void *res,
                              const act_tile *of, void *y)
{
    POD_VEC_EACH(POD_VEC2_LANES, width, i, n, {
        pod_vec2_ahead(t.x, x, at + i, pod_ahead_elements(norm_order(t)));
        if (with != RES_NONE)
            pod_vec2_ahead(t.beside, res, at + i, pod_ahead_elements(norm_order(t)));
        const pod_vec2 xi = norm_load(t, t.x, x, at + i, n);
        const pod_vec2 scaled = pod_vec2_mul(xi, pod_vec2_at(of->scale, i));
        pod_vec2 v = pod_vec2_add(scaled, pod_vec2_at(of->shift, i));
        if (with != RES_NONE) {
            pod_vec2 r = norm_load(t, t.beside, res, at + i, n);
            if (with == RES_SCALED) {
                r = pod_vec2_mul(r, pod_vec2_at(of->res_scale, i));
                r = pod_vec2_add(r, pod_vec2_at(of->res_shift, i));
            }
            v = pod_vec2_add(v, r);
        }
        if (act == POD_NORM_RELU) v = pod_vec2_relu(v);
        if (act == POD_NORM_SWISH) v = pod_vec2_swish(t.out, v);
        norm_store(t, past, y, at + i, n, v);
    });
}

/* A tile of rows x c elements of x. */
typedef struct act_call {
    const pod_tile *tile;
    int64_t rows, c;
    const void *x, *res;
    const act_tile *of;
    void *y;
} act_call;

NORM_EACH_KIND void apply_act_tile(pod_norm_types t, residual with, pod_norm_act act,
                                   const act_call *p)
{
    const pod_tile *tile = p->tile;
    const bool past = p->y != p->x && p->y != p->res &&
                      pod_goes_past(p->y, t.out, p->rows * p->c, tile->rep * p->c);
    for (int64_t row = 0; row < p->rows; row += tile->rep)
        apply_act_row(t, with, act, past, row * p->c + tile->first,
                      pod_tile_width(tile, p->rows - row), p->x, p->res, p->of, p->y);
    if (past) pod_vec_past_end();
}

#define APPLY_ACT_KIND(name, x, beside, out, with, act)                 \
    NORM_FUNCTION void name(const act_call *p)                          \
    {                                                                   \
        apply_act_tile((pod_norm_types){x, beside, out}, with, act, p); \
    }
#define APPLY_ACT(type, x, beside, out)                                               \
    APPLY_ACT_KIND(act_##type, x, beside, out, RES_NONE, POD_NORM_NO_ACT)             \
    APPLY_ACT_KIND(act_relu_##type, x, beside, out, RES_NONE, POD_NORM_RELU)          \
    APPLY_ACT_KIND(act_swish_##type, x, beside, out, RES_NONE, POD_NORM_SWISH)        \
    APPLY_ACT_KIND(act_plain_##type, x, beside, out, RES_PLAIN, POD_NORM_NO_ACT)      \
    APPLY_ACT_KIND(act_plain_relu_##type, x, beside, out, RES_PLAIN, POD_NORM_RELU)   \
    APPLY_ACT_KIND(act_scaled_##type, x, beside, out, RES_SCALED, POD_NORM_NO_ACT)    \
    APPLY_ACT_KIND(act_scaled_relu_##type, x, beside, out, RES_SCALED, POD_NORM_RELU) \
    static void apply_act_##type(residual with, pod_norm_act act, const act_call *p)  \
    {                                                                                 \
        const bool relu = act == POD_NORM_RELU;                                       \
        if (with == RES_SCALED)                                                       \
            relu ? act_scaled_relu_##type(p) : act_scaled_##type(p);                  \
        else if (with == RES_PLAIN)                                                   \
            relu ? act_plain_relu_##type(p) : act_plain_##type(p);                    \
        else if (act == POD_NORM_SWISH)                                               \
            act_swish_##type(p);                                                      \
        else                                                                          \
            relu ? act_relu_##type(p) : act_##type(p);                                \
    }
NORM_TYPES(APPLY_ACT)

/* A shift that is not -0 makes no sum -0, and max(., 0) is one comparison. */
POD_INLINE void tile_without_minus_zero(const pod_tile *tile, float *shift)
{
    const pod_vec2 zero = pod_vec2_all(0);
    for (int64_t i = 0; i < pod_tile_width(tile, tile->rep); i += POD_VEC2_LANES)
        pod_vec2_put(shift, i, pod_vec2_add(pod_vec2_at(shift, i), zero));
}

static void norm_apply_act(int64_t rows, int64_t c, pod_norm_types t, const void *x,
                           const float *scale, const float *shift, const void *res,
                           const float *res_scale, const float *res_shift, pod_norm_act act,
                           void *y)
{
    const residual with = !res ? RES_NONE : res_scale ? RES_SCALED : RES_PLAIN;
    if (!res) t.beside = t.out;
    act_tile of;
    for (int64_t first = 0; first < c; first += POD_TILE_MAX) {
        const pod_tile tile = pod_tile_at(rows, c, first, POD_VEC2_LANES);
        pod_vec2_spread(norm_order(t), &tile, scale, of.scale);
        pod_vec2_spread(norm_order(t), &tile, shift, of.shift);
        if (act == POD_NORM_RELU) tile_without_minus_zero(&tile, of.shift);
        if (with == RES_SCALED) {
            pod_vec2_spread(norm_order(t), &tile, res_scale, of.res_scale);
            pod_vec2_spread(norm_order(t), &tile, res_shift, of.res_shift);
        }
        const act_call call = {&tile, rows, c, x, res, &of, y};
        NORM_CALL(t, apply_act, with, act, &call);
    }
}

/* Coefficients of grad_apply, and of its gate, for the rows taken as one. */
typedef struct slopes {
    _Alignas(64) float along[POD_TILE_MAX], scale[POD_TILE_MAX], offset[POD_TILE_MAX];
    float act_scale[POD_TILE_MAX], act_minus_shift[POD_TILE_MAX];
} slopes;

typedef struct grad_of {
    int64_t rows, c;
    double count;
    const void *x, *dy;
    const float *mean, *rstd, *gamma, *dgamma, *dbeta, *act_scale, *act_shift;
    void *dx;
} grad_of;

/* Worked out once a column: divisions are slow. */
POD_INLINE void slopes_spread(gate by, pod_norm_types t, const pod_tile *tile, const grad_of *p,
                              slopes *out)
{
    const pod_tile here = {0, tile->cols, tile->rep};
    float along[POD_TILE_MAX], scale[POD_TILE_MAX], offset[POD_TILE_MAX], minus[POD_TILE_MAX];
    for (int64_t i = 0; i < tile->cols; i++) {
        const int64_t j = tile->first + i;
        const pod__norm_slope k = pod__norm_slope_of(p->count, p->mean[j], p->rstd[j], p->gamma[j],
                                                     p->dgamma[j], p->dbeta[j]);
        along[i] = k.along;
        scale[i] = k.scale;
        offset[i] = k.offset;
        minus[i] = by == GATE_BY_X ? -p->act_shift[j] : 0;
    }
    pod_vec2_spread(norm_order(t), &here, along, out->along);
    pod_vec2_spread(norm_order(t), &here, scale, out->scale);
    pod_vec2_spread(norm_order(t), &here, offset, out->offset);
    if (by == GATE_OPEN) return;
    pod_vec2_spread(norm_order(t), tile, p->act_scale, out->act_scale);
    pod_vec2_spread(norm_order(t), &here, minus, out->act_minus_shift);
}

/* The gate as in pair_gradient. */
POD_INLINE void grad_apply_row(gate by, pod_norm_types t, bool past, int64_t at, int64_t width,
                               const void *x, const void *dy, const slopes *k, void *dx)
{
    POD_VEC_EACH(POD_VEC2_LANES, width, i, n, {
        pod_vec2_ahead(t.x, x, at + i, pod_ahead_elements(norm_order(t)));
        pod_vec2_ahead(t.beside, dy, at + i, pod_ahead_elements(norm_order(t)));
        const pod_vec2 xi = norm_load(t, t.x, x, at + i, n);
        pod_vec2 g;
        if (by == GATE_BY_X)
            g = norm_load_where(t, pod_vec2_mul(xi, pod_vec2_at(k->act_scale, i)),
                                pod_vec2_at(k->act_minus_shift, i), dy, at + i, n);
        else
            g = norm_load(t, t.beside, dy, at + i, n);
        g = pod_vec2_fma(g, pod_vec2_at(k->scale, i), pod_vec2_at(k->offset, i));
        g = pod_vec2_fma(xi, pod_vec2_at(k->along, i), g);
        norm_store(t, past, dx, at + i, n, g);
    });
}

NORM_EACH_KIND void grad_apply_as(gate by, pod_norm_types t, const grad_of *p)
{
    slopes k;
    for (int64_t first = 0; first < p->c; first += POD_TILE_MAX) {
        const pod_tile tile = pod_tile_at(p->rows, p->c, first, POD_VEC2_LANES);
        const bool past = p->dx != p->x && p->dx != p->dy &&
                          pod_goes_past(p->dx, t.out, p->rows * p->c, tile.rep * p->c);
        slopes_spread(by, t, &tile, p, &k);
        for (int64_t row = 0; row < p->rows; row += tile.rep)
            grad_apply_row(by, t, past, row * p->c + first, pod_tile_width(&tile, p->rows - row),
                           p->x, p->dy, &k, p->dx);
        if (past) pod_vec_past_end();
    }
}

#define GRAD_APPLY(type, x, beside, out)                               \
    NORM_FUNCTION void grad_apply_##type(const grad_of *p)             \
    {                                                                  \
        grad_apply_as(GATE_OPEN, (pod_norm_types){x, beside, out}, p); \
    }                                                                  \
    NORM_FUNCTION void grad_apply_act_##type(const grad_of *p)         \
    {                                                                  \
        grad_apply_as(GATE_BY_X, (pod_norm_types){x, beside, out}, p); \
    }
NORM_TYPES(GRAD_APPLY)

static void norm_grad_apply(int64_t rows, int64_t c, double count, pod_norm_types t, const void *x,
                            const void *dy, const float *mean, const float *rstd,
                            const float *gamma, const float *dgamma, const float *dbeta, void *dx)
{
    const grad_of p = {rows, c, count, x, dy, mean, rstd, gamma, dgamma, dbeta, NULL, NULL, dx};
    NORM_CALL(t, grad_apply, &p);
}

static void norm_grad_apply_act(int64_t rows, int64_t c, double count, pod_norm_types t,
                                const void *x, const void *dz, const float *scale,
                                const float *shift, const float *mean, const float *rstd,
                                const float *gamma, const float *dgamma, const float *dbeta,
                                void *dx)
{
    const grad_of p = {rows, c, count, x, dz, mean, rstd, gamma, dgamma, dbeta, scale, shift, dx};
    NORM_CALL(t, grad_apply_act, &p);
}

const pod_norm POD_ISA(pod__norm) = {
    POD_ISA_SET,     norm_sums,      pod__norm_moments, norm_apply,         norm_grad_sums,
    norm_grad_apply, pod__norm_fold, norm_apply_act,    norm_grad_sums_act, norm_grad_apply_act};
