/* Updates: every set against traces of 20 steps in double, with the error that roundings can have
 * made carried along step by step; and against the reference bit by bit. */
#include <stdlib.h>

#include "kernels/reduce/reduce.h"
#include "kernels/update/update.h"
#include "tests/unit/kernels/kernel_test.h"

enum { N_STEPS = 20 };
static const double U = 0x1p-24;

static const float RATE = 0.05f, MOMENTUM = 0.9f, DECAY = 0.01f;
static const float BETA1 = 0.9f, BETA2 = 0.99f, ADAM_EPS = 1e-6f;

static const pod_rmsprop_attr RULE = {.rho = 0.9f, .momentum = 0.9f, .eps = 1e-3f, .decay = 0.01f};

/* The rules as the header numbers them. */
typedef enum rule {
    OUTER,
    OUTER_NESTEROV,
    INNER,
    INNER_NESTEROV,
    ADAM,
    LAMB,
    LAMB_BY_DIRECTION,
    RMSPROP,
    N_RULES
} rule;
static const char *const rule_names[N_RULES] = {"outer",          "outer nesterov", "inner",
                                                "inner nesterov", "adam",           "lamb",
                                                "lamb, u stored", "rmsprop"};

static pod_adam_attr adam_at(int step)
{
    const double b1 = (double)BETA1, b2 = (double)BETA2;
    return (pod_adam_attr){.beta1 = BETA1,
                           .beta2 = BETA2,
                           .correction1 = (float)(1 - pow(b1, step)),
                           .correction2 = (float)(1 - pow(b2, step)),
                           .eps = ADAM_EPS,
                           .decay = DECAY};
}

typedef struct state {
    tensor w, v, m, norms; /* norms: w_sq, u_sq */
} state;

static state state_make(int64_t count)
{
    state s = {tensor_random(1, POD_F32, count), tensor_new(POD_F32, count),
               tensor_new(POD_F32, count), tensor_new(POD_F32, 2)};
    memset(s.v.data, 0, tensor_bytes(&s.v));
    memset(s.m.data, 0, tensor_bytes(&s.m));
    memset(s.norms.data, 0, tensor_bytes(&s.norms));
    return s;
}

static void state_free(state *s)
{
    tensor_free(&s->w), tensor_free(&s->v), tensor_free(&s->m), tensor_free(&s->norms);
}
#define STATE __attribute__((cleanup(state_free))) state

static void step(const pod_update *k, rule r, int number, const tensor *g, state *s)
{
    const bool nesterov = r == OUTER_NESTEROV || r == INNER_NESTEROV;
    const pod_adam_attr attr = adam_at(number);
    float *const norms = s->norms.data;
    if (r == ADAM) {
        k->adam_step(g->count, &attr, RATE, g->data, s->m.data, s->v.data, s->w.data);
        return;
    }
    if (r == RMSPROP) {
        k->rmsprop(g->count, &RULE, RATE, g->data, s->m.data, s->v.data, s->w.data);
        return;
    }
    if (r == LAMB) {
        k->adam_norms(g->count, &attr, g->data, s->w.data, s->m.data, s->v.data, &norms[0],
                      &norms[1]);
        k->adam_descend(g->count, &attr, RATE, s->m.data, s->v.data, s->w.data);
        return;
    }
    if (r == LAMB_BY_DIRECTION) {
        TENSOR u = tensor_new(POD_F32, g->count);
        k->adam_direction(g->count, &attr, g->data, s->w.data, s->m.data, s->v.data, u.data);
        for (int64_t i = 0; i < g->count; i++)
            ((float *)s->w.data)[i] -= RATE * ((float *)u.data)[i];
        return;
    }
    (r == OUTER || r == OUTER_NESTEROV ? k->momentum_outer : k->momentum_inner)(
        g->count, RATE, MOMENTUM, DECAY, nesterov, g->data, s->v.data, s->w.data);
}

/* ---- in double, with the error that float32 can have made ----------------------------------- */

typedef struct num {
    double value, error;
} num;

static num exactly(double x) { return (num){x, 0}; }
/* A result of float32 arithmetic: its own rounding on top of what its operands bring. */
static num rounded(double value, double brought)
{
    return (num){value, brought + U * (fabs(value) + brought)};
}
static num plus(num a, num b) { return rounded(a.value + b.value, a.error + b.error); }
static num minus(num a, num b) { return rounded(a.value - b.value, a.error + b.error); }
static num times(num a, num b)
{
    return rounded(a.value * b.value,
                   fabs(a.value) * b.error + fabs(b.value) * a.error + a.error * b.error);
}
static num over(num a, num b)
{
    const double q = a.value / b.value, least = fabs(b.value) - b.error;
    return rounded(q, (a.error + fabs(q) * b.error) / least);
}
static num root(num a)
{
    const double low = a.value > a.error ? sqrt(a.value - a.error) : 0;
    return rounded(sqrt(a.value), sqrt(a.value) - low);
}

typedef struct trace {
    num w, v, m;
} trace;

static void trace_momentum(trace *t, rule r, num g)
{
    const num rate = exactly((double)RATE), mu = exactly((double)MOMENTUM);
    const bool outer = r == OUTER || r == OUTER_NESTEROV;
    num e = plus(g, times(exactly((double)DECAY), t->w));
    if (!outer) e = times(rate, e);
    t->v = plus(times(mu, t->v), e);
    const num d = r == OUTER || r == INNER ? t->v : plus(e, times(mu, t->v));
    t->w = minus(t->w, outer ? times(rate, d) : d);
}

/* m is the mean square. */
static void trace_rmsprop(trace *t, num g)
{
    const double rho = (double)RULE.rho;
    const num e = plus(g, times(exactly((double)RULE.decay), t->w));
    t->m = plus(times(exactly(rho), t->m), times(rounded(1 - rho, 0), times(e, e)));
    const num below = root(plus(t->m, exactly((double)RULE.eps)));
    const num step = over(times(exactly((double)RATE), e), below);
    t->v = plus(times(exactly((double)RULE.momentum), t->v), step);
    t->w = minus(t->w, t->v);
}

static void trace_adam(trace *t, int number, num g)
{
    const double b1 = (double)BETA1, b2 = (double)BETA2;
    const num c1 = rounded(1 - pow(b1, number), 0), c2 = rounded(1 - pow(b2, number), 0);
    t->m = plus(times(exactly(b1), t->m), times(rounded(1 - b1, 0), g));
    t->v = plus(times(exactly(b2), t->v), times(rounded(1 - b2, 0), times(g, g)));
    /* The kernel multiplies by 1/c: one rounding more than the division. */
    const num by_c1 = over(exactly(1), c1), by_c2 = over(exactly(1), c2);
    const num denominator = plus(root(times(t->v, by_c2)), exactly((double)ADAM_EPS));
    const num ratio = over(times(t->m, by_c1), denominator);
    const num u = plus(ratio, times(exactly((double)DECAY), t->w));
    t->w = minus(t->w, times(exactly((double)RATE), u));
}

static void check_trace(const pod_update *k, rule r)
{
    enum { COUNT = 37 };
    trace want[COUNT];
    double values[COUNT], bounds[COUNT];
    STATE s = state_make(COUNT);
    for (int i = 0; i < COUNT; i++)
        want[i] = (trace){exactly(tensor_get(&s.w, i)), exactly(0), exactly(0)};
    for (int number = 1; number <= N_STEPS; number++) {
        TENSOR g = tensor_random((uint64_t)number + 100, POD_F32, COUNT);
        step(k, r, number, &g, &s);
        for (int i = 0; i < COUNT; i++) {
            const num gi = exactly(tensor_get(&g, i));
            if (r == RMSPROP)
                trace_rmsprop(&want[i], gi);
            else if (r == ADAM || r == LAMB || r == LAMB_BY_DIRECTION)
                trace_adam(&want[i], number, gi);
            else
                trace_momentum(&want[i], r, gi);
        }
    }
    const char *name = pod_test_text("%s %s", k->name, rule_names[r]);
    for (int i = 0; i < COUNT; i++) values[i] = want[i].w.value, bounds[i] = want[i].w.error;
    tensor_check_near(name, &s.w, values, bounds);
    for (int i = 0; i < COUNT; i++) POD_CHECK(bounds[i] < 1e-3, "a bound of %g is none", bounds[i]);
    for (int i = 0; i < COUNT; i++) values[i] = want[i].v.value, bounds[i] = want[i].v.error;
    tensor_check_near(name, &s.v, values, bounds);
}

static void test_traces(void)
{
    EACH_SET(update, set)
        for (int r = 0; r < N_RULES; r++) check_trace(set, (rule)r);
}

/* ---- sets against the reference ------------------------------------------------------------- */

static void check_same(rule r, int64_t count, bool finite)
{
    char name[96];
    const pod_update *ref = pod_update_pick(POD_CPU_REFERENCE_ONLY);
    EACH_SET(update, set) {
        snprintf(name, sizeof name, "%s %s, %lld", set->name, rule_names[r], (long long)count);
        STATE got = state_make(count), want = state_make(count);
        for (int number = 1; number <= 3; number++) {
            TENSOR g = tensor_random((uint64_t)number, POD_F32, count);
            if (!finite) tensor_sprinkle(&g);
            step(set, r, number, &g, &got);
            step(ref, r, number, &g, &want);
        }
        tensor_check_same(name, &got.w, &want.w);
        tensor_check_same(name, &got.v, &want.v);
        tensor_check_same(name, &got.m, &want.m);
        if (!finite && count > 2) CU_ASSERT(isnan(tensor_get(&got.w, 2)));
    }
}

static void test_same_bits(void)
{
    const int64_t counts[] = {0, 1, 7, 8, 15, 16, 17, 33, 1001};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (int r = 0; r < N_RULES; r++) {
            check_same((rule)r, counts[i], true);
            check_same((rule)r, counts[i], false);
        }
    }
}

/* ---- LAMB's passes --------------------------------------------------------------------------- */

/* The weights of the step in one pass, to the bit; and the sums of squares that kernels/reduce has
 * of w and u. u itself is what a descent from 0 at rate -1 arrives at, where nothing decays. */
static void check_lamb(const pod_update *k, const pod_reduce *sums, int64_t count, float eps)
{
    pod_adam_attr attr = adam_at(3);
    attr.eps = eps;
    attr.decay = 0;
    STATE by_two = state_make(count), by_one = state_make(count), u = state_make(count);
    TENSOR g = tensor_random(7, POD_F32, count);
    float w_sq, u_sq;
    memset(u.w.data, 0, tensor_bytes(&u.w));
    const float want_w_sq = sums->sum_sq(count, by_two.w.data);
    k->adam_norms(count, &attr, g.data, by_two.w.data, by_two.m.data, by_two.v.data, &w_sq, &u_sq);
    k->adam_descend(count, &attr, -1, by_two.m.data, by_two.v.data, u.w.data);
    k->adam_descend(count, &attr, RATE, by_two.m.data, by_two.v.data, by_two.w.data);
    k->adam_step(count, &attr, RATE, g.data, by_one.m.data, by_one.v.data, by_one.w.data);
    tensor_check_same(k->name, &by_two.w, &by_one.w);
    tensor_check_same(k->name, &by_two.m, &by_one.m);
    tensor_check_same(k->name, &by_two.v, &by_one.v);
    const float want_u_sq = sums->sum_sq(count, u.w.data);
    POD_CHECK(w_sq == want_w_sq && u_sq == want_u_sq,
              "%s, %lld: sums of squares %.9g and %.9g, want %.9g and %.9g", k->name,
              (long long)count, (double)w_sq, (double)u_sq, (double)want_w_sq, (double)want_u_sq);
}

static void test_lamb(void)
{
    const int64_t counts[] = {0, 1, 7, 16, 33, 255, 256, 257, 5000};
    EACH_SET(update, set)
        for (size_t j = 0; j < sizeof counts / sizeof counts[0]; j++) {
            check_lamb(set, pod_reduce_pick(set->needs), counts[j], ADAM_EPS);
            check_lamb(set, pod_reduce_pick(set->needs), counts[j], 0);
        }
}

POD_TEST_SUITE("update", {"traces", test_traces}, {"same_bits", test_same_bits},
               {"lamb", test_lamb});
