/* The specification of the three passes: one float32 sum for each element of the result. */
#include "kernels/base/element.h"
#include "kernels/base/sets.h"
#include "kernels/depthwise/depthwise.h"

static int64_t x_at(const pod_depthwise_shape *s, int64_t n, int64_t h, int64_t w, int64_t c)
{
    return ((n * s->h + h) * s->w + w) * s->c + c;
}

static int64_t w_at(const pod_depthwise_shape *s, int64_t r, int64_t t, int64_t c)
{
    return (r * s->s + t) * s->c + c;
}

static int64_t y_at(const pod_depthwise_shape *s, int64_t n, int64_t p, int64_t q, int64_t c)
{
    return ((n * s->p + p) * s->q + q) * s->c + c;
}

static float get(const pod_depthwise_call *call, const void *data, int64_t i)
{
    return pod_element_get(call->dtype, data, i);
}

/* y[n,p,q,c] */
static float y_sum(const pod_depthwise_call *call, int64_t n, int64_t p, int64_t q, int64_t c)
{
    const pod_depthwise_shape *s = &call->shape;
    float sum = 0.0f;
    for (int64_t r = 0; r < s->r; r++) {
        const int64_t h = p * s->stride - s->pad_h + r;
        if (h < 0 || h >= s->h) continue;
        for (int64_t t = 0; t < s->s; t++) {
            const int64_t w = q * s->stride - s->pad_w + t;
            if (w < 0 || w >= s->w) continue;
            sum += get(call, call->a, x_at(s, n, h, w, c)) * get(call, call->b, w_at(s, r, t, c));
        }
    }
    return sum;
}

/* dx[n,h,w,c] = sum over the windows p, q and their taps r, t that lie on pixel h, w */
static float dx_sum(const pod_depthwise_call *call, int64_t n, int64_t h, int64_t w, int64_t c)
{
    const pod_depthwise_shape *s = &call->shape;
    float sum = 0.0f;
    for (int64_t r = 0; r < s->r; r++) {
        const int64_t from_h = h + s->pad_h - r, p = from_h / s->stride;
        if (from_h < 0 || from_h % s->stride != 0 || p >= s->p) continue;
        for (int64_t t = 0; t < s->s; t++) {
            const int64_t from_w = w + s->pad_w - t, q = from_w / s->stride;
            if (from_w < 0 || from_w % s->stride != 0 || q >= s->q) continue;
            sum += get(call, call->a, y_at(s, n, p, q, c)) * get(call, call->b, w_at(s, r, t, c));
        }
    }
    return sum;
}

/* dw[r,t,c] */
static float dw_sum(const pod_depthwise_call *call, int64_t r, int64_t t, int64_t c)
{
    const pod_depthwise_shape *s = &call->shape;
    float sum = 0.0f;
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t p = 0; p < s->p; p++) {
            const int64_t h = p * s->stride - s->pad_h + r;
            if (h < 0 || h >= s->h) continue;
            for (int64_t q = 0; q < s->q; q++) {
                const int64_t w = q * s->stride - s->pad_w + t;
                if (w < 0 || w >= s->w) continue;
                sum += get(call, call->a, x_at(s, n, h, w, c)) *
                       get(call, call->b, y_at(s, n, p, q, c));
            }
        }
    return sum;
}

static void sum_channels(const pod_depthwise_call *call)
{
    const int64_t rows = call->shape.n * call->shape.p * call->shape.q, c_end = call->shape.c;
    for (int64_t c = 0; c < c_end; c++) {
        double sum = 0, sum_sq = 0;
        for (int64_t row = 0; row < rows; row++) {
            const double y = (double)get(call, call->out, row * c_end + c);
            sum += y;
            sum_sq += y * y;
        }
        call->sum[c] = (float)sum;
        call->sum_sq[c] = (float)sum_sq;
    }
}

static void forward(const pod_depthwise_call *call)
{
    const pod_depthwise_shape *s = &call->shape;
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t p = 0; p < s->p; p++)
            for (int64_t q = 0; q < s->q; q++)
                for (int64_t c = 0; c < s->c; c++)
                    pod_element_put(call->dtype, call->out, y_at(s, n, p, q, c),
                                    y_sum(call, n, p, q, c));
    if (call->fused & POD_DEPTHWISE_SUMS) sum_channels(call);
}

static void input_grad(const pod_depthwise_call *call)
{
    const pod_depthwise_shape *s = &call->shape;
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t h = 0; h < s->h; h++)
            for (int64_t w = 0; w < s->w; w++)
                for (int64_t c = 0; c < s->c; c++)
                    pod_element_put(call->dtype, call->out, x_at(s, n, h, w, c),
                                    dx_sum(call, n, h, w, c));
}

static void weight_grad(const pod_depthwise_call *call)
{
    const pod_depthwise_shape *s = &call->shape;
    for (int64_t r = 0; r < s->r; r++)
        for (int64_t t = 0; t < s->s; t++)
            for (int64_t c = 0; c < s->c; c++)
                ((float *)call->out)[w_at(s, r, t, c)] = dw_sum(call, r, t, c);
}

static size_t depthwise_scratch_bytes(const pod_depthwise_call *call)
{
    (void)call;
    return 0;
}

static void depthwise_run(const pod_depthwise_call *call, void *scratch)
{
    static void (*const passes[POD_N_DEPTHWISE_PASSES])(const pod_depthwise_call *) = {
        [POD_DEPTHWISE_FORWARD] = forward,
        [POD_DEPTHWISE_INPUT_GRAD] = input_grad,
        [POD_DEPTHWISE_WEIGHT_GRAD] = weight_grad,
    };
    (void)scratch;
    passes[call->pass](call);
}

const pod_depthwise pod__depthwise_ref = {"ref", 0, depthwise_scratch_bytes, depthwise_run};

POD_SETS_BF16(depthwise)
