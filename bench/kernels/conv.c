/* Convolutions, depthwise ones and their gradients: kernels/conv, kernels/depthwise, and peers; and
 * their outputs by definition. The three passes share operands; what a pass makes is not filled. */
#include <math.h>

#include "bench/kernels/kernels.h"
#include "kernels/base/cpu.h"
#include "kernels/conv/conv.h"
#include "kernels/depthwise/depthwise.h"

typedef struct convolution {
    pod_operand x, w, y; /* or their gradients */
    pod_operand x_scale, x_shift, bias, sum, sum_sq;
} convolution;

/* ---- right or wrong -------------------------------------------------------------------------- */

/* The output channel is the input channel. */
static bool is_depthwise(const pod_race *r) { return r->problem.family == POD_FAMILY_depthwise; }

static double rounded(pod_dtype t, float x)
{
    return (double)(t == POD_BF16 ? pod_bf16_to_f32(pod_bf16_from_f32(x)) : x);
}

/* x as the sum reads it: scaled and shifted with one rounding or two, which may end as different
 * bfloat16; *slack is by how much. */
static double input(const pod_race *r, int64_t at, double *slack)
{
    const convolution *o = r->operands;
    const double x = pod_operand_value(&o->x, at);
    *slack = 0;
    if (!(r->problem.fused & POD_CONV_AFFINE_X)) return x;
    const int64_t c = at % r->problem.conv.c;
    const float scale = (float)pod_operand_value(&o->x_scale, c);
    const float shift = (float)pod_operand_value(&o->x_shift, c);
    const float product = (float)x * scale;
    double once = rounded(r->problem.dtype, fmaf((float)x, scale, shift));
    double twice = rounded(r->problem.dtype, product + shift);
    if (r->problem.fused & POD_CONV_RELU_X) {
        once = fmax(once, 0);
        twice = fmax(twice, 0);
    }
    *slack = fabs(once - twice);
    return once;
}

static void add_input(pod_dot *d, const pod_race *r, int64_t at, double other)
{
    double slack;
    pod_dot_add(d, input(r, at, &slack), other);
    d->slack += slack * fabs(other);
}

static int64_t x_at(const pod_conv_shape *s, int64_t n, int64_t h, int64_t w, int64_t c)
{
    return ((n * s->h + h) * s->w + w) * s->c + c;
}

static int64_t y_at(const pod_conv_shape *s, int64_t n, int64_t p, int64_t q, int64_t k)
{
    return ((n * s->p + p) * s->q + q) * s->k + k;
}

static int64_t w_at(const pod_race *r, int64_t k, int64_t row, int64_t column, int64_t c)
{
    const pod_conv_shape *s = &r->problem.conv;
    const int64_t first = is_depthwise(r) ? 0 : k * s->r;
    return ((first + row) * s->s + column) * s->c + c;
}

/* at: n p q k */
static pod_dot forward(const pod_race *r, const int64_t at[])
{
    const pod_conv_shape *s = &r->problem.conv;
    const convolution *o = r->operands;
    const int64_t first = is_depthwise(r) ? at[3] : 0, end = is_depthwise(r) ? at[3] + 1 : s->c;
    pod_dot sum = {0};
    for (int64_t i = 0; i < s->r * s->s; i++) {
        const int64_t row = i / s->s, column = i % s->s;
        const int64_t h = at[1] * s->stride - s->pad_h + row;
        const int64_t w = at[2] * s->stride - s->pad_w + column;
        if (h < 0 || h >= s->h || w < 0 || w >= s->w) continue;
        for (int64_t c = first; c < end; c++)
            add_input(&sum, r, x_at(s, at[0], h, w, c),
                      pod_operand_value(&o->w, w_at(r, at[3], row, column, c)));
    }
    const unsigned fused = r->problem.fused;
    if (fused & POD_CONV_BIAS) pod_dot_add(&sum, pod_operand_value(&o->bias, at[3]), 1);
    if (fused & POD_CONV_RELU) sum.value = fmax(sum.value, 0);
    return sum;
}

/* The output that place `at` of the image gives to, through row or column `r` of the filter; -1:
 * there is none. */
static int64_t giver(int64_t at, int64_t r, int64_t pad, int64_t stride, int64_t n)
{
    const int64_t from = at + pad - r;
    return from < 0 || from % stride != 0 || from / stride >= n ? -1 : from / stride;
}

/* at: n h w c */
static pod_dot input_grad(const pod_race *r, const int64_t at[])
{
    const pod_conv_shape *s = &r->problem.conv;
    const convolution *o = r->operands;
    const int64_t first = is_depthwise(r) ? at[3] : 0, end = is_depthwise(r) ? at[3] + 1 : s->k;
    pod_dot sum = {0};
    for (int64_t i = 0; i < s->r * s->s; i++) {
        const int64_t row = i / s->s, column = i % s->s;
        const int64_t p = giver(at[1], row, s->pad_h, s->stride, s->p);
        const int64_t q = giver(at[2], column, s->pad_w, s->stride, s->q);
        for (int64_t k = first; p >= 0 && q >= 0 && k < end; k++)
            pod_dot_add(&sum, pod_operand_value(&o->y, y_at(s, at[0], p, q, k)),
                        pod_operand_value(&o->w, w_at(r, k, row, column, at[3])));
    }
    return sum;
}

/* at: k r s c */
static pod_dot weight_grad(const pod_race *r, const int64_t at[])
{
    const pod_conv_shape *s = &r->problem.conv;
    const convolution *o = r->operands;
    const int64_t k = is_depthwise(r) ? at[3] : at[0];
    pod_dot sum = {0};
    for (int64_t i = 0; i < s->n * s->p * s->q; i++) {
        const int64_t n = i / (s->p * s->q), p = i / s->q % s->p, q = i % s->q;
        const int64_t h = p * s->stride - s->pad_h + at[1];
        const int64_t w = q * s->stride - s->pad_w + at[2];
        if (h < 0 || h >= s->h || w < 0 || w >= s->w) continue;
        add_input(&sum, r, x_at(s, n, h, w, at[3]), pod_operand_value(&o->y, y_at(s, n, p, q, k)));
    }
    return sum;
}

/* The sums of some channels, of what stands in y. */
static double sums_err(const pod_race *r)
{
    const convolution *o = r->operands;
    const int64_t channels = r->problem.conv.k, dim[1] = {channels};
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
        worst = fmax(worst, pod_err_of(pod_operand_value(&o->sum, k), value, roundings * abs));
        worst =
            fmax(worst, pod_err_of(pod_operand_value(&o->sum_sq, k), square, roundings * square));
    }
    return worst;
}

static double err(const pod_race *r, const pod_contender *c)
{
    static pod_element_fn *const element[POD_N_CONV_PASSES] = {forward, input_grad, weight_grad};
    const pod_conv_shape *s = &r->problem.conv;
    const int64_t dim[POD_N_CONV_PASSES][POD_MAX_OUTPUT_DIMS] = {
        {s->n, s->p, s->q, s->k},
        {s->n, s->h, s->w, s->c},
        {is_depthwise(r) ? 1 : s->k, s->r, s->s, s->c}};
    const int pass = r->problem.function;
    const double worst = pod_race_err(r, c->out, POD_MAX_OUTPUT_DIMS, dim[pass], element[pass]);
    return r->problem.fused & POD_CONV_SUMS ? fmax(worst, sums_err(r)) : worst;
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct conv_call {
    pod_conv_call call;
    const pod_conv_kernel *kernel;
    void *scratch;
    pod_operand packed; /* of bytes; none: w as it lies */
} conv_call;

typedef struct depthwise_call {
    pod_depthwise_call call;
    const pod_depthwise *set;
    void *scratch;
} depthwise_call;

/* A contender with what its pass reads and makes. */
static pod_contender of_pass(const pod_race *r)
{
    const convolution *o = r->operands;
    switch (r->problem.function) {
    case POD_CONV_FORWARD: return (pod_contender){.a = &o->x, .b = &o->w, .out = &o->y, .err = err};
    case POD_CONV_INPUT_GRAD:
        return (pod_contender){.a = &o->y, .b = &o->w, .out = &o->x, .err = err};
    default: return (pod_contender){.a = &o->x, .b = &o->y, .out = &o->w, .err = err};
    }
}

static void run_conv(const pod_contender *c, int set)
{
    const conv_call *x = c->call;
    pod_conv_call now = x->call;
    now.a = pod_operand_at(c->a, set);
    now.b = pod_operand_at(c->b, set);
    now.out = pod_operand_at(c->out, set);
    x->kernel->run(&now, x->scratch);
}

static void run_depthwise(const pod_contender *c, int set)
{
    const depthwise_call *x = c->call;
    pod_depthwise_call now = x->call;
    now.a = pod_operand_at(c->a, set);
    now.b = pod_operand_at(c->b, set);
    now.out = pod_operand_at(c->out, set);
    x->set->run(&now, x->scratch);
}

/* ---- operands -------------------------------------------------------------------------------- */

static pod_status make(pod_race *r, bool is_output, pod_dtype t, int64_t count, uint64_t seed,
                       pod_operand *out)
{
    return is_output ? pod_operand_room(r, t, count, out)
                     : pod_operand_random(r, t, count, seed, out);
}

static pod_status make_operands(pod_race *r, convolution *o)
{
    const pod_conv_shape *s = &r->problem.conv;
    const int pass = r->problem.function;
    const pod_dtype t = r->problem.dtype, w_type = pass == POD_CONV_WEIGHT_GRAD ? POD_F32 : t;
    const int64_t w_count = s->r * s->s * s->c;
    POD_TRY(make(r, pass == POD_CONV_INPUT_GRAD, t, s->n * s->h * s->w * s->c, 1, &o->x));
    POD_TRY(make(r, pass == POD_CONV_WEIGHT_GRAD, w_type,
                 is_depthwise(r) ? w_count : s->k * w_count, 2, &o->w));
    POD_TRY(make(r, pass == POD_CONV_FORWARD, t, s->n * s->p * s->q * s->k, 3, &o->y));
    POD_TRY(pod_operand_random(r, POD_F32, s->c, 4, &o->x_scale));
    POD_TRY(pod_operand_random(r, POD_F32, s->c, 5, &o->x_shift));
    POD_TRY(pod_operand_random(r, POD_F32, s->k, 6, &o->bias));
    POD_TRY(pod_operand_room(r, POD_F32, s->k, &o->sum));
    POD_TRY(pod_operand_room(r, POD_F32, s->k, &o->sum_sq));
    r->operands = o;
    return POD_OK;
}

/* ---- kernels/conv ---------------------------------------------------------------------------- */

static pod_status pack(pod_race *r, const pod_operand *w, conv_call *x)
{
    const int64_t bytes = (int64_t)x->kernel->packed_bytes(&x->call);
    POD_TRY(pod_operand_room(r, POD_U8, bytes, &x->packed));
    for (int s = 0; s < r->n_sets; s++)
        x->kernel->pack(&x->call, x->call.dtype, pod_operand_at(w, s),
                        pod_operand_at(&x->packed, s));
    return POD_OK;
}

static pod_status add_conv(const pod_kernels_plan *plan, pod_race *r, const pod_conv_kernel *k,
                           const pod_conv_call *g)
{
    const bool is_packed = g->fused & POD_CONV_PACKED_W;
    const char *lacks = pod_cpu_why_not(k->needs);
    if (!pod_race_admits(plan, r, k->name, lacks ? lacks : k->why_not(g))) return POD_OK;
    const pod_choice how = pod_race_choice(plan);
    conv_call *x = POD_ARENA_NEW(r->arena, conv_call, 1);
    if (!x) return POD_E_NOMEM;
    *x = (conv_call){.call = *g, .kernel = k};
    x->scratch = pod_arena_get(r->arena, POD_RACE_ALIGN, k->scratch_bytes(g));
    if (!x->scratch) return POD_E_NOMEM;
    pod_contender c = of_pass(r);
    if (is_packed) POD_TRY(pack(r, c.b, x));
    if (is_packed) c.b = &x->packed;
    c.impl = k->name;
    c.is_packed = is_packed;
    c.is_picked = pod_conv_pick(&how, g) == k;
    c.peak = g->dtype;
    c.run = run_conv;
    c.call = x;
    pod_race_add(r, &c);
    return POD_OK;
}

static pod_conv_call conv_call_of(const pod_problem *p, const convolution *o)
{
    return (pod_conv_call){.shape = p->conv,
                           .pass = (pod_conv_pass)p->function,
                           .dtype = p->dtype,
                           .fused = p->fused,
                           .x_scale = pod_operand_at(&o->x_scale, 0),
                           .x_shift = pod_operand_at(&o->x_shift, 0),
                           .bias = pod_operand_at(&o->bias, 0),
                           .sum = pod_operand_at(&o->sum, 0),
                           .sum_sq = pod_operand_at(&o->sum_sq, 0)};
}

/* A kernel that takes packed weights stands twice, unless --packed says how. */
pod_status pod_race_conv(const pod_kernels_plan *plan, pod_race *r)
{
    int n;
    const pod_conv_kernel *k = pod_conv_kernels(&n);
    convolution *o = POD_ARENA_NEW(r->arena, convolution, 1);
    if (!o) return POD_E_NOMEM;
    POD_TRY(make_operands(r, o));
    const pod_conv_call g = conv_call_of(&r->problem, o);
    pod_conv_call packed = g;
    packed.fused |= POD_CONV_PACKED_W;
    POD_TRY(pod_conv_check(&g));
    for (int i = 0; i < n; i++) {
        const bool takes_packed = k[i].packed_bytes && g.pass != POD_CONV_WEIGHT_GRAD;
        if (takes_packed && plan->with_packed) POD_TRY(add_conv(plan, r, &k[i], &packed));
        if (!takes_packed || plan->with_unpacked) POD_TRY(add_conv(plan, r, &k[i], &g));
    }
    const pod_contender like = of_pass(r);
    return pod_race_add_peers(plan, r, &like);
}

/* ---- kernels/depthwise ----------------------------------------------------------------------- */

static pod_status add_depthwise(pod_race *r, const pod_depthwise *set, const pod_depthwise_call *g)
{
    depthwise_call *x = POD_ARENA_NEW(r->arena, depthwise_call, 1);
    if (!x) return POD_E_NOMEM;
    *x = (depthwise_call){.call = *g, .set = set};
    x->scratch = pod_arena_get(r->arena, POD_RACE_ALIGN, set->scratch_bytes(g));
    if (!x->scratch) return POD_E_NOMEM;
    pod_contender c = of_pass(r);
    c.impl = set->name;
    c.is_picked = pod_depthwise_pick(pod_cpu_features()) == set;
    c.peak = POD_F32; /* its units: there is no product of bfloat16 in it */
    c.run = run_depthwise;
    c.call = x;
    pod_race_add(r, &c);
    return POD_OK;
}

pod_status pod_race_depthwise(const pod_kernels_plan *plan, pod_race *r)
{
    const pod_conv_shape *s = &r->problem.conv;
    convolution *o = POD_ARENA_NEW(r->arena, convolution, 1);
    if (!o) return POD_E_NOMEM;
    POD_TRY(make_operands(r, o));
    const pod_depthwise_call g = {
        .shape = {s->n, s->h, s->w, s->c, s->p, s->q, s->r, s->s, s->stride, s->pad_h, s->pad_w},
        .pass = (pod_depthwise_pass)r->problem.function,
        .dtype = r->problem.dtype,
        .fused = r->problem.fused & POD_CONV_SUMS ? POD_DEPTHWISE_SUMS : 0,
        .sum = pod_operand_at(&o->sum, 0),
        .sum_sq = pod_operand_at(&o->sum_sq, 0)};
    POD_TRY(pod_depthwise_check(&g));
    for (const pod_depthwise *const *set = pod_depthwise_sets(); *set; set++)
        if (pod_race_admits(plan, r, (*set)->name, pod_cpu_why_not((*set)->needs)))
            POD_TRY(add_depthwise(r, *set, &g));
    const pod_contender like = of_pass(r);
    return pod_race_add_peers(plan, r, &like);
}
