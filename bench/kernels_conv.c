/* Convolutions and their gradients: the kernels of kernels/conv. */
#include <math.h>
#include <string.h>

#include "bench/kernels.h"
#include "kernels/base/cpu.h"
#include "kernels/conv/conv.h"

typedef struct convolution {
    pod_operand x, w, y; /* or their gradients; what the pass makes is not filled */
    pod_operand x_scale, x_shift, bias, sum, sum_sq;
} convolution;

typedef struct call {
    pod_conv_call call;
    const pod_conv_kernel *kernel;
    void *scratch;
    pod_operand packed; /* of bytes; none: w as it lies */
    const convolution *operands;
} call;

static const pod_operand *output(const convolution *o, pod_conv_pass pass)
{
    return pass == POD_CONV_FORWARD ? &o->y : pass == POD_CONV_INPUT_GRAD ? &o->x : &o->w;
}

static void run(const pod_contender *c, int set)
{
    const call *x = c->call;
    const convolution *o = x->operands;
    const pod_conv_pass pass = x->call.pass;
    pod_conv_call now = x->call;
    now.a = pod_operand_at(pass == POD_CONV_INPUT_GRAD ? &o->y : &o->x, set);
    now.b = pass == POD_CONV_WEIGHT_GRAD ? pod_operand_at(&o->y, set)
                                         : pod_operand_at(c->is_packed ? &x->packed : &o->w, set);
    now.out = pod_operand_at(output(o, pass), set);
    x->kernel->run(&now, x->scratch);
}

/* ---- one element by its definition ----------------------------------------------------------- */

typedef struct sum {
    double value, abs, slack; /* slack: what terms may differ by before they are added */
    int64_t n_terms;
} sum;

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
static double input(const pod_conv_call *g, const convolution *o, int64_t at, double *slack)
{
    const double x = pod_operand_value(&o->x, at);
    *slack = 0;
    if (!(g->fused & POD_CONV_AFFINE_X)) return x;
    const int64_t c = at % g->shape.c;
    const float scale = (float)pod_operand_value(&o->x_scale, c);
    const float shift = (float)pod_operand_value(&o->x_shift, c);
    const float product = (float)x * scale;
    double once = rounded(g->dtype, fmaf((float)x, scale, shift));
    double twice = rounded(g->dtype, product + shift);
    if (g->fused & POD_CONV_RELU_X) {
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

static int64_t w_at(const pod_conv_shape *s, int64_t k, int64_t r, int64_t t, int64_t c)
{
    return ((k * s->r + r) * s->s + t) * s->c + c;
}

/* at: n p q k */
static sum forward(const pod_conv_call *g, const convolution *o, const int64_t at[4])
{
    const pod_conv_shape *s = &g->shape;
    sum total = {0};
    for (int64_t r = 0; r < s->r; r++)
        for (int64_t t = 0; t < s->s; t++) {
            const int64_t h = at[1] * s->stride - s->pad_h + r;
            const int64_t w = at[2] * s->stride - s->pad_w + t;
            if (h < 0 || h >= s->h || w < 0 || w >= s->w) continue;
            for (int64_t c = 0; c < s->c; c++) {
                double slack;
                const double x = input(g, o, x_at(s, at[0], h, w, c), &slack);
                const double weight = pod_operand_value(&o->w, w_at(s, at[3], r, t, c));
                add_term(&total, x, weight);
                total.slack += slack * fabs(weight);
            }
        }
    if (g->fused & POD_CONV_BIAS) add_term(&total, pod_operand_value(&o->bias, at[3]), 1);
    if (g->fused & POD_CONV_RELU) total.value = fmax(total.value, 0);
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
static sum input_grad(const pod_conv_call *g, const convolution *o, const int64_t at[4])
{
    const pod_conv_shape *s = &g->shape;
    sum total = {0};
    for (int64_t r = 0; r < s->r; r++)
        for (int64_t t = 0; t < s->s; t++) {
            const int64_t p = giver(at[1], r, s->pad_h, s->stride, s->p);
            const int64_t q = giver(at[2], t, s->pad_w, s->stride, s->q);
            for (int64_t k = 0; p >= 0 && q >= 0 && k < s->k; k++)
                add_term(&total, pod_operand_value(&o->y, y_at(s, at[0], p, q, k)),
                         pod_operand_value(&o->w, w_at(s, k, r, t, at[3])));
        }
    return total;
}

/* at: k r s c */
static sum weight_grad(const pod_conv_call *g, const convolution *o, const int64_t at[4])
{
    const pod_conv_shape *s = &g->shape;
    sum total = {0};
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t p = 0; p < s->p; p++)
            for (int64_t q = 0; q < s->q; q++) {
                const int64_t h = p * s->stride - s->pad_h + at[1];
                const int64_t w = q * s->stride - s->pad_w + at[2];
                if (h < 0 || h >= s->h || w < 0 || w >= s->w) continue;
                double slack;
                const double x = input(g, o, x_at(s, n, h, w, at[3]), &slack);
                const double dy = pod_operand_value(&o->y, y_at(s, n, p, q, at[0]));
                add_term(&total, x, dy);
                total.slack += slack * fabs(dy);
            }
    return total;
}

/* ---- right or wrong -------------------------------------------------------------------------- */

static double off(double got, double want, double bound)
{
    return got == want ? 0 : fabs(got - want) / bound;
}

/* The sums of some channels, of what stands in y. */
static double verify_sums(const call *x)
{
    const convolution *o = x->operands;
    const int64_t channels = x->call.shape.k, dim[1] = {channels};
    const double roundings = 16 * ldexp(1, -24); /* more than kernels/reduce makes of a term */
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

static double verify(const pod_race *r, const pod_contender *c)
{
    static sum (*const by_definition[POD_N_CONV_PASSES])(const pod_conv_call *, const convolution *,
                                                         const int64_t[4]) = {forward, input_grad,
                                                                              weight_grad};
    const call *x = c->call;
    const pod_conv_shape *s = &x->call.shape;
    const pod_conv_pass pass = x->call.pass;
    const pod_operand *out = output(r->operands, pass);
    const int64_t dims[POD_N_CONV_PASSES][4] = {
        {s->n, s->p, s->q, s->k}, {s->n, s->h, s->w, s->c}, {s->k, s->r, s->s, s->c}};
    const int64_t *dim = dims[pass];
    int64_t at[4];
    double worst = 0;
    pod_operand_spoil(out);
    run(c, 0);
    if (!pod_operand_is_finite(out)) return (double)INFINITY;
    for (int i = 0; pod_sample_at(i, 4, dim, at); i++) {
        const sum want = by_definition[pass](&x->call, r->operands, at);
        const double bound =
            pod_dot_bound(want.n_terms, want.abs, want.value, out->dtype) + 1.01 * want.slack;
        const int64_t place = ((at[0] * dim[1] + at[1]) * dim[2] + at[2]) * dim[3] + at[3];
        worst = fmax(worst, off(pod_operand_value(out, place), want.value, bound));
    }
    return x->call.fused & POD_CONV_SUMS ? fmax(worst, verify_sums(x)) : worst;
}

/* ---- contenders ------------------------------------------------------------------------------ */

static pod_status pack(pod_race *r, call *x)
{
    const int64_t bytes = (int64_t)x->kernel->packed_bytes(&x->call);
    POD_TRY(pod_operand_room(r, POD_U8, bytes, &x->packed));
    for (int s = 0; s < r->n_sets; s++)
        x->kernel->pack(&x->call, x->call.dtype, pod_operand_at(&x->operands->w, s),
                        pod_operand_at(&x->packed, s));
    return POD_OK;
}

static pod_status add(const pod_kernels_plan *plan, pod_race *r, const pod_conv_kernel *k,
                      const pod_conv_call *g)
{
    const bool is_packed = g->fused & POD_CONV_PACKED_W;
    if (!pod_race_wants(plan, k->name) || k->needs & ~pod_cpu_features() || k->why_not(g))
        return POD_OK;
    call *x = POD_ARENA_NEW(r->arena, call, 1);
    if (!x) return POD_E_NOMEM;
    *x = (call){.call = *g, .kernel = k, .operands = r->operands};
    x->scratch = pod_arena_get(r->arena, POD_RACE_ALIGN, k->scratch_bytes(g));
    if (!x->scratch) return POD_E_NOMEM;
    if (is_packed) POD_TRY(pack(r, x));
    pod_race_add(plan, r,
                 &(pod_contender){.impl = k->name,
                                  .is_packed = is_packed,
                                  .peak = g->dtype,
                                  .run = run,
                                  .verify = verify,
                                  .call = x});
    return POD_OK;
}

static pod_status add_kernels(const pod_kernels_plan *plan, pod_race *r, const pod_conv_call *g)
{
    int n;
    const pod_conv_kernel *k = pod_conv_kernels(&n);
    pod_conv_call packed = *g;
    packed.fused |= POD_CONV_PACKED_W;
    POD_TRY(pod_conv_check(g));
    for (int i = 0; i < n; i++) {
        const bool takes_packed = k[i].packed_bytes && g->pass != POD_CONV_WEIGHT_GRAD;
        if (takes_packed && plan->with_packed) POD_TRY(add(plan, r, &k[i], &packed));
        if (!takes_packed || plan->with_unpacked) POD_TRY(add(plan, r, &k[i], g));
    }
    return POD_OK;
}

static pod_status make(pod_race *r, bool is_output, pod_dtype t, int64_t count, uint64_t seed,
                       pod_operand *out)
{
    return is_output ? pod_operand_room(r, t, count, out)
                     : pod_operand_random(r, t, count, seed, out);
}

static pod_status make_operands(pod_race *r, pod_conv_pass pass, convolution *o)
{
    const pod_conv_shape *s = &r->problem.conv;
    const pod_dtype t = r->problem.dtype;
    POD_TRY(make(r, pass == POD_CONV_INPUT_GRAD, t, s->n * s->h * s->w * s->c, 1, &o->x));
    POD_TRY(make(r, pass == POD_CONV_WEIGHT_GRAD, pass == POD_CONV_WEIGHT_GRAD ? POD_F32 : t,
                 s->k * s->r * s->s * s->c, 2, &o->w));
    POD_TRY(make(r, pass == POD_CONV_FORWARD, t, s->n * s->p * s->q * s->k, 3, &o->y));
    POD_TRY(pod_operand_random(r, POD_F32, s->c, 4, &o->x_scale));
    POD_TRY(pod_operand_random(r, POD_F32, s->c, 5, &o->x_shift));
    POD_TRY(pod_operand_random(r, POD_F32, s->k, 6, &o->bias));
    POD_TRY(pod_operand_room(r, POD_F32, s->k, &o->sum));
    return pod_operand_room(r, POD_F32, s->k, &o->sum_sq);
}

pod_status pod_race_conv(const pod_kernels_plan *plan, pod_race *r)
{
    const pod_problem *p = &r->problem;
    const pod_conv_pass pass = (pod_conv_pass)p->function;
    convolution *o = r->operands = POD_ARENA_NEW(r->arena, convolution, 1);
    if (!o) return POD_E_NOMEM;
    POD_TRY(make_operands(r, pass, o));
    const pod_conv_call g = {.shape = p->conv,
                             .pass = pass,
                             .dtype = p->dtype,
                             .fused = p->fused,
                             .x_scale = pod_operand_at(&o->x_scale, 0),
                             .x_shift = pod_operand_at(&o->x_shift, 0),
                             .bias = pod_operand_at(&o->bias, 0),
                             .sum = pod_operand_at(&o->sum, 0),
                             .sum_sq = pod_operand_at(&o->sum_sq, 0)};
    return add_kernels(plan, r, &g);
}
