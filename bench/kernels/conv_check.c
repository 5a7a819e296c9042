#include <math.h>

#include "bench/kernels/conv.h"

typedef struct sum {
    double value, abs, slack; /* slack: what terms may differ by before they are added */
    int64_t n_terms;
} sum;

typedef struct asked {
    const pod_problem *problem;
    const pod_conv_shape *shape;
    const pod_convolution *operands;
    bool is_depthwise; /* the output channel is the input channel */
} asked;

static void add_term(sum *s, double a, double b)
{
    s->value += a * b;
    s->abs += fabs(a * b);
    s->n_terms++;
}

static double rounded(pod_dtype t, float x)
{
    return (double)(t == POD_BF16 ? pod_bf16_to_f32(pod_bf16_from_f32(x)) : x);
}

/* x as the sum reads it: scaled and shifted with one rounding or two, which may end as different
 * bfloat16; *slack is by how much. */
static double input(const asked *a, int64_t at, double *slack)
{
    const pod_convolution *o = a->operands;
    const double x = pod_operand_value(&o->x, at);
    *slack = 0;
    if (!(a->problem->fused & POD_CONV_AFFINE_X)) return x;
    const int64_t c = at % a->shape->c;
    const float scale = (float)pod_operand_value(&o->x_scale, c);
    const float shift = (float)pod_operand_value(&o->x_shift, c);
    const float product = (float)x * scale;
    double once = rounded(a->problem->dtype, fmaf((float)x, scale, shift));
    double twice = rounded(a->problem->dtype, product + shift);
    if (a->problem->fused & POD_CONV_RELU_X) {
        once = fmax(once, 0);
        twice = fmax(twice, 0);
    }
    *slack = fabs(once - twice);
    return once;
}

static int64_t x_at(const pod_conv_shape *s, int64_t n, int64_t h, int64_t w, int64_t c)
{
    return ((n * s->h + h) * s->w + w) * s->c + c;
}

static int64_t y_at(const pod_conv_shape *s, int64_t n, int64_t p, int64_t q, int64_t k)
{
    return ((n * s->p + p) * s->q + q) * s->k + k;
}

static int64_t w_at(const asked *a, int64_t k, int64_t r, int64_t t, int64_t c)
{
    const pod_conv_shape *s = a->shape;
    return a->is_depthwise ? (r * s->s + t) * s->c + c : ((k * s->r + r) * s->s + t) * s->c + c;
}

/* at: n p q k */
static sum forward(const asked *a, const int64_t at[4])
{
    const pod_conv_shape *s = a->shape;
    const int64_t first = a->is_depthwise ? at[3] : 0, end = a->is_depthwise ? at[3] + 1 : s->c;
    sum total = {0};
    for (int64_t r = 0; r < s->r; r++)
        for (int64_t t = 0; t < s->s; t++) {
            const int64_t h = at[1] * s->stride - s->pad_h + r;
            const int64_t w = at[2] * s->stride - s->pad_w + t;
            if (h < 0 || h >= s->h || w < 0 || w >= s->w) continue;
            for (int64_t c = first; c < end; c++) {
                double slack;
                const double x = input(a, x_at(s, at[0], h, w, c), &slack);
                const double weight = pod_operand_value(&a->operands->w, w_at(a, at[3], r, t, c));
                add_term(&total, x, weight);
                total.slack += slack * fabs(weight);
            }
        }
    const unsigned fused = a->problem->fused;
    if (fused & POD_CONV_BIAS) add_term(&total, pod_operand_value(&a->operands->bias, at[3]), 1);
    if (fused & POD_CONV_RELU) total.value = fmax(total.value, 0);
    return total;
}

/* The output that place `at` of the image gives to, through row or column `r` of the filter; -1:
 * there is none. */
static int64_t giver(int64_t at, int64_t r, int64_t pad, int64_t stride, int64_t n)
{
    const int64_t from = at + pad - r;
    return from < 0 || from % stride != 0 || from / stride >= n ? -1 : from / stride;
}

/* at: n h w c */
static sum input_grad(const asked *a, const int64_t at[4])
{
    const pod_conv_shape *s = a->shape;
    const int64_t first = a->is_depthwise ? at[3] : 0, end = a->is_depthwise ? at[3] + 1 : s->k;
    sum total = {0};
    for (int64_t r = 0; r < s->r; r++)
        for (int64_t t = 0; t < s->s; t++) {
            const int64_t p = giver(at[1], r, s->pad_h, s->stride, s->p);
            const int64_t q = giver(at[2], t, s->pad_w, s->stride, s->q);
            for (int64_t k = first; p >= 0 && q >= 0 && k < end; k++)
                add_term(&total, pod_operand_value(&a->operands->y, y_at(s, at[0], p, q, k)),
                         pod_operand_value(&a->operands->w, w_at(a, k, r, t, at[3])));
        }
    return total;
}

/* at: k r s c */
static sum weight_grad(const asked *a, const int64_t at[4])
{
    const pod_conv_shape *s = a->shape;
    const int64_t k = a->is_depthwise ? at[3] : at[0];
    sum total = {0};
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t p = 0; p < s->p; p++)
            for (int64_t q = 0; q < s->q; q++) {
                const int64_t h = p * s->stride - s->pad_h + at[1];
                const int64_t w = q * s->stride - s->pad_w + at[2];
                if (h < 0 || h >= s->h || w < 0 || w >= s->w) continue;
                double slack;
                const double x = input(a, x_at(s, n, h, w, at[3]), &slack);
                const double dy = pod_operand_value(&a->operands->y, y_at(s, n, p, q, k));
                add_term(&total, x, dy);
                total.slack += slack * fabs(dy);
            }
    return total;
}

static double off(double got, double want, double bound)
{
    return got == want ? 0 : fabs(got - want) / bound;
}

/* The sums of some channels, of what stands in y. */
static double sums_err(const asked *a)
{
    const pod_convolution *o = a->operands;
    const int64_t channels = a->shape->k, dim[1] = {channels};
    const double chain = 257, roundings = chain * ldexp(1, -24); /* the longest that is allowed */
    double worst = 0;
    int64_t k;
    for (int i = 0; i < 8 && pod_sample_at(i, 1, dim, &k); i++) {
        double value = 0, abs = 0, square = 0;
        for (int64_t at = k; at < o->y.count; at += channels) {
            const double y = pod_operand_value(&o->y, at);
            value += y;
            abs += fabs(y);
            square += y * y;
        }
        worst = fmax(worst, off(pod_operand_value(&o->sum, k), value, roundings * abs));
        worst = fmax(worst, off(pod_operand_value(&o->sum_sq, k), square, roundings * square));
    }
    return worst;
}

double pod_convolution_err(const pod_race *r, const pod_contender *c)
{
    static sum (*const by_definition[POD_N_CONV_PASSES])(const asked *, const int64_t[4]) = {
        forward, input_grad, weight_grad};
    const int pass = r->problem.function;
    const pod_conv_shape *s = &r->problem.conv;
    const asked a = {.problem = &r->problem,
                     .shape = s,
                     .operands = r->operands,
                     .is_depthwise = r->problem.family == POD_FAMILY_depthwise};
    const int64_t dims[POD_N_CONV_PASSES][4] = {{s->n, s->p, s->q, s->k},
                                                {s->n, s->h, s->w, s->c},
                                                {a.is_depthwise ? 1 : s->k, s->r, s->s, s->c}};
    const int64_t *dim = dims[pass];
    int64_t at[4];
    double worst = 0;
    for (int i = 0; pod_sample_at(i, 4, dim, at); i++) {
        const sum want = by_definition[pass](&a, at);
        const double bound =
            pod_dot_bound(want.n_terms, want.abs, want.value, c->out->dtype) + 1.01 * want.slack;
        const int64_t place = ((at[0] * dim[1] + at[1]) * dim[2] + at[2]) * dim[3] + at[3];
        worst = fmax(worst, off(pod_operand_value(c->out, place), want.value, bound));
    }
    return r->problem.fused & POD_CONV_SUMS ? fmax(worst, sums_err(&a)) : worst;
}
