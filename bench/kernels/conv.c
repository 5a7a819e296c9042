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

/* Which operand a pass reads first and second, and which it makes. */
typedef struct conv_sides {
    const pod_operand *a, *b, *out;
} conv_sides;

/* ---- right or wrong -------------------------------------------------------------------------- */

typedef struct sum {
    double value, abs, slack; /* slack: what terms may differ by before they are added */
    int64_t n_terms;
} sum;

typedef struct asked {
    const pod_problem *problem;
    const pod_conv_shape *shape;
    const convolution *operands;
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
    const convolution *o = a->operands;
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
    const convolution *o = a->operands;
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

static double err(const pod_race *r, const pod_contender *c)
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

/* ---- running --------------------------------------------------------------------------------- */

typedef struct conv_call {
    pod_conv_call call;
    const pod_conv_kernel *kernel;
    void *scratch;
    pod_operand packed; /* of bytes; none: w as it lies */
    const convolution *operands;
} conv_call;

typedef struct depthwise_call {
    pod_depthwise_call call;
    const pod_depthwise *set;
    void *scratch;
    const convolution *operands;
} depthwise_call;

static conv_sides sides_of(const convolution *o, int pass)
{
    switch (pass) {
    case POD_CONV_FORWARD: return (conv_sides){&o->x, &o->w, &o->y};
    case POD_CONV_INPUT_GRAD: return (conv_sides){&o->y, &o->w, &o->x};
    default: return (conv_sides){&o->x, &o->y, &o->w};
    }
}

static void run_conv(const pod_contender *c, int set)
{
    const conv_call *x = c->call;
    const conv_sides s = sides_of(x->operands, (int)x->call.pass);
    pod_conv_call now = x->call;
    now.a = pod_operand_at(s.a, set);
    now.b = pod_operand_at(c->is_packed ? &x->packed : s.b, set);
    now.out = pod_operand_at(s.out, set);
    x->kernel->run(&now, x->scratch);
}

static void run_depthwise(const pod_contender *c, int set)
{
    const depthwise_call *x = c->call;
    const conv_sides s = sides_of(x->operands, (int)x->call.pass);
    pod_depthwise_call now = x->call;
    now.a = pod_operand_at(s.a, set);
    now.b = pod_operand_at(s.b, set);
    now.out = pod_operand_at(s.out, set);
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
    const bool is_depthwise = r->problem.family == POD_FAMILY_depthwise;
    POD_TRY(make(r, pass == POD_CONV_INPUT_GRAD, t, s->n * s->h * s->w * s->c, 1, &o->x));
    POD_TRY(make(r, pass == POD_CONV_WEIGHT_GRAD, w_type, is_depthwise ? w_count : s->k * w_count,
                 2, &o->w));
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

static pod_status pack(pod_race *r, conv_call *x)
{
    const int64_t bytes = (int64_t)x->kernel->packed_bytes(&x->call);
    POD_TRY(pod_operand_room(r, POD_U8, bytes, &x->packed));
    for (int s = 0; s < r->n_sets; s++)
        x->kernel->pack(&x->call, x->call.dtype, pod_operand_at(&x->operands->w, s),
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
    *x = (conv_call){.call = *g, .kernel = k, .operands = r->operands};
    x->scratch = pod_arena_get(r->arena, POD_RACE_ALIGN, k->scratch_bytes(g));
    if (!x->scratch) return POD_E_NOMEM;
    if (is_packed) POD_TRY(pack(r, x));
    pod_race_add(r, &(pod_contender){
                        .impl = k->name,
                        .is_packed = is_packed,
                        .is_picked = pod_conv_pick(&how, g) == k,
                        .peak = g->dtype,
                        .run = run_conv,
                        .err = err,
                        .out = sides_of(r->operands, (int)g->pass).out,
                        .call = x,
                    });
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
    const conv_sides s = sides_of(o, r->problem.function);
    return pod_race_add_peers(plan, r, s.a, s.b, s.out, err);
}

/* ---- kernels/depthwise ----------------------------------------------------------------------- */

static pod_status add_depthwise(pod_race *r, const pod_depthwise *set, const pod_depthwise_call *g)
{
    depthwise_call *x = POD_ARENA_NEW(r->arena, depthwise_call, 1);
    if (!x) return POD_E_NOMEM;
    *x = (depthwise_call){.call = *g, .set = set, .operands = r->operands};
    x->scratch = pod_arena_get(r->arena, POD_RACE_ALIGN, set->scratch_bytes(g));
    if (!x->scratch) return POD_E_NOMEM;
    pod_race_add(r, &(pod_contender){
                        .impl = set->name,
                        .is_picked = pod_depthwise_pick(pod_cpu_features()) == set,
                        .peak = POD_F32, /* its units: there is no product of bfloat16 in it */
                        .run = run_depthwise,
                        .err = err,
                        .out = sides_of(r->operands, (int)g->pass).out,
                        .call = x,
                    });
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
    const conv_sides side = sides_of(o, r->problem.function);
    return pod_race_add_peers(plan, r, side.a, side.b, side.out, err);
}
