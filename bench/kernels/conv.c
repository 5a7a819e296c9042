/* Convolutions, depthwise ones and their gradients: kernels/conv, kernels/depthwise, and peers. */
#include "bench/kernels/conv.h"

#include "kernels/base/cpu.h"
#include "kernels/conv/conv.h"
#include "kernels/depthwise/depthwise.h"

typedef struct conv_call {
    pod_conv_call call;
    const pod_conv_kernel *kernel;
    void *scratch;
    pod_operand packed; /* of bytes; none: w as it lies */
    const pod_convolution *operands;
} conv_call;

typedef struct depthwise_call {
    pod_depthwise_call call;
    const pod_depthwise *set;
    void *scratch;
    const pod_convolution *operands;
} depthwise_call;

pod_conv_sides pod_convolution_sides(const pod_convolution *o, int pass)
{
    switch (pass) {
    case POD_CONV_FORWARD: return (pod_conv_sides){&o->x, &o->w, &o->y};
    case POD_CONV_INPUT_GRAD: return (pod_conv_sides){&o->y, &o->w, &o->x};
    default: return (pod_conv_sides){&o->x, &o->y, &o->w};
    }
}

static void run_conv(const pod_contender *c, int set)
{
    const conv_call *x = c->call;
    const pod_conv_sides s = pod_convolution_sides(x->operands, (int)x->call.pass);
    pod_conv_call now = x->call;
    now.a = pod_operand_at(s.a, set);
    now.b = pod_operand_at(c->is_packed ? &x->packed : s.b, set);
    now.out = pod_operand_at(s.out, set);
    x->kernel->run(&now, x->scratch);
}

static void run_depthwise(const pod_contender *c, int set)
{
    const depthwise_call *x = c->call;
    const pod_conv_sides s = pod_convolution_sides(x->operands, (int)x->call.pass);
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

static pod_status make_operands(pod_race *r, pod_convolution *o)
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
                        .err = pod_convolution_err,
                        .out = pod_convolution_sides(r->operands, (int)g->pass).out,
                        .call = x,
                    });
    return POD_OK;
}

static pod_conv_call conv_call_of(const pod_problem *p, const pod_convolution *o)
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
    pod_convolution *o = POD_ARENA_NEW(r->arena, pod_convolution, 1);
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
    const pod_conv_sides s = pod_convolution_sides(o, r->problem.function);
    return pod_race_add_peers(plan, r, s.a, s.b, s.out, pod_convolution_err);
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
                        .err = pod_convolution_err,
                        .out = pod_convolution_sides(r->operands, (int)g->pass).out,
                        .call = x,
                    });
    return POD_OK;
}

pod_status pod_race_depthwise(const pod_kernels_plan *plan, pod_race *r)
{
    const pod_conv_shape *s = &r->problem.conv;
    pod_convolution *o = POD_ARENA_NEW(r->arena, pod_convolution, 1);
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
    const pod_conv_sides side = pod_convolution_sides(o, r->problem.function);
    return pod_race_add_peers(plan, r, side.a, side.b, side.out, pod_convolution_err);
}
