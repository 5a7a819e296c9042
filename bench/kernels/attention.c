/* Attention and its gradients: kernels/attention, and sampled elements of their outputs by definition,
 * with the errors that float32 can have made, and bf16 where a set rounds to it (the formulas of
 * kernels/attention/attention.h). */
#include <math.h>

#include "bench/kernels/kernels.h"
#include "kernels/attention/attention.h"
#include "kernels/base/cpu.h"
#include "kernels/base/rng.h"

enum { FORWARD, BACKWARD };

typedef struct attention {
    pod_attention_shape s;
    pod_operand q, k, v, d_o, o, lse, dq, dk, dv;
    const int32_t *draws;
    double rounding; /* pod_attention_rounding of the set that is checked */
} attention;

typedef struct call {
    const attention *of;
    const pod_attention_kernels *set;
    void *scratch;
} call;

static pod_attention_inputs inputs_of(const attention *x, int set)
{
    return (pod_attention_inputs){.q = pod_operand_at(&x->q, set),
                                  .k = pod_operand_at(&x->k, set),
                                  .v = pod_operand_at(&x->v, set),
                                  .draws = x->draws};
}

static void run_forward(const pod_contender *c, int set)
{
    const call *x = c->call;
    const attention *a = x->of;
    const pod_attention_inputs in = inputs_of(a, set);
    x->set->forward(&a->s, &in, pod_operand_at(&a->o, set), pod_operand_at(&a->lse, set),
                    x->scratch);
}

static void run_backward(const pod_contender *c, int set)
{
    const call *x = c->call;
    const attention *a = x->of;
    const pod_attention_inputs in = inputs_of(a, set);
    x->set->backward(&a->s, &in, pod_operand_at(&a->o, set), pod_operand_at(&a->lse, set),
                     pod_operand_at(&a->d_o, set), pod_operand_at(&a->dq, set),
                     pod_operand_at(&a->dk, set), pod_operand_at(&a->dv, set), x->scratch);
}

/* ---- right or wrong -------------------------------------------------------------------------- */

static const double u = 0x1p-24;

/* A head of a sequence. */
typedef struct head {
    const attention *a;
    int64_t n, h;
} head;

static int64_t at_token(const head *x, int64_t i, int64_t d)
{
    const pod_attention_shape *s = &x->a->s;
    return ((x->n * s->sq + i) * s->heads + x->h) * s->d + d; /* Sq = Sk */
}

/* The dot product of query i of `left` and key j of `right`, and what it may be off. */
static double dot(const head *x, const pod_operand *left, int64_t i, const pod_operand *right,
                  int64_t j, double *off)
{
    pod_dot sum = {0};
    for (int64_t d = 0; d < x->a->s.d; d++)
        pod_dot_add(&sum, pod_operand_value(left, at_token(x, i, d)),
                    pod_operand_value(right, at_token(x, j, d)));
    *off = (double)(x->a->s.d + 2) * u * sum.abs;
    return sum.value;
}

static double score(const head *x, int64_t i, int64_t j, double *off)
{
    const double scale = (double)x->a->s.scale, s = scale * dot(x, &x->a->q, i, &x->a->k, j, off);
    *off *= scale;
    return s;
}

static double gate(const head *x, int64_t i, int64_t j)
{
    const pod_attention_shape *s = &x->a->s;
    if (!(s->rate > 0)) return 1;
    const uint32_t key[2] = {(uint32_t)x->a->draws[x->n], s->layer};
    const uint32_t counter[4] = {(uint32_t)(j / 4), (uint32_t)i, (uint32_t)x->h,
                                 POD_STREAM_DROPOUT};
    uint32_t word[4];
    pod_philox(key, counter, word);
    return (float)(word[j % 4] >> 8) * 0x1p-24f >= s->rate ? (double)(1 / (1 - s->rate)) : 0;
}

/* Of a sequence that is not packed. */
static int64_t seen_by(const pod_attention_shape *s, int64_t i)
{
    const pod_attention_part all = {0, s->sq, 0, s->sk, s->sk};
    return pod_attention_seen(s, &all, i);
}

static pod_dot element_of_o(const pod_race *r, const int64_t at[])
{
    const head x = {r->operands, at[0], at[2]};
    const int64_t i = at[1], seen = seen_by(&x.a->s, i);
    double max = -INFINITY, sum = 0, sum_off = 0, off;
    pod_dot o = {0};
    for (int64_t j = 0; j < seen; j++) max = fmax(max, score(&x, i, j, &off));
    for (int64_t j = 0; j < seen; j++) sum += exp(score(&x, i, j, &off) - max);
    for (int64_t j = 0; j < seen; j++) {
        const double s = score(&x, i, j, &off), p = exp(s - max) / sum;
        const double v = pod_operand_value(&x.a->v, at_token(&x, j, at[3]));
        pod_dot_add(&o, p * gate(&x, i, j), v);
        off += 2 * u * (max - s) + 8 * u;
        o.slack += (off + x.a->rounding) * p * gate(&x, i, j) * fabs(v);
        sum_off += off * p;
    }
    o.slack += fabs(o.value) * (sum_off + (double)(seen + 8) * u);
    return o;
}

/* ds[i][j] and p[i][j] g[i][j], and what they may be off. */
typedef struct slope {
    double ds, ds_off, p, p_off;
} slope;

static slope slope_of(const head *x, int64_t i, int64_t j)
{
    const attention *a = x->a;
    double s_off, dp_off, delta_off;
    const double lse = pod_operand_value(&a->lse, (x->n * a->s.heads + x->h) * a->s.sq + i);
    const double s = score(x, i, j, &s_off), p = exp(s - lse), g = gate(x, i, j);
    const double dp = g * dot(x, &a->d_o, i, &a->v, j, &dp_off);
    const double delta = dot(x, &a->d_o, i, &a->o, i, &delta_off), ds = p * (dp - delta);
    const double off = s_off + u * fabs(s - lse) + 8 * u;
    return (slope){.ds = ds,
                   .ds_off = p * (off * fabs(dp - delta) + 1.1 * (g * dp_off + delta_off)) +
                             4 * u * fabs(p) * (fabs(dp) + fabs(delta)),
                   .p = p * g,
                   .p_off = off * p * g};
}

static void add(const head *x, pod_dot *sum, double value, double off, double by)
{
    pod_dot_add(sum, value, by);
    off += x->a->rounding * (fabs(value) + off);
    sum->slack += (off + 6 * u * fabs(value)) * fabs(by);
}

static pod_dot element_of_dq(const pod_race *r, const int64_t at[])
{
    const head x = {r->operands, at[0], at[2]};
    const pod_attention_shape *s = &x.a->s;
    pod_dot dq = {0};
    for (int64_t j = 0; j < seen_by(s, at[1]); j++) {
        const slope of = slope_of(&x, at[1], j);
        add(&x, &dq, of.ds, of.ds_off,
            (double)s->scale * pod_operand_value(&x.a->k, at_token(&x, j, at[3])));
    }
    return dq;
}

static pod_dot element_of_key(const pod_race *r, const int64_t at[], bool is_dv)
{
    const head x = {r->operands, at[0], at[2]};
    const pod_attention_shape *s = &x.a->s;
    pod_dot sum = {0};
    for (int64_t i = s->causal ? at[1] : 0; i < s->sq; i++) {
        const slope of = slope_of(&x, i, at[1]);
        const int64_t query = at_token(&x, i, at[3]);
        if (is_dv)
            add(&x, &sum, of.p, of.p_off, pod_operand_value(&x.a->d_o, query));
        else
            add(&x, &sum, of.ds, of.ds_off, (double)s->scale * pod_operand_value(&x.a->q, query));
    }
    return sum;
}

static pod_dot element_of_dk(const pod_race *r, const int64_t at[])
{
    return element_of_key(r, at, false);
}

static pod_dot element_of_dv(const pod_race *r, const int64_t at[])
{
    return element_of_key(r, at, true);
}

/* Of all outputs; set 0 of the inputs does not change. */
static double err(const pod_race *r, const pod_contender *c)
{
    attention *a = r->operands;
    const call *x = c->call;
    const int64_t dim[] = {a->s.n, a->s.sq, a->s.heads, a->s.d};
    const struct {
        const pod_operand *out;
        pod_element_fn *element;
    } all[] = {{&a->o, element_of_o},
               {&a->dq, element_of_dq},
               {&a->dk, element_of_dk},
               {&a->dv, element_of_dv}};
    const int first = r->problem.function == FORWARD ? 0 : 1;
    const int end = r->problem.function == FORWARD ? 1 : 4;
    double worst = 0;
    a->rounding = pod_attention_rounding(x->set, a->s.t);
    for (int i = first; i < end; i++) pod_operand_spoil(all[i].out);
    c->run(c, 0);
    for (int i = first; i < end; i++)
        worst = fmax(worst, pod_operand_is_finite(all[i].out)
                                ? pod_race_err(r, all[i].out, 4, dim, all[i].element)
                                : (double)INFINITY);
    return worst;
}

/* ---- contenders ------------------------------------------------------------------------------ */

static pod_status make_operands(pod_race *r, attention *a)
{
    const pod_attention_shape *s = &a->s;
    const int64_t count = s->n * s->sq * s->heads * s->d, rows = s->n * s->heads * s->sq;
    pod_operand *const in[] = {&a->q, &a->k, &a->v, &a->d_o};
    pod_operand *const out[] = {&a->o, &a->dq, &a->dk, &a->dv};
    for (int i = 0; i < 4; i++) {
        POD_TRY(pod_operand_random(r, s->t, count, (uint64_t)i + 1, in[i]));
        POD_TRY(pod_operand_room(r, s->t, count, out[i]));
    }
    int32_t *draws = POD_ARENA_NEW(r->arena, int32_t, s->n);
    for (int64_t n = 0; draws && n < s->n; n++) draws[n] = (int32_t)n;
    a->draws = draws;
    r->operands = a;
    return draws ? pod_operand_room(r, POD_F32, rows, &a->lse) : POD_E_NOMEM;
}

static pod_status add_set(pod_race *r, const pod_attention_kernels *set, pod_contender *c)
{
    const attention *a = r->operands;
    call *x = POD_ARENA_NEW(r->arena, call, 1);
    if (!x) return POD_E_NOMEM;
    *x = (call){.of = a, .set = set};
    x->scratch = pod_arena_get(r->arena, POD_RACE_ALIGN, set->scratch_bytes(&a->s));
    if (!x->scratch) return POD_E_NOMEM;
    *c = (pod_contender){.impl = set->name,
                         .is_picked = pod_attention_kernels_pick(pod_cpu_features()) == set,
                         .peak = a->s.t,
                         .run = r->problem.function == FORWARD ? run_forward : run_backward,
                         .err = err,
                         .call = x};
    return POD_OK;
}

pod_status pod_race_attention(const pod_kernels_plan *plan, pod_race *r)
{
    const pod_problem *p = &r->problem;
    attention *a = POD_ARENA_NEW(r->arena, attention, 1);
    pod_contender c;
    if (!a) return POD_E_NOMEM;
    a->s = p->attention;
    a->s.t = p->dtype;
    a->s.scale = 1 / sqrtf((float)a->s.d);
    POD_TRY(make_operands(r, a));
    POD_TRY(add_set(r, pod_attention_kernels_pick(pod_cpu_features()), &c));
    for (int set = 0; p->function == BACKWARD && set < r->n_sets; set++) run_forward(&c, set);
    for (const pod_attention_kernels *const *set = pod_attention_kernels_sets(); *set; set++) {
        if (!pod_race_admits(plan, r, (*set)->name, pod_cpu_why_not((*set)->needs))) continue;
        POD_TRY(add_set(r, *set, &c));
        pod_race_add(r, &c);
    }
    return POD_OK;
}
