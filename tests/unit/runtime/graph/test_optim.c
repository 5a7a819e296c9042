/* Optimizers as graphs, against traces of the published formulas worked out in double precision.
 *
 * The trace carries with each number how far a float32 evaluation may be from it (a running error
 * analysis: Higham, "Accuracy and Stability of Numerical Algorithms", section 3.3), so the bounds
 * of the comparison come from the arithmetic, step after step. */
#include <math.h>
#include <stdio.h>

#include "kernels/base/cpu.h"
#include "kernels/base/parse.h"
#include "runtime/config/config.h"
#include "runtime/ops/ops.h"
#include "runtime/optim/lr.h"
#include "runtime/optim/optim.h"
#include "runtime/passes/passes.h"
#include "tests/harness/harness.h"
#include "tests/harness/interp.h"

enum { N_WEIGHTS = 5, N_STEPS = 20, MAX_COUNT = 60, MAX_STATES = 2 };

static const struct {
    const char *name;
    pod_role role;
    pod_init_kind init;
    int64_t rows, columns; /* columns 0: one dimension */
} weights[N_WEIGHTS] = {
    {"conv", POD_ROLE_WEIGHT, POD_INIT_NORMAL, 6, 10},
    {"gamma", POD_ROLE_NORM, POD_INIT_ONE, 7, 0},
    {"bias", POD_ROLE_BIAS, POD_INIT_NORMAL, 5, 0},
    {"zero", POD_ROLE_WEIGHT, POD_INIT_ZERO, 3, 4},    /* |w| = 0 in the first step */
    {"still", POD_ROLE_WEIGHT, POD_INIT_NORMAL, 9, 0}, /* |g| = 0 in every third step */
};

/* ---- numbers that know their error --------------------------------------------------------- */

typedef struct num {
    double x, e; /* a float32 evaluation is within e of x */
} num;

/* Two roundings for each operation: one for the operation, one for products and sums of three that
 * are put together in another order, or whose constants were rounded. */
static const double U = 2 * 0x1p-24;

static num exactly(double x) { return (num){x, 0}; }
static num rounded(double x, double e) { return (num){x, e + U * (fabs(x) + e)}; }
static num add(num a, num b) { return rounded(a.x + b.x, a.e + b.e); }
static num sub(num a, num b) { return rounded(a.x - b.x, a.e + b.e); }
static num mul(num a, num b)
{
    return rounded(a.x * b.x, fabs(a.x) * b.e + fabs(b.x) * a.e + a.e * b.e);
}
static num divided(num a, num b)
{
    double q = a.x / b.x;
    return rounded(q, (a.e + fabs(q) * b.e) / (fabs(b.x) - b.e));
}
static num root(num a)
{
    double r = sqrt(a.x);
    return rounded(r, r - sqrt(fmax(a.x - a.e, 0)));
}
/* 1 - b^t; whatever way the power is taken, it is rounded once to float32 at its size. */
static num correction(double b, int64_t t) { return rounded(1 - pow(b, (double)t), U); }

static num norm(int64_t n, const num x[])
{
    num sum = {0, 0};
    for (int64_t i = 0; i < n; i++) {
        sum.x += x[i].x * x[i].x;
        sum.e += (2 * fabs(x[i].x) + x[i].e) * x[i].e;
    }
    sum.e += (double)(n + 1) * U * (sum.x + sum.e); /* in any order */
    return root(sum);
}

/* ---- the formulas -------------------------------------------------------------------------- */

typedef struct trace {
    int64_t n;
    num w[MAX_COUNT], state[MAX_STATES][MAX_COUNT];
} trace;

static const pod_hparams hp = {.momentum = 0.9f,
                               .weight_decay = 0.03f,
                               .trust = 0.02f,
                               .beta1 = 0.9f,
                               .beta2 = 0.99f,
                               .spares = POD_SPARES_DECAY | POD_SPARES_TRUST,
                               .rho = 0.9f,
                               .epsilon = 1e-3f};

typedef struct setting { /* what a formula reads: doubles of the float32 numbers */
    double lr, momentum, decay, trust, beta1, beta2, rho, epsilon;
    bool plain; /* normalizations and biases: no ratio (the decay is 0 already) */
    bool uncorrected;
    bool nesterov;
    int64_t t;
} setting;

/* d = nesterov ? e + momentum v : v, after v = momentum v + e */
static num momentum(const setting *s, num *v, num e)
{
    *v = add(mul(exactly(s->momentum), *v), e);
    return s->nesterov ? add(e, mul(exactly(s->momentum), *v)) : *v;
}

static num decayed(const setting *s, num g, num w) { return add(g, mul(exactly(s->decay), w)); }

/* papers 7.1: lam = eta |w| / (|g| + beta |w| + eps), 1 where a norm is 0; |g| without decay */
static num lars_ratio(const setting *s, const trace *t, const num g[])
{
    num w_norm = norm(t->n, t->w), g_norm = norm(t->n, g);
    if (s->plain || w_norm.x == 0 || g_norm.x == 0) return exactly(1);
    num below = add(add(g_norm, mul(exactly(s->decay), w_norm)), exactly(s->epsilon));
    return divided(mul(exactly(s->trust), w_norm), below);
}

static void sgd(const setting *s, trace *t, const num g[])
{
    for (int64_t i = 0; i < t->n; i++) {
        num d = momentum(s, &t->state[0][i], decayed(s, g[i], t->w[i]));
        t->w[i] = sub(t->w[i], mul(exactly(s->lr), d));
    }
}

/* You 2017: v <- m v + gamma lam (g + beta w); w <- w - v */
static void lars(const setting *s, trace *t, const num g[])
{
    num rate = mul(exactly(s->lr), lars_ratio(s, t, g));
    for (int64_t i = 0; i < t->n; i++) {
        num e = mul(rate, decayed(s, g[i], t->w[i]));
        t->w[i] = sub(t->w[i], momentum(s, &t->state[0][i], e));
    }
}

/* MLPerf v0.6 reference: v <- m v + (g + beta w); w <- w - gamma lam v */
static void lars_mlperf(const setting *s, trace *t, const num g[])
{
    num rate = mul(exactly(s->lr), lars_ratio(s, t, g));
    for (int64_t i = 0; i < t->n; i++) {
        num d = momentum(s, &t->state[0][i], decayed(s, g[i], t->w[i]));
        t->w[i] = sub(t->w[i], mul(rate, d));
    }
}

/* papers 7.2; AdamW is LAMB with ratio 1 */
static void adam(const setting *s, trace *t, const num g[], bool ratio)
{
    num u[MAX_COUNT] = {{0, 0}};
    for (int64_t i = 0; i < t->n; i++) {
        num *m = &t->state[0][i], *v = &t->state[1][i];
        *m = add(mul(exactly(s->beta1), *m), mul(rounded(1 - s->beta1, 0), g[i]));
        *v = add(mul(exactly(s->beta2), *v), mul(rounded(1 - s->beta2, 0), mul(g[i], g[i])));
        num m_hat = s->uncorrected ? *m : divided(*m, correction(s->beta1, s->t));
        num v_hat = s->uncorrected ? *v : divided(*v, correction(s->beta2, s->t));
        u[i] = divided(m_hat, add(root(v_hat), exactly(s->epsilon)));
        u[i] = add(u[i], mul(exactly(s->decay), t->w[i]));
    }
    num rate = exactly(s->lr), w_norm = norm(t->n, t->w), u_norm = norm(t->n, u);
    if (ratio && !s->plain && w_norm.x > 0 && u_norm.x > 0)
        rate = mul(rate, divided(w_norm, u_norm));
    for (int64_t i = 0; i < t->n; i++) t->w[i] = sub(t->w[i], mul(rate, u[i]));
}

static void lamb(const setting *s, trace *t, const num g[]) { adam(s, t, g, true); }
static void adamw(const setting *s, trace *t, const num g[]) { adam(s, t, g, false); }

/* TensorFlow 1: ms <- rho ms + (1 - rho) g^2; v <- m v + lr g / sqrt(ms + eps); w <- w - v */
static void rmsprop(const setting *s, trace *t, const num g[])
{
    for (int64_t i = 0; i < t->n; i++) {
        num *ms = &t->state[0][i], *v = &t->state[1][i], e = decayed(s, g[i], t->w[i]);
        *ms = add(mul(exactly(s->rho), *ms), mul(rounded(1 - s->rho, 0), mul(e, e)));
        num step = divided(mul(exactly(s->lr), e), root(add(*ms, exactly(s->epsilon))));
        *v = add(mul(exactly(s->momentum), *v), step);
        t->w[i] = sub(t->w[i], *v);
    }
}

enum { BOTH = POD_SPARES_DECAY | POD_SPARES_TRUST };

/* States that start at 1: in RMSProp the mean squares alone. */
static int n_ones(const pod_optim *o) { return strcmp(o->name, "rmsprop") == 0 ? 1 : 0; }

static const struct {
    const char *name;
    bool nesterov, uncorrected;
    unsigned spares;
    void (*step)(const setting *s, trace *t, const num g[]);
} rules[] = {
    {"sgd", false, false, BOTH, sgd},
    {"sgd", true, false, BOTH, sgd},
    {"lars", false, false, BOTH, lars},
    {"lars", true, false, BOTH, lars},
    {"lars-mlperf", false, false, BOTH, lars_mlperf},
    {"lars-mlperf", true, false, BOTH, lars_mlperf},
    {"lamb", false, false, BOTH, lamb},
    {"lamb", false, true, BOTH, lamb},
    {"lamb", false, false, POD_SPARES_DECAY, lamb}, /* Google's BERT in JAX */
    {"lamb", false, true, 0, lamb},
    {"adamw", false, false, BOTH, adamw},
    {"adamw", false, true, BOTH, adamw}, /* google-research/bert */
    {"adamw", false, false, 0, adamw},
    {"rmsprop", false, false, BOTH, rmsprop},
};

/* ---- the graph ----------------------------------------------------------------------------- */

typedef struct built {
    pod_arena *arena;
    pod_graph *graph;
    pod_value weight[N_WEIGHTS], grad[N_WEIGHTS], untrained;
} built;

static pod_shape shape_of(int i)
{
    return (pod_shape){weights[i].columns ? 2 : 1, {weights[i].rows, weights[i].columns}};
}

/* The weights in order, their gradients as inputs made in the opposite order, one weight without a
 * gradient, and the update. */
static built build(const pod_optim *optim, const pod_hparams *with)
{
    built b = {0};
    b.arena = pod_test_arena();
    POD_CHECK_OK(pod_graph_create(b.arena, &b.graph));
    pod_scope_begin(b.graph, "net");
    for (int i = 0; i < N_WEIGHTS; i++)
        b.weight[i] = pod_weight(b.graph, weights[i].name, shape_of(i),
                                 (pod_init){weights[i].init, 1.0f}, weights[i].role);
    b.untrained = pod_weight(b.graph, "untrained", (pod_shape){1, {3}}, (pod_init){POD_INIT_ONE, 1},
                             POD_ROLE_WEIGHT);
    pod_scope_end(b.graph);
    pod_value by_variable[N_WEIGHTS + 1] = {{0}};
    for (int i = N_WEIGHTS - 1; i >= 0; i--) {
        char name[16];
        const pod_shape s = shape_of(i);
        snprintf(name, sizeof name, "g%d", i);
        b.grad[i] = pod_input(b.graph, name, pod_type_of(POD_F32, s.n_dims, s.dim), 0);
        by_variable[i] = b.grad[i];
    }
    POD_CHECK_OK(pod_pass_update(b.graph, by_variable, optim, with));
    return b;
}

static int find(const pod_graph *g, const char *name)
{
    for (int i = 0; i < pod_graph_n_variables(g); i++)
        if (strcmp(pod_graph_variable(g, i)->name, name) == 0) return i;
    return -1;
}

static pod_value find_input(const pod_graph *g, const char *name)
{
    for (int i = 0; i < pod_graph_n_inputs(g); i++)
        if (strcmp(pod_graph_input(g, i)->name, name) == 0) return pod_graph_input(g, i)->value;
    POD_CHECK(false, "there is no input '%s'", name);
    return (pod_value){0};
}

static pod_value state_of(const pod_graph *g, int i, const pod_optim *optim, int k)
{
    char name[64];
    snprintf(name, sizeof name, "net/%s/%s/%d", weights[i].name, optim->name, k);
    int at = find(g, name);
    POD_CHECK(at >= 0, "there is no variable '%s'", name);
    return at < 0 ? (pod_value){0} : pod_graph_variable(g, at)->value;
}

/* ---- tests --------------------------------------------------------------------------------- */

static void states_are_variables(void)
{
    int n;
    const pod_optim *all = pod_optims(&n);
    CU_ASSERT_EQUAL(n, 6);
    for (int o = 0; o < n; o++) {
        built b = build(&all[o], &hp);
        CU_ASSERT_EQUAL(pod_graph_n_variables(b.graph),
                        N_WEIGHTS + 1 + N_WEIGHTS * all[o].n_states);
        for (int i = 0; i < N_WEIGHTS; i++)
            for (int k = 0; k < all[o].n_states; k++) {
                pod_value state = state_of(b.graph, i, &all[o], k);
                if (!state.id) continue;
                const int at = pod_graph_find_variable(b.graph, state);
                const pod_variable_info *v = pod_graph_variable(b.graph, at);
                const pod_shape want = shape_of(i);
                const pod_init_kind init = k < n_ones(&all[o]) ? POD_INIT_ONE : POD_INIT_ZERO;
                POD_CHECK(v->role == POD_ROLE_STATE && v->init.kind == init, "%s: role %d", v->name,
                          (int)v->role);
                POD_CHECK(pod_shape_equal(&pod_graph_type(b.graph, v->value)->shape, &want),
                          "%s has another shape than its weight", v->name);
                POD_CHECK(v->assigned.id != 0, "%s is not assigned", v->name);
            }
    }
}

/* The options list what the tables have, in the same order: they lie in a layer below. */
static void options_name_the_tables(void)
{
    char names[256] = "";
    size_t used = 0;
    int n;
    const pod_optim *all = pod_optims(&n);
    for (int o = 0; o < n; o++)
        used +=
            (size_t)snprintf(names + used, sizeof names - used, "%s%s", o ? "|" : "", all[o].name);
    CU_ASSERT_STRING_EQUAL(pod_options[POD_OPT_OPTIMIZER].choices, names);
    used = 0;
    for (int k = 0; k < POD_N_LR_KINDS; k++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", k ? "|" : "",
                                 pod_lr_print((pod_lr_kind)k));
    CU_ASSERT_STRING_EQUAL(pod_options[POD_OPT_LR_SCHEDULE].choices, names);
}

static bool has_default(const pod_optim *optim, pod_opt o)
{
    for (const pod_optim_default *d = optim->own; d->value; d++)
        if (d->option == o) return true;
    return false;
}

/* Defaults are of options that have none of their own, and in their range. */
static void defaults_are_of_options(void)
{
    int n;
    const pod_optim *all = pod_optims(&n);
    for (int o = 0; o < n; o++) {
        for (const pod_optim_default *d = all[o].own; d->value; d++) {
            double x;
            const pod_option *option = &pod_options[d->option];
            POD_CHECK_OK(pod_parse_double(all[o].name, d->value, option->min, option->max, &x));
            POD_CHECK(option->fallback[0] == '\0', "--%s has two defaults", option->name);
        }
    }
    for (int i = 0; i < POD_N_OPTS; i++) /* what has no default is some optimizer's */
        if (pod_options[i].type != POD_OPTION_TEXT && pod_options[i].fallback[0] == '\0') {
            bool is_read = false;
            for (int o = 0; o < n; o++) is_read |= has_default(&all[o], (pod_opt)i);
            POD_CHECK(is_read, "nobody has a default for --%s", pod_options[i].name);
        }
}

static void a_value_is_found(void)
{
    static const pod_command_form train = {.name = "train", .bit = POD_CMD_TRAIN, .args = ""};
    char optimizer[] = "--optimizer=adamw", epsilon[] = "--epsilon=0.5";
    char *environment[] = {NULL}, *argv[] = {optimizer, epsilon};
    pod_config *c, *again;
    POD_CHECK_OK(pod_config_from_args(&train, 2, argv, environment, &c));
    POD_CHECK_OK(pod_config_parse(pod_config_print(c), &again));
    const pod_config *const both[] = {c, again};
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_STRING_EQUAL(pod_optim_value(both[i], POD_OPT_LR), "1e-3");
        CU_ASSERT_EQUAL(pod_optim_number(both[i], POD_OPT_LR), 1e-3);
        CU_ASSERT_EQUAL(pod_optim_number(both[i], POD_OPT_EPSILON), 0.5);
        CU_ASSERT_STRING_EQUAL(pod_optim_value(both[i], POD_OPT_TRUST), "");
        CU_ASSERT_STRING_EQUAL(pod_optim_value(both[i], POD_OPT_BATCH), "256");
    }
    pod_config_destroy(c);
    pod_config_destroy(again);
}

/* Every weight with a gradient is assigned, in the order of the gradients, by nodes of UPDATE. */
static void readiness_orders_the_updates(void)
{
    int n;
    const pod_optim *all = pod_optims(&n);
    for (int o = 0; o < n; o++) {
        built b = build(&all[o], &hp);
        int32_t after = 0;
        for (int i = N_WEIGHTS - 1; i >= 0; i--) {
            const pod_variable_info *v = pod_graph_variable(b.graph, i);
            POD_CHECK(v->assigned.id > after, "%s: '%s' is assigned %d, after %d", all[o].name,
                      v->name, (int)v->assigned.id, (int)after);
            if (!v->assigned.id) continue;
            after = v->assigned.id;
            const pod_node *maker = pod_graph_maker(b.graph, v->assigned);
            POD_CHECK(maker->phase == POD_PHASE_UPDATE, "%s is in phase %s", maker->label,
                      pod_phase_name(maker->phase));
            POD_CHECK(strstr(maker->label, weights[i].name) != NULL, "'%s' is made by '%s'",
                      v->name, maker->label);
        }
        int at = pod_graph_find_variable(b.graph, b.untrained);
        CU_ASSERT_EQUAL(pod_graph_variable(b.graph, at)->assigned.id, 0);
    }
}

/* What float32 makes of a number, as a double. */
static double f32(double x) { return (double)(float)x; }

static setting setting_of(bool skipped, const pod_hparams *with, double lr, int64_t t)
{
    return (setting){
        .lr = f32(lr),
        .momentum = (double)with->momentum,
        .decay = skipped && with->spares & POD_SPARES_DECAY ? 0 : (double)with->weight_decay,
        .trust = (double)with->trust,
        .beta1 = (double)with->beta1,
        .beta2 = (double)with->beta2,
        .rho = (double)with->rho,
        .epsilon = (double)with->epsilon,
        .plain = skipped && with->spares & POD_SPARES_TRUST,
        .uncorrected = with->uncorrected,
        .nesterov = with->nesterov,
        .t = t};
}

/* The end of a step: variables become what was assigned to them. */
static void assign(pod_interp *it, const pod_graph *g)
{
    for (int i = 0; i < pod_graph_n_variables(g); i++) {
        const pod_variable_info *v = pod_graph_variable(g, i);
        if (!v->assigned.id) continue;
        int64_t count = pod_shape_count(&pod_graph_type(g, v->value)->shape);
        memcpy(pod_interp_data(it, v->value), pod_interp_data(it, v->assigned),
               (size_t)count * sizeof(float));
    }
}

static void start(pod_interp *it, const pod_graph *g, const pod_optim *optim, trace traces[])
{
    for (int i = 0; i < pod_graph_n_variables(g); i++) {
        const pod_variable_info *v = pod_graph_variable(g, i);
        int64_t count = pod_shape_count(&pod_graph_type(g, v->value)->shape);
        float *data = pod_interp_data(it, v->value);
        memset(data, 0, (size_t)count * sizeof(float));
        if (v->init.kind == POD_INIT_ONE)
            for (int64_t k = 0; k < count; k++) data[k] = 1;
        if (v->init.kind == POD_INIT_NORMAL) pod_test_fill(100 + (uint64_t)i, count, POD_F32, data);
        if (i >= N_WEIGHTS) continue;
        traces[i] = (trace){.n = count};
        for (int64_t k = 0; k < count && n_ones(optim); k++) traces[i].state[0][k] = exactly(1);
        for (int64_t k = 0; k < count; k++) traces[i].w[k] = exactly((double)data[k]);
    }
}

/* Draws the gradient of a weight for a step, the same for graph and trace. */
static void draw(int i, int64_t step, int64_t count, float *data, num g[])
{
    pod_test_fill(1000 + (uint64_t)(i * N_STEPS + step), count, POD_F32, data);
    const bool still = strcmp(weights[i].name, "still") == 0 && step % 3 == 0;
    for (int64_t k = 0; k < count; k++) {
        if (still) data[k] = 0;
        g[k] = exactly((double)data[k]);
    }
}

static double compare(const char *what, int i, int64_t step, const float *got, int64_t n,
                      const num want[])
{
    double widest = 0;
    for (int64_t k = 0; k < n; k++) {
        POD_CHECK(pod_test_near((double)got[k], want[k].x, want[k].e),
                  "%s of %s[%d] after step %d is %.9g, want %.9g to within %.1e", what,
                  weights[i].name, (int)k, (int)step, (double)got[k], want[k].x, want[k].e);
        widest = fmax(widest, want[k].e);
    }
    return widest;
}

static void follow(const pod_optim *optim, const pod_hparams *with,
                   void (*formula)(const setting *s, trace *t, const num g[]))
{
    static const pod_lr schedule = {
        .kind = POD_LR_COSINE, .base = 0.25, .end = 0.01, .train_steps = N_STEPS};
    built b = build(optim, with);
    pod_interp *it = NULL;
    POD_CHECK_OK(pod_interp_create(b.graph, pod_cpu_features(), &it));
    static trace traces[N_WEIGHTS];
    start(it, b.graph, optim, traces);
    const pod_value lr = find_input(b.graph, "lr"), step = find_input(b.graph, "step");
    double widest = 0;
    for (int64_t s = 0; s < N_STEPS; s++) {
        const double rate = pod_lr_at(&schedule, s);
        *(float *)pod_interp_data(it, lr) = (float)rate;
        *(float *)pod_interp_data(it, step) = (float)(s + 1);
        for (int i = 0; i < N_WEIGHTS; i++) {
            num g[MAX_COUNT];
            draw(i, s, traces[i].n, pod_interp_data(it, b.grad[i]), g);
            const bool skipped = weights[i].role != POD_ROLE_WEIGHT;
            setting now = setting_of(skipped, with, rate, s + 1);
            if (formula == rmsprop && weights[i].role == POD_ROLE_BIAS)
                now.decay = (double)with->weight_decay;
            formula(&now, &traces[i], g);
        }
        pod_interp_run(it, -1);
        assign(it, b.graph);
        for (int i = 0; i < N_WEIGHTS; i++) {
            const float *w = pod_interp_data(it, b.weight[i]);
            widest = fmax(widest, compare(optim->name, i, s, w, traces[i].n, traces[i].w));
            for (int k = 0; k < optim->n_states; k++)
                compare("state", i, s, pod_interp_data(it, state_of(b.graph, i, optim, k)),
                        traces[i].n, traces[i].state[k]);
        }
    }
    /* Weights are about 1: bounds that let a wrong formula pass would be no bounds. */
    POD_CHECK(widest < 1e-3, "%s: the bounds grew to %g", optim->name, widest);
    pod_interp_destroy(it);
}

static void follow_their_formulas(void)
{
    for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
        const pod_optim *optim = pod_optim_find(rules[r].name);
        POD_CHECK(optim != NULL, "there is no '%s'", rules[r].name);
        pod_hparams with = hp;
        with.nesterov = rules[r].nesterov;
        with.uncorrected = rules[r].uncorrected;
        with.spares = rules[r].spares;
        if (optim) follow(optim, &with, rules[r].step);
    }
    CU_ASSERT_PTR_NULL(pod_optim_find("rprop"));
}

/* The weights, one behind the other, after two steps: the second has a momentum to go by. */
static void after_two_steps(const pod_optim *optim, const pod_hparams *with, float w[])
{
    built b = build(optim, with);
    pod_interp *it = NULL;
    POD_CHECK_OK(pod_interp_create(b.graph, pod_cpu_features(), &it));
    static trace unused[N_WEIGHTS];
    start(it, b.graph, optim, unused);
    for (int64_t s = 0; s < 2; s++) {
        *(float *)pod_interp_data(it, find_input(b.graph, "lr")) = 0.25f;
        *(float *)pod_interp_data(it, find_input(b.graph, "step")) = (float)(s + 1);
        for (int i = 0; i < N_WEIGHTS; i++) {
            num g[MAX_COUNT];
            draw(i, s, unused[i].n, pod_interp_data(it, b.grad[i]), g);
        }
        pod_interp_run(it, -1);
        assign(it, b.graph);
    }
    for (int i = 0; i < N_WEIGHTS; w += unused[i++].n)
        memcpy(w, pod_interp_data(it, b.weight[i]), (size_t)unused[i].n * sizeof *w);
    pod_interp_destroy(it);
}

/* A rule reads the hyperparameters that it has defaults for, and no other. */
static void read_what_the_table_says(void)
{
    pod_hparams other[] = {hp, hp, hp, hp, hp, hp};
    static const pod_opt option[] = {POD_OPT_MOMENTUM, POD_OPT_TRUST, POD_OPT_BETA1,
                                     POD_OPT_BETA2,    POD_OPT_RHO,   POD_OPT_EPSILON};
    other[0].momentum = other[1].trust = other[2].beta1 = 0.5f;
    other[3].beta2 = other[4].rho = other[5].epsilon = 0.5f;
    pod_hparams nesterov = hp;
    nesterov.nesterov = true;
    int n;
    const pod_optim *all = pod_optims(&n);
    for (int o = 0; o < n; o++) {
        float plain[N_WEIGHTS * MAX_COUNT] = {0}, changed[N_WEIGHTS * MAX_COUNT] = {0};
        after_two_steps(&all[o], &hp, plain);
        for (size_t i = 0; i < sizeof option / sizeof option[0]; i++) {
            after_two_steps(&all[o], &other[i], changed);
            const bool reads = memcmp(plain, changed, sizeof plain) != 0;
            POD_CHECK(reads == has_default(&all[o], option[i]), "%s: hyperparameter %d: %s",
                      all[o].name, (int)i, reads ? "is read" : "is not read");
        }
        after_two_steps(&all[o], &nesterov, changed);
        POD_CHECK(!(all[o].traits & POD_OPTIM_NESTEROV) ||
                      memcmp(plain, changed, sizeof plain) != 0,
                  "%s has no form of Nesterov's", all[o].name);
    }
}

POD_TEST_SUITE("runtime.optim", {"options_name_the_tables", options_name_the_tables},
               {"defaults_are_of_options", defaults_are_of_options},
               {"a_value_is_found", a_value_is_found},
               {"states_are_variables", states_are_variables},
               {"readiness_orders_the_updates", readiness_orders_the_updates},
               {"follow_their_formulas", follow_their_formulas},
               {"read_what_the_table_says", read_what_the_table_says});
