/* The specification of the three passes: one float32 sum for each element of the result. */
#include "kernels/base/element.h"
#include "kernels/conv/conv_kernels.h"

static int64_t x_at(const pod_conv_shape *s, int64_t n, int64_t h, int64_t w, int64_t c)
{
    return ((n * s->h + h) * s->w + w) * s->c + c;
}

static int64_t w_at(const pod_conv_shape *s, int64_t k, int64_t r, int64_t t, int64_t c)
{
    return ((k * s->r + r) * s->s + t) * s->c + c;
}

static int64_t y_at(const pod_conv_shape *s, int64_t n, int64_t p, int64_t q, int64_t k)
{
    return ((n * s->p + p) * s->q + q) * s->k + k;
}

/* A pixel of x, changed as the call asks. */
static float x_value(const pod_conv_call *call, int64_t at)
{
    const float x = pod_element_get(call->dtype, call->a, at);
    if (!(call->fused & POD_CONV_AFFINE_X)) return x;
    const int64_t c = at % call->shape.c;
    float v = x * call->x_scale[c] + call->x_shift[c];
    if ((call->fused & POD_CONV_RELU_X) && v <= 0.0f) v = 0.0f;
    return call->dtype == POD_BF16 ? pod_bf16_to_f32(pod_bf16_from_f32(v)) : v;
}

/* y[n,p,q,k] */
static float y_sum(const pod_conv_call *call, int64_t n, int64_t p, int64_t q, int64_t k)
{
    const pod_conv_shape *s = &call->shape;
    float sum = 0.0f;
    for (int64_t r = 0; r < s->r; r++) {
        const int64_t h = p * s->stride - s->pad_h + r;
        if (h < 0 || h >= s->h) continue;
        for (int64_t t = 0; t < s->s; t++) {
            const int64_t w = q * s->stride - s->pad_w + t;
            if (w < 0 || w >= s->w) continue;
            for (int64_t c = 0; c < s->c; c++)
                sum += x_value(call, x_at(s, n, h, w, c)) *
                       pod_element_get(call->dtype, call->b, w_at(s, k, r, t, c));
        }
    }
    if (call->fused & POD_CONV_BIAS) sum += call->bias[k];
    return (call->fused & POD_CONV_RELU) && sum <= 0.0f ? 0.0f : sum;
}

/* dx[n,h,w,c] = sum over the windows p, q and their taps r, t that lie on pixel h, w */
static float dx_sum(const pod_conv_call *call, int64_t n, int64_t h, int64_t w, int64_t c)
{
    const pod_conv_shape *s = &call->shape;
    float sum = 0.0f;
    for (int64_t r = 0; r < s->r; r++) {
        const int64_t from_h = h + s->pad_h - r, p = from_h / s->stride;
        if (from_h < 0 || from_h % s->stride != 0 || p >= s->p) continue;
        for (int64_t t = 0; t < s->s; t++) {
            const int64_t from_w = w + s->pad_w - t, q = from_w / s->stride;
            if (from_w < 0 || from_w % s->stride != 0 || q >= s->q) continue;
            for (int64_t k = 0; k < s->k; k++)
                sum += pod_element_get(call->dtype, call->a, y_at(s, n, p, q, k)) *
                       pod_element_get(call->dtype, call->b, w_at(s, k, r, t, c));
        }
    }
    return sum;
}

/* dw[k,r,t,c] */
static float dw_sum(const pod_conv_call *call, int64_t k, int64_t r, int64_t t, int64_t c)
{
    const pod_conv_shape *s = &call->shape;
    float sum = 0.0f;
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t p = 0; p < s->p; p++) {
            const int64_t h = p * s->stride - s->pad_h + r;
            if (h < 0 || h >= s->h) continue;
            for (int64_t q = 0; q < s->q; q++) {
                const int64_t w = q * s->stride - s->pad_w + t;
                if (w < 0 || w >= s->w) continue;
                sum += x_value(call, x_at(s, n, h, w, c)) *
                       pod_element_get(call->dtype, call->b, y_at(s, n, p, q, k));
            }
        }
    return sum;
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

static void forward(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t p = 0; p < s->p; p++)
            for (int64_t q = 0; q < s->q; q++)
                for (int64_t k = 0; k < s->k; k++)
                    pod_element_put(call->dtype, call->out, y_at(s, n, p, q, k),
                                    y_sum(call, n, p, q, k));
    if (call->fused & POD_CONV_SUMS) sum_channels(call);
}

static void input_grad(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t h = 0; h < s->h; h++)
            for (int64_t w = 0; w < s->w; w++)
                for (int64_t c = 0; c < s->c; c++)
                    pod_element_put(call->dtype, call->out, x_at(s, n, h, w, c),
                                    dx_sum(call, n, h, w, c));
}

static void weight_grad(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    for (int64_t k = 0; k < s->k; k++)
        for (int64_t r = 0; r < s->r; r++)
            for (int64_t t = 0; t < s->s; t++)
                for (int64_t c = 0; c < s->c; c++)
                    pod_element_put(POD_F32, call->out, w_at(s, k, r, t, c),
                                    dw_sum(call, k, r, t, c));
}

const char *pod__conv_ref_why_not(const pod_conv_call *call)
{
    return call->fused & POD_CONV_PACKED_W ? "it has no packed layout" : NULL;
}

size_t pod__conv_ref_scratch_bytes(const pod_conv_call *call)
{
    (void)call;
    return 0;
}

void pod__conv_ref_run(const pod_conv_call *call, void *scratch)
{
    static void (*const passes[POD_N_CONV_PASSES])(const pod_conv_call *) = {
        [POD_CONV_FORWARD] = forward,
        [POD_CONV_INPUT_GRAD] = input_grad,
        [POD_CONV_WEIGHT_GRAD] = weight_grad,
    };
    (void)scratch;
    passes[call->pass](call);
}
