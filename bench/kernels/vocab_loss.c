/* The loss over a vocabulary and its gradients, kernels/vocab_loss, each set with the matmuls that its
 * instructions allow; checked in a few rows and columns, because all logits would take seconds. */
#include <math.h>

#include "bench/kernels/vector.h"
#include "kernels/base/cpu.h"
#include "kernels/vocab_loss/vocab_loss.h"

typedef struct operands {
    pod_operand h, table, bias, label, weight, lse;
    pod_operand dh, dtable, dbias; /* of the gradients */
    float loss, sum, correct;
} operands;

typedef struct call {
    operands *of;
    pod_vocab_loss_plan plan;
    void *scratch;
} call;

static pod_vocab_loss_in in_at(const operands *o, int set)
{
    return (pod_vocab_loss_in){.h = pod_operand_at(&o->h, set),
                               .table = pod_operand_at(&o->table, set),
                               .bias = pod_operand_at(&o->bias, set),
                               .label = pod_operand_at(&o->label, set),
                               .weight = pod_operand_at(&o->weight, set)};
}

static void run_loss(const pod_contender *c, int set)
{
    const call *x = c->call;
    operands *o = x->of;
    const pod_vocab_loss_in in = in_at(o, set);
    pod_vocab_loss_run(&x->plan, &in, &o->loss, &o->sum, &o->correct, pod_operand_at(&o->lse, set),
                       x->scratch);
}

static void run_grad(const pod_contender *c, int set)
{
    const call *x = c->call;
    const operands *o = x->of;
    const pod_vocab_loss_in in = in_at(o, set);
    pod_vocab_loss_grad(&x->plan, &in, pod_operand_at(&o->lse, set), 1, pod_operand_at(&o->dh, set),
                        pod_operand_at(&o->dtable, set), pod_operand_at(&o->dbias, set),
                        x->scratch);
}

static void run_both(const pod_contender *c, int set)
{
    const call *x = c->call;
    operands *o = x->of;
    const pod_vocab_loss_in in = in_at(o, set);
    pod_vocab_loss_both(&x->plan, &in, 1, &o->loss, &o->sum, &o->correct,
                        pod_operand_at(&o->dh, set), pod_operand_at(&o->dtable, set),
                        pod_operand_at(&o->dbias, set), x->scratch);
}

/* ---- right or wrong -------------------------------------------------------------------------- */

enum { N_ROWS = 3, N_PLACES = 4 };
static const double U = 0x1p-24;

/* A number and how far off it may be; `size` adds up what is summed. */
typedef struct near {
    double value, off, size;
} near;

static near logit_at(const pod_race *r, int64_t row, int64_t v)
{
    const operands *o = r->operands;
    const int64_t width = r->problem.product.k;
    near x = {.value = pod_operand_value(&o->bias, v)};
    x.size = fabs(x.value);
    for (int64_t j = 0; j < width; j++) {
        const double term =
            pod_operand_value(&o->h, row * width + j) * pod_operand_value(&o->table, v * width + j);
        x.value += term;
        x.size += fabs(term);
    }
    x.off = ((double)width + 14) * U * x.size;
    return x;
}

/* Some of n: the first, the last, and between. */
static int64_t some(int i, int of, int64_t n) { return of > 1 ? i * (n - 1) / (of - 1) : 0; }

static double lse_err(const pod_race *r, int64_t row)
{
    const operands *o = r->operands;
    double max = -(double)INFINITY, sum = 0, off = 0;
    for (int64_t v = 0; v < r->problem.product.n; v++) {
        const near x = logit_at(r, row, v);
        const double higher = fmax(max, x.value);
        sum = sum * exp(max - higher) + exp(x.value - higher);
        max = higher;
        off = fmax(off, x.off);
    }
    const double want = max + log(sum);
    /* Exponentials, sums, and the result; what is far below the largest logit counts little. */
    const double bound = off + U * (64 + fabs(want));
    return pod_err_of(pod_operand_value(&o->lse, row), want, bound);
}

/* Of the loss, from the lse of all rows, of which lse_err holds some against double. */
static double sum_of_losses_err(const pod_race *r)
{
    const operands *o = r->operands;
    const int32_t *label = pod_operand_at(&o->label, 0);
    const int64_t m = r->problem.product.m;
    double want = 0, off = 0, size = 0;
    for (int64_t row = 0; row < m; row++) {
        const near x = logit_at(r, row, label[row]);
        const double lse = pod_operand_value(&o->lse, row);
        want += lse - x.value;
        off += x.off;
        size += fabs(lse) + fabs(x.value);
    }
    return pod_err_of((double)o->loss, want, off + U * (double)(m + 4) * size);
}

/* Of the scalars, from an lse that is right. */
static double scalars_err(const pod_race *r)
{
    const operands *o = r->operands;
    const double m = (double)r->problem.product.m;
    if ((double)o->sum != m) return (double)INFINITY;
    if (!((double)o->correct >= 0 && (double)o->correct <= m)) return (double)INFINITY;
    return sum_of_losses_err(r);
}

static double loss_err(const pod_race *r, const pod_contender *c)
{
    operands *o = r->operands;
    pod_operand_spoil(&o->lse);
    o->loss = o->sum = o->correct = NAN;
    c->run(c, 0);
    if (!pod_operand_is_finite(&o->lse)) return (double)INFINITY;
    double worst = scalars_err(r);
    for (int i = 0; i < N_ROWS; i++)
        worst = fmax(worst, lse_err(r, some(i, N_ROWS, r->problem.product.m)));
    return worst;
}

/* A slope as the products read it; `is_stored`: as the type that they take. */
static near slope_at(const pod_race *r, int64_t row, int64_t v, bool is_stored)
{
    const operands *o = r->operands;
    const near x = logit_at(r, row, v);
    const double lse = pod_operand_value(&o->lse, row), share = exp(x.value - lse);
    const double target = ((const int32_t *)(const void *)o->label.data)[row] == v ? 1 : 0;
    near s = {.value = share - target};
    s.off = 1.05 * share * (x.off + U * (fabs(lse) + fabs(x.value - lse) + 8)) +
            4 * U * (share + target) + 0x1p-125;
    if (is_stored && r->problem.dtype == POD_BF16) s.off += 0x1p-8 * (fabs(s.value) + s.off);
    return s;
}

static void add_slope(near *sum, near slope, double by)
{
    sum->value += slope.value * by;
    sum->off += slope.off * fabs(by);
    sum->size += (fabs(slope.value) + slope.off) * fabs(by);
}

static double sum_err(const near *sum, int64_t n_terms, pod_dtype t, double got)
{
    const double off = sum->off + ((double)n_terms + 14) * U * sum->size + 0x1p-126;
    const double stored = t == POD_BF16 ? 0x1p-8 * (fabs(sum->value) + off) : 0;
    return pod_err_of(got, sum->value, off + stored);
}

/* A row of dh in some columns. */
static double dh_err(const pod_race *r, int64_t row)
{
    const operands *o = r->operands;
    const pod_gemm_shape s = r->problem.product;
    near sum[N_PLACES] = {{0, 0, 0}};
    double worst = 0;
    for (int64_t v = 0; v < s.n; v++) {
        const near slope = slope_at(r, row, v, true);
        for (int i = 0; i < N_PLACES; i++)
            add_slope(&sum[i], slope,
                      pod_operand_value(&o->table, v * s.k + some(i, N_PLACES, s.k)));
    }
    for (int i = 0; i < N_PLACES; i++)
        worst = fmax(worst, sum_err(&sum[i], s.n, r->problem.dtype,
                                    pod_operand_value(&o->dh, row * s.k + some(i, N_PLACES, s.k))));
    return worst;
}

/* The table's gradient in a row and a column, and the bias's. */
static double dtable_err(const pod_race *r, int64_t v, int64_t j)
{
    const operands *o = r->operands;
    const pod_gemm_shape s = r->problem.product;
    near sum = {0, 0, 0}, bias = {0, 0, 0};
    for (int64_t row = 0; row < s.m; row++) {
        add_slope(&sum, slope_at(r, row, v, true), pod_operand_value(&o->h, row * s.k + j));
        add_slope(&bias, slope_at(r, row, v, false), 1);
    }
    return fmax(sum_err(&sum, s.m, POD_F32, pod_operand_value(&o->dtable, v * s.k + j)),
                sum_err(&bias, s.m, POD_F32, pod_operand_value(&o->dbias, v)));
}

static double grad_err(const pod_race *r, const pod_contender *c)
{
    const operands *o = r->operands;
    const pod_gemm_shape s = r->problem.product;
    const pod_operand *const out[] = {&o->dh, &o->dtable, &o->dbias};
    for (int i = 0; i < 3; i++) pod_operand_spoil(out[i]);
    c->run(c, 0);
    for (int i = 0; i < 3; i++)
        if (!pod_operand_is_finite(out[i])) return (double)INFINITY;
    double worst = fmax(dh_err(r, 0), dh_err(r, s.m - 1));
    for (int i = 0; i < N_PLACES * N_PLACES; i++)
        worst = fmax(worst, dtable_err(r, some(i / N_PLACES, N_PLACES, s.n),
                                       some(i % N_PLACES, N_PLACES, s.k)));
    return worst;
}

static double both_err(const pod_race *r, const pod_contender *c)
{
    operands *o = r->operands;
    o->loss = o->sum = o->correct = NAN;
    const double grads = grad_err(r, c);
    return fmax(grads, scalars_err(r));
}

/* ---- operands and contenders ----------------------------------------------------------------- */

static pod_status make_operands(pod_race *r, operands *o)
{
    const pod_gemm_shape s = r->problem.product;
    const pod_dtype t = r->problem.dtype;
    POD_TRY(pod_operand_random(r, t, s.m * s.k, 1, &o->h));
    POD_TRY(pod_operand_random(r, t, s.n * s.k, 2, &o->table));
    POD_TRY(pod_operand_random(r, POD_F32, s.n, 3, &o->bias));
    POD_TRY(pod_operand_room(r, POD_I32, s.m, &o->label));
    POD_TRY(pod_operand_room(r, POD_F32, s.m, &o->weight));
    POD_TRY(pod_operand_room(r, POD_F32, s.m, &o->lse));
    for (int set = 0; set < r->n_sets; set++)
        for (int64_t i = 0; i < s.m; i++) {
            ((int32_t *)pod_operand_at(&o->label, set))[i] = (int32_t)(i * 7919 % s.n);
            ((float *)pod_operand_at(&o->weight, set))[i] = 1;
        }
    if (!r->problem.function) return POD_OK;
    POD_TRY(pod_operand_room(r, t, s.m * s.k, &o->dh));
    POD_TRY(pod_operand_room(r, POD_F32, s.n * s.k, &o->dtable));
    return pod_operand_room(r, POD_F32, s.n, &o->dbias);
}

static pod_status make_call(const pod_kernels_plan *plan, pod_race *r, uint32_t cpu, int what,
                            call *out)
{
    const pod_gemm_shape s = r->problem.product;
    pod_choice how = pod_race_choice(plan);
    how.cpu = cpu;
    *out = (call){.of = r->operands,
                  .plan = pod_vocab_loss_plan_of(&how, (pod_vocab_loss_shape){s.m, s.n, s.k},
                                                 r->problem.dtype, 0, true, what)};
    out->scratch =
        pod_arena_get(r->arena, POD_RACE_ALIGN, pod_vocab_loss_scratch_bytes(&out->plan));
    return out->scratch ? POD_OK : POD_E_NOMEM;
}

/* What gradients read, as the race of the loss checks it. */
static pod_status fill_lse(const pod_kernels_plan *plan, pod_race *r)
{
    call x;
    POD_TRY(make_call(plan, r, pod_cpu_features(), POD_VOCAB_LOSS_LOSS, &x));
    for (int set = 0; set < r->n_sets; set++) run_loss(&(pod_contender){.call = &x}, set);
    return POD_OK;
}

pod_status pod_race_vocab_loss(const pod_kernels_plan *plan, pod_race *r)
{
    static const struct {
        void (*run)(const pod_contender *c, int set);
        double (*err)(const pod_race *r, const pod_contender *c);
    } of[] = {{run_loss, loss_err}, {run_grad, grad_err}, {run_both, both_err}};
    const int what = r->problem.function; /* in the order of POD_VOCAB_LOSS_ */
    const char *name;
    uint32_t needs;
    bool is_taken = false;
    operands *o = r->operands = POD_ARENA_NEW(r->arena, operands, 1);
    if (!o) return POD_E_NOMEM;
    POD_TRY(make_operands(r, o));
    if (what != POD_VOCAB_LOSS_LOSS) POD_TRY(fill_lse(plan, r));
    for (int i = 0; pod_vector_set(POD_FAMILY_vocab_loss, i, &name, &needs); i++) {
        const char *why_not = pod_cpu_why_not(needs);
        const bool is_picked = !why_not && !is_taken;
        is_taken = is_taken || is_picked;
        if (!pod_race_admits(plan, r, name, why_not)) continue;
        call *x = POD_ARENA_NEW(r->arena, call, 1);
        if (!x) return POD_E_NOMEM;
        const uint32_t cpu = is_picked ? pod_cpu_features()
                             : needs   ? needs
                                       : POD_CPU_REFERENCE_ONLY;
        POD_TRY(make_call(plan, r, cpu, what, x));
        pod_race_add(r, &(pod_contender){.impl = name,
                                         .is_picked = is_picked,
                                         .peak = r->problem.dtype,
                                         .run = of[what].run,
                                         .err = of[what].err,
                                         .call = x});
    }
    return POD_OK;
}
