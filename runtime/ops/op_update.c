/* The ops of optimizers, over kernels/update. w, v, m, g, u float32 of one shape; scalars float32.
 *
 *   sum_sq          x                            -> sum of squares
 *   momentum        w, v, g, lr [, w_sq, g_sq]   -> w', v'
 *   rmsprop         w, s, v, g, lr                -> w', s', v'
 *   adam_step       w, m, v, g, step, lr          -> w', m', v'
 *   adam_norms      w, m, v, g, step              -> m', v', w_sq, u_sq
 *   adam_descend    w, m', v', step, lr, w_sq, u_sq -> w'
 *
 *   sum_sq_wide     x                            -> sum of squares (8) binned
 *   adam_norms_wide w, m, v, g, step              -> m', v', w_sq, u_sq, the sums (8) binned
 *   from_wide       sum (8) binned                -> sum
 *
 * The last three are for passes, in place of those whose names they bear: sums of squares that do
 * not depend on how the weights are cut (kernels/base/wide_sum.h).
 *
 * The kernels write weights and states in place: where an output is not given its input's memory,
 * it starts as a copy. */
#include <math.h>
#include <string.h>

#include "runtime/ops/op_common.h"

static pod_status want_tensors(const pod_type in[], int n_tensors)
{
    POD_TRY(pod__want_dtype("w", &in[0], 1u << POD_F32));
    for (int i = 1; i < n_tensors; i++)
        POD_TRY(pod__want_alike("w", &in[0], "a state or gradient", &in[i]));
    return POD_OK;
}

static pod_status want_scalars(const pod_type in[], int from, int n_in)
{
    for (int i = from; i < n_in; i++)
        POD_TRY(pod__want_scalar(i == from ? "lr or step" : "a sum of squares", &in[i]));
    return POD_OK;
}

static float scalar(const void *in) { return *(const float *)in; }

static void *start_as(void *out, const void *in, int64_t count)
{
    if (out != in) memcpy(out, in, (size_t)count * sizeof(float));
    return out;
}

/* The type of a sum over all elements of x: each core has its part of it. */
static pod_type sum_over(const pod_type *x)
{
    pod_type sum = pod_type_of(POD_F32, 0, NULL);
    unsigned mask = x->shard.over;
    for (int i = 0; i < x->shape.n_dims; i++) mask |= x->split[i];
    sum.sum = (uint8_t)mask;
    return sum;
}

/* ---- sum_sq -------------------------------------------------------------------------------- */

static pod_status sum_sq_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n, (void)n_in;
    POD_TRY(pod__want_dtype("x", &in[0], 1u << POD_F32));
    out[0] = sum_over(&in[0]);
    return POD_OK;
}

static void sum_sq_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    const pod__flat_attr *a = attr;
    *(float *)out[0] = pod__reduce_at(a->set)->sum_sq(a->count, in[0]);
}

static pod_status sum_sq_lower(const pod_lower_args *args, pod_lowering *l)
{
    const pod__flat_attr run = pod__flat_of(args, pod__reduce_pick(args->target->cpu));
    return pod__lower(args, sum_sq_run, pod__reduce_at(run.set)->name, &run, sizeof run, l);
}

const pod_op pod__op_sum_sq = {.name = "sum_sq",
                               .sweep = POD_SWEEP_SUMS,
                               .n_in = 1,
                               .n_out = 1,
                               .by_element = true,
                               .infer = sum_sq_infer,
                               .ops_each = 2,
                               .lower = sum_sq_lower};

/* ---- sum_sq_wide, from_wide ----------------------------------------------------------------- */

static pod_type wide_sum_over(const pod_type *x)
{
    pod_type sum = pod_type_of(POD_BINNED, 1, (const int64_t[]){POD_WIDE_DIGITS});
    sum.sum = sum_over(x).sum;
    return sum;
}

static pod_status sum_sq_wide_infer(const pod_node *n, const pod_type in[], int n_in,
                                    pod_type out[])
{
    (void)n, (void)n_in;
    POD_TRY(pod__want_dtype("x", &in[0], 1u << POD_F32));
    out[0] = wide_sum_over(&in[0]);
    return POD_OK;
}

static void sum_sq_wide_run(const void *attr, const void *const in[], void *const out[],
                            void *scratch)
{
    (void)scratch;
    const pod__flat_attr *a = attr;
    pod_wide_sum sum = {{0}, 0};
    pod__reduce_at(a->set)->sum_sq_wide(a->count, in[0], &sum);
    pod_wide_sum_to_binned(&sum, out[0]);
}

static pod_status sum_sq_wide_lower(const pod_lower_args *args, pod_lowering *l)
{
    const pod__flat_attr run = pod__flat_of(args, pod__reduce_pick(args->target->cpu));
    return pod__lower(args, sum_sq_wide_run, pod__reduce_at(run.set)->name, &run, sizeof run, l);
}

const pod_op pod__op_sum_sq_wide = {.name = "sum_sq_wide",
                                    .sweep = POD_SWEEP_SUMS,
                                    .n_in = 1,
                                    .n_out = 1,
                                    .by_element = true,
                                    .infer = sum_sq_wide_infer,
                                    .ops_each = 6,
                                    .lower = sum_sq_wide_lower};

static pod_status from_wide_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n, (void)n_in;
    POD_TRY(pod__want_dtype("the sum", &in[0], 1u << POD_BINNED));
    POD_TRY(pod__want_dims("the sum", &in[0], 1));
    POD_TRY(pod__want_no_parts("the sum", &in[0]));
    out[0] = pod_type_of(POD_F32, 0, NULL);
    return POD_OK;
}

static void from_wide_run(const void *attr, const void *const in[], void *const out[],
                          void *scratch)
{
    (void)attr, (void)scratch;
    *(float *)out[0] = pod_wide_sum_from_binned(in[0]);
}

static pod_status from_wide_lower(const pod_lower_args *args, pod_lowering *l)
{
    const int64_t count = POD_WIDE_DIGITS;
    return pod__lower(args, from_wide_run, "ref", &count, sizeof count, l);
}

const pod_op pod__op_from_wide = {.name = "from_wide",
                                  .n_in = 1,
                                  .n_out = 1,
                                  .infer = from_wide_infer,
                                  .ops_each = 1,
                                  .lower = from_wide_lower};

pod_value pod_sum_sq(pod_graph *g, pod_value x)
{
    return pod_op_add1(g, &pod__op_sum_sq, NULL, 0, &x, 1);
}

/* ---- momentum ------------------------------------------------------------------------------ */

typedef struct momentum_attr {
    float momentum, decay, eta, eps;
    int32_t nesterov, rate_inside;
} momentum_attr;

static pod_status momentum_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n;
    POD_TRY(want_tensors(in, 3));
    POD_TRY(want_scalars(in, 3, n_in));
    out[0] = out[1] = in[0];
    return POD_OK;
}

typedef struct momentum_run_attr {
    int64_t count;
    momentum_attr rule;
    int32_t trust, set;
} momentum_run_attr;

/* lr eta |w| / (|g| + decay |w| + eps); lr where a norm is 0. */
static float trusted_rate(const momentum_attr *rule, float lr, float w_sq, float g_sq)
{
    const double w = sqrt((double)w_sq), g = sqrt((double)g_sq);
    if (!(w > 0) || !(g > 0)) return lr;
    return (float)((double)lr * (double)rule->eta * w /
                   (g + (double)rule->decay * w + (double)rule->eps));
}

static void momentum_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    const momentum_run_attr *a = attr;
    const momentum_attr *rule = &a->rule;
    const pod_update *set = pod__update_at(a->set);
    float rate = scalar(in[3]);
    if (a->trust) rate = trusted_rate(rule, rate, scalar(in[4]), scalar(in[5]));
    float *w = start_as(out[0], in[0], a->count), *v = start_as(out[1], in[1], a->count);
    (rule->rate_inside ? set->momentum_inner : set->momentum_outer)(
        a->count, rate, rule->momentum, rule->decay, rule->nesterov != 0, in[2], v, w);
}

static pod_status momentum_lower(const pod_lower_args *args, pod_lowering *l)
{
    const momentum_attr *rule = args->node->attr;
    const momentum_run_attr run = {.count = pod_shape_count(&args->in_local[0]),
                                   .rule = *rule,
                                   .trust = args->node->n_in == 6,
                                   .set = pod__update_pick(args->target->cpu)};
    POD_TRY(pod__lower(args, momentum_run, pod__update_at(run.set)->name, &run, sizeof run, l));
    l->in_place[0] = 0;
    l->in_place[1] = 1;
    return POD_OK;
}

const pod_op pod__op_momentum = {.name = "momentum",
                                 .n_in = 4,
                                 .n_more = 2,
                                 .n_out = 2,
                                 .by_element = true,
                                 .infer = momentum_infer,
                                 .ops_each = 6,
                                 .lower = momentum_lower};

void pod_momentum_update(pod_graph *g, pod_value w, pod_value v, pod_value grad, pod_value lr,
                         pod_value w_sq, pod_value g_sq, pod_momentum_attr attr)
{
    const momentum_attr rule = {.momentum = attr.momentum,
                                .decay = attr.decay,
                                .eta = attr.eta,
                                .eps = attr.eps,
                                .nesterov = attr.nesterov,
                                .rate_inside = attr.rate_inside};
    pod_value out[2];
    pod_op_add(g, &pod__op_momentum, &rule, sizeof rule,
               (const pod_value[]){w, v, grad, lr, w_sq, g_sq}, attr.trust ? 6 : 4, out);
    if (!out[0].id) return;
    pod_assign(g, w, out[0]);
    pod_assign(g, v, out[1]);
}

/* ---- rmsprop ------------------------------------------------------------------------------- */

typedef struct rmsprop_run_attr {
    int64_t count;
    pod_rmsprop_attr rule;
    int32_t set, unused;
} rmsprop_run_attr;

static pod_status rmsprop_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n;
    POD_TRY(want_tensors(in, 4));
    POD_TRY(want_scalars(in, 4, n_in));
    out[0] = out[1] = out[2] = in[0];
    return POD_OK;
}

static void rmsprop_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    const rmsprop_run_attr *a = attr;
    float *w = start_as(out[0], in[0], a->count), *s = start_as(out[1], in[1], a->count);
    float *v = start_as(out[2], in[2], a->count);
    pod__update_at(a->set)->rmsprop(a->count, &a->rule, scalar(in[4]), in[3], s, v, w);
}

static pod_status rmsprop_lower(const pod_lower_args *args, pod_lowering *l)
{
    const pod_rmsprop_attr *rule = args->node->attr;
    const rmsprop_run_attr run = {.count = pod_shape_count(&args->in_local[0]),
                                  .rule = *rule,
                                  .set = pod__update_pick(args->target->cpu)};
    POD_TRY(pod__lower(args, rmsprop_run, pod__update_at(run.set)->name, &run, sizeof run, l));
    for (int8_t k = 0; k < 3; k++) l->in_place[k] = k;
    return POD_OK;
}

const pod_op pod__op_rmsprop = {.name = "rmsprop",
                                .n_in = 5,
                                .n_out = 3,
                                .by_element = true,
                                .infer = rmsprop_infer,
                                .ops_each = 12,
                                .lower = rmsprop_lower};

void pod_rmsprop_update(pod_graph *g, pod_value w, pod_value s, pod_value v, pod_value grad,
                        pod_value lr, pod_rmsprop_update_attr attr)
{
    const pod_rmsprop_attr rule = {attr.rho, attr.momentum, attr.eps, attr.decay};
    pod_value out[3];
    pod_op_add(g, &pod__op_rmsprop, &rule, sizeof rule, (const pod_value[]){w, s, v, grad, lr}, 5,
               out);
    if (!out[0].id) return;
    pod_assign(g, w, out[0]);
    pod_assign(g, s, out[1]);
    pod_assign(g, v, out[2]);
}

/* ---- adam ---------------------------------------------------------------------------------- */

typedef struct adam_attr {
    float beta1, beta2, eps, decay;
    int32_t uncorrected;
} adam_attr;

typedef struct adam_run_attr {
    int64_t count;
    adam_attr rule;
    int32_t set, sums, unused; /* no padding: the fingerprint is of all bytes */
} adam_run_attr;

/* The rule as the kernels take it, at this step. */
static pod_adam_attr adam_at(const adam_attr *rule, const void *step)
{
    const double t = (double)scalar(step);
    const bool is = !rule->uncorrected;
    return (pod_adam_attr){.beta1 = rule->beta1,
                           .beta2 = rule->beta2,
                           .correction1 = is ? (float)(1.0 - pow((double)rule->beta1, t)) : 1.0f,
                           .correction2 = is ? (float)(1.0 - pow((double)rule->beta2, t)) : 1.0f,
                           .eps = rule->eps,
                           .decay = rule->decay};
}

static pod_status adam_lower(const pod_lower_args *args, pod_run_fn *fn, pod_lowering *l)
{
    const adam_attr *rule = args->node->attr;
    const adam_run_attr run = {.count = pod_shape_count(&args->in_local[0]),
                               .rule = *rule,
                               .set = pod__update_pick(args->target->cpu),
                               .sums = pod__reduce_pick(args->target->cpu)};
    return pod__lower(args, fn, pod__update_at(run.set)->name, &run, sizeof run, l);
}

/* ---- adam_step ----------------------------------------------------------------------------- */

static pod_status adam_step_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n;
    POD_TRY(want_tensors(in, 4));
    POD_TRY(want_scalars(in, 4, n_in));
    out[0] = out[1] = out[2] = in[0];
    return POD_OK;
}

static void adam_step_run(const void *attr, const void *const in[], void *const out[],
                          void *scratch)
{
    (void)scratch;
    const adam_run_attr *a = attr;
    const pod_adam_attr rule = adam_at(&a->rule, in[4]);
    float *w = start_as(out[0], in[0], a->count), *m = start_as(out[1], in[1], a->count);
    float *v = start_as(out[2], in[2], a->count);
    pod__update_at(a->set)->adam_step(a->count, &rule, scalar(in[5]), in[3], m, v, w);
}

static pod_status adam_step_lower(const pod_lower_args *args, pod_lowering *l)
{
    POD_TRY(adam_lower(args, adam_step_run, l));
    for (int8_t k = 0; k < 3; k++) l->in_place[k] = k;
    return POD_OK;
}

const pod_op pod__op_adam_step = {.name = "adam_step",
                                  .n_in = 6,
                                  .n_out = 3,
                                  .by_element = true,
                                  .infer = adam_step_infer,
                                  .ops_each = 16,
                                  .lower = adam_step_lower};

void pod_adam_update(pod_graph *g, pod_value w, pod_value m, pod_value v, pod_value grad,
                     pod_value step, pod_value lr, pod_adam_update_attr attr)
{
    const adam_attr rule = {attr.beta1, attr.beta2, attr.eps, attr.decay, attr.uncorrected};
    pod_value out[3];
    pod_op_add(g, &pod__op_adam_step, &rule, sizeof rule,
               (const pod_value[]){w, m, v, grad, step, lr}, 6, out);
    if (!out[0].id) return;
    pod_assign(g, w, out[0]);
    pod_assign(g, m, out[1]);
    pod_assign(g, v, out[2]);
}

/* ---- adam_norms ---------------------------------------------------------------------------- */

static pod_status adam_norms_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n;
    POD_TRY(want_tensors(in, 4));
    POD_TRY(want_scalars(in, 4, n_in));
    out[0] = out[1] = in[0];
    out[2] = out[3] = sum_over(&in[0]);
    return POD_OK;
}

static void adam_norms_run(const void *attr, const void *const in[], void *const out[],
                           void *scratch)
{
    (void)scratch;
    const adam_run_attr *a = attr;
    const pod_adam_attr rule = adam_at(&a->rule, in[4]);
    float *m = start_as(out[0], in[1], a->count), *v = start_as(out[1], in[2], a->count);
    pod__update_at(a->set)->adam_norms(a->count, &rule, in[3], in[0], m, v, out[2], out[3]);
}

static pod_status adam_norms_lower(const pod_lower_args *args, pod_lowering *l)
{
    POD_TRY(adam_lower(args, adam_norms_run, l));
    l->in_place[0] = 1;
    l->in_place[1] = 2;
    return POD_OK;
}

const pod_op pod__op_adam_norms = {.name = "adam_norms",
                                   .n_in = 5,
                                   .n_out = 4,
                                   .by_element = true,
                                   .infer = adam_norms_infer,
                                   .ops_each = 18,
                                   .lower = adam_norms_lower};

/* ---- adam_norms_wide ----------------------------------------------------------------------- */

static pod_status adam_norms_wide_infer(const pod_node *n, const pod_type in[], int n_in,
                                        pod_type out[])
{
    POD_TRY(adam_norms_infer(n, in, n_in, out));
    out[2] = out[3] = wide_sum_over(&in[0]);
    return POD_OK;
}

/* u a block at a time, which stays in L1 until it is summed. */
static void adam_norms_wide_run(const void *attr, const void *const in[], void *const out[],
                                void *scratch)
{
    enum { BLOCK = 1024 };
    (void)scratch;
    const adam_run_attr *a = attr;
    const pod_adam_attr rule = adam_at(&a->rule, in[4]);
    const pod_reduce *sums = pod__reduce_at(a->sums);
    const float *w = in[0], *g = in[3];
    float *m = start_as(out[0], in[1], a->count), *v = start_as(out[1], in[2], a->count);
    pod_wide_sum w_sq = {{0}, 0}, u_sq = {{0}, 0};
    float u[BLOCK];
    for (int64_t at = 0; at < a->count; at += BLOCK) {
        const int64_t n = a->count - at < BLOCK ? a->count - at : BLOCK;
        pod__update_at(a->set)->adam_direction(n, &rule, g + at, w + at, m + at, v + at, u);
        sums->sum_sq_wide(n, w + at, &w_sq);
        sums->sum_sq_wide(n, u, &u_sq);
    }
    pod_wide_sum_to_binned(&w_sq, out[2]);
    pod_wide_sum_to_binned(&u_sq, out[3]);
}

static pod_status adam_norms_wide_lower(const pod_lower_args *args, pod_lowering *l)
{
    POD_TRY(adam_lower(args, adam_norms_wide_run, l));
    l->in_place[0] = 1;
    l->in_place[1] = 2;
    return POD_OK;
}

const pod_op pod__op_adam_norms_wide = {.name = "adam_norms_wide",
                                        .n_in = 5,
                                        .n_out = 4,
                                        .by_element = true,
                                        .infer = adam_norms_wide_infer,
                                        .ops_each = 26,
                                        .lower = adam_norms_wide_lower};

/* ---- adam_descend -------------------------------------------------------------------------- */

static pod_status adam_descend_infer(const pod_node *n, const pod_type in[], int n_in,
                                     pod_type out[])
{
    (void)n;
    POD_TRY(want_tensors(in, 3));
    POD_TRY(want_scalars(in, 3, n_in));
    out[0] = in[0];
    return POD_OK;
}

static void adam_descend_run(const void *attr, const void *const in[], void *const out[],
                             void *scratch)
{
    (void)scratch;
    const adam_run_attr *a = attr;
    const pod_adam_attr rule = adam_at(&a->rule, in[3]);
    const double w = sqrt((double)scalar(in[5])), u = sqrt((double)scalar(in[6]));
    const float lr = scalar(in[4]), rate = w > 0 && u > 0 ? (float)((double)lr * w / u) : lr;
    pod__update_at(a->set)->adam_descend(a->count, &rule, rate, in[1], in[2],
                                         start_as(out[0], in[0], a->count));
}

static pod_status adam_descend_lower(const pod_lower_args *args, pod_lowering *l)
{
    POD_TRY(adam_lower(args, adam_descend_run, l));
    l->in_place[0] = 0;
    return POD_OK;
}

const pod_op pod__op_adam_descend = {.name = "adam_descend",
                                     .n_in = 7,
                                     .n_out = 1,
                                     .by_element = true,
                                     .infer = adam_descend_infer,
                                     .ops_each = 9,
                                     .lower = adam_descend_lower};

void pod_lamb_update(pod_graph *g, pod_value w, pod_value m, pod_value v, pod_value grad,
                     pod_value step, pod_value lr, pod_adam_update_attr attr)
{
    const adam_attr rule = {attr.beta1, attr.beta2, attr.eps, attr.decay, attr.uncorrected};
    pod_value out[4];
    pod_op_add(g, &pod__op_adam_norms, &rule, sizeof rule, (const pod_value[]){w, m, v, grad, step},
               5, out);
    const pod_value next =
        pod_op_add1(g, &pod__op_adam_descend, &rule, sizeof rule,
                    (const pod_value[]){w, out[0], out[1], step, lr, out[2], out[3]}, 7);
    if (!next.id) return;
    pod_assign(g, w, next);
    pod_assign(g, m, out[0]);
    pod_assign(g, v, out[1]);
}
