/* Updates: every set against traces of 20 steps in double, with the error that roundings can have
 * made carried along step by step; and against the reference bit by bit. */
#include <stdlib.h>

#include "kernels/update/update.h"
#include "tests/unit/kernels/kernel_test.h"

enum { N_STEPS = 20 };
static const double U = 0x1p-24;

static const float RATE = 0.05f, MOMENTUM = 0.9f, DECAY = 0.01f;
static const float BETA1 = 0.9f, BETA2 = 0.99f, ADAM_EPS = 1e-6f;

static bool runs(const pod_update *k) { return !(k->needs & ~pod_cpu_features()); }

static void test_sets(void)
{
    int n;
    const pod_update *sets = pod_update_sets(&n);
    for (int i = 0; i < n; i++) {
        kernel_runs("update", sets[i].name, sets[i].needs);
        POD_CHECK(pod_update_pick(sets[i].needs) == &sets[i], "%s is not picked", sets[i].name);
    }
    CU_ASSERT_STRING_EQUAL(pod_update_pick(POD_CPU_REFERENCE_ONLY)->name, "ref");
}

/* The rules as the header numbers them. */
typedef enum rule { OUTER, OUTER_NESTEROV, INNER, INNER_NESTEROV, ADAM, N_RULES } rule;
static const char *const rule_names[N_RULES] = {"outer", "outer nesterov", "inner",
                                                "inner nesterov", "adam"};

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
    tensor w, v, m, u;
} state;

static state state_make(int64_t count)
{
    state s = {tensor_random(1, POD_F32, count), tensor_new(POD_F32, count),
               tensor_new(POD_F32, count), tensor_new(POD_F32, count)};
    memset(s.v.data, 0, tensor_bytes(&s.v));
    memset(s.m.data, 0, tensor_bytes(&s.m));
    memset(s.u.data, 0, tensor_bytes(&s.u));
    return s;
}

static void state_free(state *s)
{
    tensor_free(&s->w), tensor_free(&s->v), tensor_free(&s->m), tensor_free(&s->u);
}

static void step(const pod_update *k, rule r, int number, const tensor *g, state *s)
{
    const bool nesterov = r == OUTER_NESTEROV || r == INNER_NESTEROV;
    if (r == ADAM) {
        const pod_adam_attr attr = adam_at(number);
        k->adam_direction(g->count, &attr, g->data, s->w.data, s->m.data, s->v.data, s->u.data);
        k->descend(g->count, RATE, s->u.data, s->w.data);
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
    state s = state_make(COUNT);
    for (int i = 0; i < COUNT; i++)
        want[i] = (trace){exactly(tensor_get(&s.w, i)), exactly(0), exactly(0)};
    for (int number = 1; number <= N_STEPS; number++) {
        tensor g = tensor_random((uint64_t)number + 100, POD_F32, COUNT);
        step(k, r, number, &g, &s);
        for (int i = 0; i < COUNT; i++) {
            const num gi = exactly(tensor_get(&g, i));
            if (r == ADAM)
                trace_adam(&want[i], number, gi);
            else
                trace_momentum(&want[i], r, gi);
        }
        tensor_free(&g);
    }
    char name[64];
    snprintf(name, sizeof name, "%s %s", k->name, rule_names[r]);
    for (int i = 0; i < COUNT; i++) values[i] = want[i].w.value, bounds[i] = want[i].w.error;
    tensor_check_near(name, &s.w, values, bounds);
    for (int i = 0; i < COUNT; i++) POD_CHECK(bounds[i] < 1e-3, "a bound of %g is none", bounds[i]);
    for (int i = 0; i < COUNT; i++) values[i] = want[i].v.value, bounds[i] = want[i].v.error;
    tensor_check_near(name, &s.v, values, bounds);
    state_free(&s);
}

static void test_traces(void)
{
    int n;
    const pod_update *sets = pod_update_sets(&n);
    for (int i = 0; i < n; i++)
        for (int r = 0; r < N_RULES && runs(&sets[i]); r++) check_trace(&sets[i], (rule)r);
}

/* ---- sets against the reference ------------------------------------------------------------- */

static void check_same(rule r, int64_t count, bool finite)
{
    int n;
    char name[96];
    const pod_update *sets = pod_update_sets(&n), *ref = pod_update_pick(POD_CPU_REFERENCE_ONLY);
    for (int i = 0; i < n; i++) {
        if (!runs(&sets[i])) continue;
        snprintf(name, sizeof name, "%s %s, %lld", sets[i].name, rule_names[r], (long long)count);
        state got = state_make(count), want = state_make(count);
        for (int number = 1; number <= 3; number++) {
            tensor g = tensor_random((uint64_t)number, POD_F32, count);
            if (!finite) tensor_sprinkle(&g);
            step(&sets[i], r, number, &g, &got);
            step(ref, r, number, &g, &want);
            tensor_free(&g);
        }
        tensor_check_same(name, &got.w, &want.w);
        tensor_check_same(name, &got.v, &want.v);
        tensor_check_same(name, &got.m, &want.m);
        tensor_check_same(name, &got.u, &want.u);
        if (!finite && count > 2) CU_ASSERT(isnan(tensor_get(&got.w, 2)));
        state_free(&got), state_free(&want);
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

static CU_TestInfo tests[] = {
    {"sets", test_sets}, {"traces", test_traces}, {"same_bits", test_same_bits}, CU_TEST_INFO_NULL};

CU_SuiteInfo pod_test_suites[] = {{"update", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};
