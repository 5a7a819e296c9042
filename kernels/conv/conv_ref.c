/* The specification of the three passes: one float32 sum for each element of the result, whose terms
 * come in the order of the loops. Operands are read into float32 first. */
#include "kernels/base/element.h"
#include "kernels/conv/conv_kernels.h"

static int64_t x_at(const pod_conv_shape *s, int64_t n, int64_t h, int64_t w)
{
    return ((n * s->h + h) * s->w + w) * s->c;
}

static int64_t w_at(const pod_conv_shape *s, int64_t k, int64_t r, int64_t t)
{
    return ((k * s->r + r) * s->s + t) * s->c;
}

static int64_t y_at(const pod_conv_shape *s, int64_t n, int64_t p, int64_t q)
{
    return ((n * s->p + p) * s->q + q) * s->k;
}

/* sum[i] += factor of[i] */
static void add_row(float *restrict sum, int64_t count, float factor, const float *restrict of)
{
    for (int64_t i = 0; i < count; i++) sum[i] += factor * of[i];
}

static void clear_row(float *sum, int64_t count)
{
    for (int64_t i = 0; i < count; i++) sum[i] = 0.0f;
}

/* ---- operands ------------------------------------------------------------------------------ */

static int64_t x_count(const pod_conv_shape *s) { return s->n * s->h * s->w * s->c; }
static int64_t w_count(const pod_conv_shape *s) { return s->k * s->r * s->s * s->c; }
static int64_t y_count(const pod_conv_shape *s) { return s->n * s->p * s->q * s->k; }

static void read_all(const pod_conv_call *call, const void *from, int64_t count, float *to)
{
    for (int64_t i = 0; i < count; i++) to[i] = pod_element_get(call->dtype, from, i);
}

/* x, changed as the call asks. */
static void read_x(const pod_conv_call *call, float *to)
{
    read_all(call, call->a, x_count(&call->shape), to);
    if (!(call->fused & POD_CONV_AFFINE_X)) return;
    const int64_t channels = call->shape.c, pixels = call->shape.n * call->shape.h * call->shape.w;
    for (int64_t pixel = 0; pixel < pixels; pixel++)
        for (int64_t c = 0; c < channels; c++, to++) {
            float v = *to * call->x_scale[c] + call->x_shift[c];
            if ((call->fused & POD_CONV_RELU_X) && v <= 0.0f) v = 0.0f;
            *to = call->dtype == POD_BF16 ? pod_bf16_to_f32(pod_bf16_from_f32(v)) : v;
        }
}

/* w as (R, S, C, K). */
static void read_w_transposed(const pod_conv_call *call, float *to)
{
    const int64_t filters = call->shape.k, taps = w_count(&call->shape) / filters;
    for (int64_t tap = 0; tap < taps; tap++)
        for (int64_t k = 0; k < filters; k++)
            *to++ = pod_element_get(call->dtype, call->b, k * taps + tap);
}

/* ---- passes -------------------------------------------------------------------------------- */

/* y[n,p,q,k] for all k */
static void y_sums(const pod_conv_shape *s, const float *x, const float *w_transposed, int64_t n,
                   int64_t p, int64_t q, float *sum)
{
    clear_row(sum, s->k);
    for (int64_t r = 0; r < s->r; r++) {
        const int64_t h = p * s->stride - s->pad_h + r;
        if (h < 0 || h >= s->h) continue;
        for (int64_t t = 0; t < s->s; t++) {
            const int64_t w = q * s->stride - s->pad_w + t;
            if (w < 0 || w >= s->w) continue;
            const float *pixel = x + x_at(s, n, h, w),
                        *tap = w_transposed + (r * s->s + t) * s->c * s->k;
            for (int64_t c = 0; c < s->c; c++) add_row(sum, s->k, pixel[c], tap + c * s->k);
        }
    }
}

/* dx[n,h,w,c] for all c: over the windows p, q and their taps r, t that lie on pixel h, w */
static void dx_sums(const pod_conv_shape *s, const float *dy, const float *filters, int64_t n,
                    int64_t h, int64_t w, float *sum)
{
    clear_row(sum, s->c);
    for (int64_t r = 0; r < s->r; r++) {
        const int64_t from_h = h + s->pad_h - r, p = from_h / s->stride;
        if (from_h < 0 || from_h % s->stride != 0 || p >= s->p) continue;
        for (int64_t t = 0; t < s->s; t++) {
            const int64_t from_w = w + s->pad_w - t, q = from_w / s->stride;
            if (from_w < 0 || from_w % s->stride != 0 || q >= s->q) continue;
            for (int64_t k = 0; k < s->k; k++)
                add_row(sum, s->c, dy[y_at(s, n, p, q) + k], filters + w_at(s, k, r, t));
        }
    }
}

/* dw[k,r,t,c] for all c */
static void dw_sums(const pod_conv_shape *s, const float *x, const float *dy, int64_t k, int64_t r,
                    int64_t t, float *sum)
{
    clear_row(sum, s->c);
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t p = 0; p < s->p; p++) {
            const int64_t h = p * s->stride - s->pad_h + r;
            if (h < 0 || h >= s->h) continue;
            for (int64_t q = 0; q < s->q; q++) {
                const int64_t w = q * s->stride - s->pad_w + t;
                if (w < 0 || w >= s->w) continue;
                add_row(sum, s->c, dy[y_at(s, n, p, q) + k], x + x_at(s, n, h, w));
            }
        }
}

static void sum_channels(const pod_conv_call *call)
{
    const int64_t rows = call->shape.n * call->shape.p * call->shape.q, k_end = call->shape.k;
    for (int64_t k = 0; k < k_end; k++) {
        double sum = 0, sum_sq = 0;
        for (int64_t row = 0; row < rows; row++) {
            const double y = (double)pod_element_get(call->dtype, call->out, row * k_end + k);
            sum += y;
            sum_sq += y * y;
        }
        call->sum[k] = (float)sum;
        call->sum_sq[k] = (float)sum_sq;
    }
}

static void forward(const pod_conv_call *call, float *x, float *w_transposed, float *sum)
{
    const pod_conv_shape *s = &call->shape;
    read_x(call, x), read_w_transposed(call, w_transposed);
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t p = 0; p < s->p; p++)
            for (int64_t q = 0; q < s->q; q++) {
                y_sums(s, x, w_transposed, n, p, q, sum);
                for (int64_t k = 0; k < s->k; k++) {
                    float y = sum[k];
                    if (call->fused & POD_CONV_BIAS) y += call->bias[k];
                    if ((call->fused & POD_CONV_RELU) && y <= 0.0f) y = 0.0f;
                    pod_element_put(call->dtype, call->out, y_at(s, n, p, q) + k, y);
                }
            }
    if (call->fused & POD_CONV_SUMS) sum_channels(call);
}

static void input_grad(const pod_conv_call *call, float *dy, float *filters, float *sum)
{
    const pod_conv_shape *s = &call->shape;
    read_all(call, call->a, y_count(s), dy), read_all(call, call->b, w_count(s), filters);
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t h = 0; h < s->h; h++)
            for (int64_t w = 0; w < s->w; w++) {
                dx_sums(s, dy, filters, n, h, w, sum);
                for (int64_t c = 0; c < s->c; c++)
                    pod_element_put(call->dtype, call->out, x_at(s, n, h, w) + c, sum[c]);
            }
}

static void weight_grad(const pod_conv_call *call, float *x, float *dy, float *sum)
{
    const pod_conv_shape *s = &call->shape;
    (void)sum;
    read_x(call, x), read_all(call, call->b, y_count(s), dy);
    for (int64_t k = 0; k < s->k; k++)
        for (int64_t r = 0; r < s->r; r++)
            for (int64_t t = 0; t < s->s; t++)
                dw_sums(s, x, dy, k, r, t, (float *)call->out + w_at(s, k, r, t));
}

const char *pod__conv_ref_why_not(const pod_conv_call *call)
{
    return call->fused & POD_CONV_PACKED_W ? "it has no packed layout" : NULL;
}

static int64_t a_count(const pod_conv_call *call)
{
    return call->pass == POD_CONV_INPUT_GRAD ? y_count(&call->shape) : x_count(&call->shape);
}
static int64_t b_count(const pod_conv_call *call)
{
    return call->pass == POD_CONV_WEIGHT_GRAD ? y_count(&call->shape) : w_count(&call->shape);
}

/* The operands, and a row of sums. */
size_t pod__conv_ref_scratch_bytes(const pod_conv_call *call)
{
    const int64_t c = call->shape.c, k = call->shape.k;
    return (size_t)(a_count(call) + b_count(call) + (c > k ? c : k)) * sizeof(float);
}

void pod__conv_ref_run(const pod_conv_call *call, void *scratch)
{
    static void (*const passes[POD_N_CONV_PASSES])(const pod_conv_call *, float *a, float *b,
                                                   float *sum) = {
        [POD_CONV_FORWARD] = forward,
        [POD_CONV_INPUT_GRAD] = input_grad,
        [POD_CONV_WEIGHT_GRAD] = weight_grad,
    };
    float *a = scratch, *b = a + a_count(call);
    passes[call->pass](call, a, b, b + b_count(call));
}
