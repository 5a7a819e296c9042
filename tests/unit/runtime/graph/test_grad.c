/* runtime/passes/grad and the gradients of ops, against central differences in float32.
 *
 * Along a direction d of one variable, D(h) = (L(+h) - L(-h)) / 2h. It is off by the roundings of
 * the two losses over h, which the cases bound, and, where the loss is no polynomial of degree 2,
 * by about h^2 L'''/6, of which D(h) - D(h/2) is three quarters: the derivative is taken as (4
 * D(h/2) - D(h)) / 3 and trusted to |D(h) - D(h/2)|. A bound that comes out weak against what the
 * gradient's terms add up to fails the test as well. */
#include <math.h>
#include <stdio.h>

#include "kernels/base/assert.h"
#include "kernels/base/cpu.h"
#include "runtime/passes/passes.h"
#include "tests/harness/harness.h"
#include "tests/unit/runtime/graph/op_cases.h"

enum { N_SEEDS = 3, N_DIRECTIONS = 2, MAX_COUNT = 4096, MAX_HALVINGS = 8 };

/* What a difference is taken with and held to. */
typedef struct rules {
    double h;          /* the step, where the loss is smooth so far */
    double loss_bound; /* of the rounding of a loss */
    double weak;       /* a bound is, above this part of a gradient's terms, */
    double floor;      /* or of this, if it is more */
} rules;

/* One loss and one variable, to be moved. */
typedef struct probe {
    const char *name;
    pod_interp *it;
    const op_graph *og;
    pod_value variable;
    int64_t count;
    float start[MAX_COUNT], dir[MAX_COUNT];
} probe;

/* The loss with the variable `at` steps off: in double precision where it is weighed. */
static double loss_at(probe *p, double at)
{
    float *x = pod_interp_data(p->it, p->variable);
    for (int64_t i = 0; i < p->count; i++) x[i] = p->start[i] + (float)at * p->dir[i];
    pod_interp_run(p->it, p->og->n_forward);
    if (!p->og->r.id) return pod_interp_get(p->it, p->og->loss, 0);
    double sum = 0;
    const int64_t n = pod_shape_count(&pod_graph_type(p->og->g, p->og->y)->shape);
    for (int64_t i = 0; i < n; i++)
        sum += pod_interp_get(p->it, p->og->y, i) * pod_interp_get(p->it, p->og->r, i);
    return sum;
}

static double difference(probe *p, double h) { return (loss_at(p, h) - loss_at(p, -h)) / (2 * h); }

/* A number for which side of 0 every input of a ReLU lies on, and which place of a window holds its
 * maximum: while it stays, the loss is smooth. */
static uint64_t kinks(const probe *p)
{
    uint64_t hash = 14695981039346656037u;
    for (int32_t i = 0; i < p->og->n_forward; i++) {
        const pod_node *n = pod_graph_node(p->og->g, i);
        const bool is_pool = strcmp(n->op->name, "max_pool") == 0;
        if (strcmp(n->op->name, "relu") != 0 && !is_pool) continue;
        const pod_value x = n->in[0], y = pod_node_out(n, 0);
        const int64_t n_x = pod_shape_count(&pod_graph_type(p->og->g, x)->shape);
        const int64_t n_y = pod_shape_count(&pod_graph_type(p->og->g, y)->shape);
        for (int64_t j = 0; j < n_y; j++) {
            int64_t at = pod_interp_get(p->it, y, j) > 0;
            if (is_pool)
                for (at = 0; at < n_x; at++)
                    if (pod_interp_get(p->it, x, at) == pod_interp_get(p->it, y, j)) break;
            hash = (hash ^ (uint64_t)at) * 1099511628211u;
        }
    }
    return hash;
}

/* The largest step, from h down by halves, within which the loss is smooth. */
static double smooth_step(probe *p, double h)
{
    (void)loss_at(p, 0);
    const uint64_t here = kinks(p);
    for (int i = 0; i < MAX_HALVINGS; i++) {
        const double step = ldexp(h, -i);
        (void)loss_at(p, step);
        const bool ahead = kinks(p) == here;
        (void)loss_at(p, -step);
        if (ahead && kinks(p) == here) return step;
    }
    POD_CHECK(false, "%s: no smooth step", p->name);
    return h;
}

static void check_direction(probe *p, const float *grad, const rules *rule)
{
    double want = 0, size = 0;
    for (int64_t i = 0; i < p->count; i++) {
        want += (double)grad[i] * (double)p->dir[i];
        size += fabs((double)grad[i] * (double)p->dir[i]);
    }
    const double h = smooth_step(p, rule->h);
    const double coarse = difference(p, h), fine = difference(p, h / 2);
    const double got = (4 * fine - coarse) / 3;
    /* 4/3 of the finer difference's noise and 1/3 of the coarser's: 3 times loss_bound / h at
     * most */
    const double bound = 3 * rule->loss_bound / h + fabs(coarse - fine);
    POD_CHECK(bound <= rule->weak * fmax(size, rule->floor), "%s: the bound %g is weak against %g",
              p->name, bound, size);
    POD_CHECK(fabs(got - want) <= bound, "%s: the gradient gives %g, differences %g, bound %g",
              p->name, want, got, bound);
}

/* In sixteenths, from 1/2 to 1 either way: what bfloat16 holds, moved along it, is exact. */
static void fill_dir(probe *p, uint64_t seed)
{
    pod_rng r = pod_rng_at(seed, (pod_place){.stream = POD_STREAM_TEST, .layer = 3});
    for (int64_t i = 0; i < p->count; i++) {
        const float size = (float)(8 + pod_rng_below(&r, 9)) / 16;
        p->dir[i] = pod_rng_below(&r, 2) ? size : -size;
    }
}

/* All variables that have a gradient, around the values they hold. The graph has been run, and so
 * has `of`, whose gradients are looked at: the same graph, or the same fused. */
static int check_variables(const char *name, const op_graph *og, pod_interp *it, const op_graph *of,
                           pod_interp *of_it, uint64_t seed, const rules *rule)
{
    probe p = {0};
    int n_checked = 0;
    for (int i = 0; i < pod_graph_n_variables(og->g); i++) {
        const pod_variable_info *v = pod_graph_variable(og->g, i);
        if (!og->grad[i].id) continue;
        char title[128];
        snprintf(title, sizeof title, "%s by '%s', seed %d", name, v->name, (int)seed);
        const pod_type *t = pod_graph_type(of->g, of->grad[i]);
        p.name = title, p.it = it, p.og = og, p.variable = v->value;
        p.count = pod_shape_count(&t->shape);
        POD_ASSERT(p.count <= MAX_COUNT, "%s", title);
        POD_CHECK(t->dtype == POD_F32 &&
                      pod_shape_equal(&t->shape, &pod_graph_type(og->g, v->value)->shape),
                  "%s: the gradient's type is not the variable's", title);
        float *x = pod_interp_data(it, v->value), grad[MAX_COUNT];
        memcpy(p.start, x, (size_t)p.count * sizeof *x);
        memcpy(grad, pod_interp_data(of_it, of->grad[i]), (size_t)p.count * sizeof *x);
        for (int k = 0; k < N_DIRECTIONS; k++) {
            fill_dir(&p, seed * 100 + (uint64_t)(i * N_DIRECTIONS + k));
            check_direction(&p, grad, rule);
        }
        memcpy(x, p.start, (size_t)p.count * sizeof *x);
        n_checked++;
    }
    return n_checked;
}

/* ---- ops ----------------------------------------------------------------------------------- */

static void check_case(const op_case *c, uint64_t seed, uint32_t cpu)
{
    op_graph og = op_graph_open(c, seed, POD_F32);
    pod_interp *it = NULL;
    POD_CHECK_OK(pod_interp_create(og.g, cpu, &it));
    op_fill(it, og.g, seed, c->apart);
    pod_interp_run(it, -1);
    double weights = 1;
    if (og.r.id) {
        const int64_t n = pod_shape_count(&pod_graph_type(og.g, og.r)->shape);
        weights = 0;
        for (int64_t i = 0; i < n; i++) weights += fabs(pod_interp_get(it, og.r, i));
    }
    const rules rule = {.h = c->step, .loss_bound = weights * op_bound_y(c), .weak = 0.01};
    const int n = check_variables(c->name, &og, it, &og, it, seed, &rule);
    POD_CHECK(n > 0, "%s: nothing has a gradient", c->name);
    pod_interp_destroy(it);
    op_graph_close(&og);
}

static void ops_agree_with_differences(void)
{
    int n;
    const op_case *c = op_cases(&n);
    const uint32_t cpus[] = {POD_CPU_REFERENCE_ONLY, pod_cpu_features()};
    for (int i = 0; i < n; i++)
        for (uint64_t seed = 1; seed <= N_SEEDS; seed++)
            for (int t = 0; t < 2; t++) check_case(&c[i], seed, cpus[t]);
}

/* ---- whole models -------------------------------------------------------------------------- */

enum { N = 4, SIZE = 8, CLASSES = 5 };
static const pod_max_pool_attr pool = {.window = 3, .stride = 2, .pad = 1};

static pod_value conv_bn(pod_graph *g, pod_value x, const char *name, int64_t k, int filter,
                         int stride)
{
    const int64_t c = pod_graph_type(g, x)->shape.dim[3];
    pod_scope_begin(g, "%s", name);
    pod_value w = pod_weight(g, "w", (pod_shape){4, {k, filter, filter, c}},
                             (pod_init){POD_INIT_HE, 1}, POD_ROLE_WEIGHT);
    pod_value y = pod_conv2d(g, x, w, (pod_conv2d_attr){.stride = stride, .pad = filter / 2});
    y = pod_batchnorm(
        g, y,
        (pod_batchnorm_attr){
            .momentum = 0.9f, .eps = 1e-3f, .train = true, .gamma = {POD_INIT_ONE, 1}});
    pod_scope_end(g);
    return y;
}

static pod_value images(pod_graph *g, pod_dtype travel)
{
    pod_value x = pod_input(g, "images", pod_type_of(POD_F32, 4, (int64_t[]){N, SIZE, SIZE, 2}), 0);
    return pod_cast(g, x, travel);
}

/* A stem with a pool where asked for, a residual unit that halves the image, the mean, a dense
 * layer. */
static pod_value residual_model(pod_graph *g, pod_dtype travel, int with_max_pool)
{
    pod_value x = pod_relu(g, conv_bn(g, images(g, travel), "stem", 4, 3, 1));
    if (with_max_pool) x = pod_max_pool(g, x, pool);
    pod_value y = pod_relu(g, conv_bn(g, x, "conv1", 6, 3, 2));
    y = conv_bn(g, y, "conv2", 6, 3, 1);
    x = conv_bn(g, x, "shortcut", 6, 1, 2);
    x = pod_relu(g, pod_add(g, y, x));
    pod_scope_begin(g, "head");
    x = pod_dense(g, pod_mean_pool(g, x), CLASSES, true);
    pod_scope_end(g);
    return pod_cast(g, x, POD_F32);
}

/* One weight matrix twice: what reaches it is added up. */
static pod_value mlp_model(pod_graph *g, pod_dtype travel, int param)
{
    (void)param;
    pod_value x = pod_reshape(g, images(g, travel), (pod_shape){2, {N, (int64_t)SIZE * SIZE * 2}});
    for (int i = 0; i < 2; i++) {
        pod_scope_begin(g, "hidden%d", i);
        x = pod_relu(g, pod_dense(g, x, 12, true));
        pod_scope_end(g);
    }
    pod_value w = pod_weight(g, "shared", (pod_shape){2, {12, 12}}, (pod_init){POD_INIT_NORMAL, 1},
                             POD_ROLE_WEIGHT);
    for (int i = 0; i < 2; i++)
        x = pod_matmul(g, x, pod_cast(g, w, travel), (pod_matmul_attr){.c_dtype = travel});
    return pod_cast(g, pod_dense(g, x, CLASSES, true), POD_F32);
}

static const struct model {
    const char *name;
    pod_value (*logits)(pod_graph *g, pod_dtype travel, int param);
    int param, n_weights;
} models[] = {
    {"residual", residual_model, 0, 14},
    {"residual with max pool", residual_model, 1, 14},
    {"mlp", mlp_model, 0, 7},
};
enum { N_MODELS = sizeof models / sizeof models[0] };

static op_graph open_model(const struct model *m, pod_dtype travel)
{
    op_graph og = {0};
    POD_CHECK_OK(pod_arena_create(NULL, &og.arena));
    POD_CHECK_OK(pod_graph_create(og.arena, &og.g));
    og.y = m->logits(og.g, travel, m->param);
    pod_value labels = pod_input(og.g, "labels", pod_type_of(POD_I32, 1, (int64_t[]){N}), 0);
    og.loss = pod_softmax_loss(og.g, og.y, labels,
                               (pod_softmax_loss_attr){.smoothing = 0.1f, .scale = 1.0f / N});
    og.n_forward = pod_graph_n_nodes(og.g);
    og.grad = POD_ARENA_NEW(og.arena, pod_value, pod_graph_n_variables(og.g));
    POD_CHECK_OK(pod_pass_grad(og.g, og.loss, og.grad));
    return og;
}

/* Weights of about the size that keeps activations; batch norms whose channels lie clearly on one
 * side of 0, so that few of the ReLUs that follow change sides within a step. */
static void fill_model(pod_interp *it, const pod_graph *g, bool one_sided)
{
    op_fill(it, g, 7, false);
    for (int i = 0; i < pod_graph_n_variables(g); i++) {
        const pod_variable_info *v = pod_graph_variable(g, i);
        const pod_shape *s = &pod_graph_type(g, v->value)->shape;
        const int64_t count = pod_shape_count(s);
        float *x = pod_interp_data(it, v->value);
        const bool is_beta = strstr(v->name, "beta"), is_sum = strstr(v->name, "shortcut");
        const float side = is_sum ? 6.0f : 2.0f;
        for (int64_t j = 0; j < count; j++) {
            if (is_beta && one_sided)
                x[j] = j % 2 ? -side : side;
            else if (strstr(v->name, "gamma") && one_sided)
                x[j] = x[j] < 0 ? -0.375f : 0.375f;
            else if (s->n_dims == 4)
                x[j] *= 0.5f;
            else if (s->n_dims == 2)
                x[j] *= 0.25f;
        }
    }
}

static pod_interp *run_model(const op_graph *og, uint32_t cpu)
{
    pod_interp *it = NULL;
    POD_CHECK_OK(pod_interp_create(og->g, cpu, &it));
    fill_model(it, og->g, true);
    pod_interp_run(it, -1);
    return it;
}

static void check_model(const struct model *m, uint32_t cpu)
{
    int n_fused;
    op_graph og = open_model(m, POD_F32), fused = op_graph_fuse(&og, cpu, &n_fused);
    pod_interp *it = run_model(&og, cpu), *fused_it = run_model(&fused, cpu);
    /* The roundings of activations average out; those of the last sums stay. A shift before a
     * batch norm has a gradient near 0, against which any bound is weak: hence the floor. */
    const double loss = pod_interp_get(it, og.loss, 0);
    const rules rule = {.h = 1.0 / 64,
                        .loss_bound = 8 * pod_test_roundoff(POD_F32) * loss,
                        .weak = 0.05,
                        .floor = 0.01 * loss};
    const double fused_loss = pod_interp_get(fused_it, fused.loss, 0);
    POD_CHECK(pod_test_near(fused_loss, loss, 2 * rule.loss_bound),
              "%s: the loss is %.9g, plain %.9g", m->name, fused_loss, loss);
    const int n = check_variables(m->name, &og, it, &og, it, 1, &rule);
    POD_CHECK(n == m->n_weights, "%s: %d gradients, want %d", m->name, n, m->n_weights);
    (void)check_variables(m->name, &og, it, &fused, fused_it, 1, &rule);
    if (cpu == POD_CPU_REFERENCE_ONLY) POD_CHECK(n_fused >= 2, "%s: %d fused", m->name, n_fused);
    pod_interp_destroy(it);
    pod_interp_destroy(fused_it);
    op_graph_close(&og);
}

/* As they are built and fused; differences are those of the plain loss. */
static void models_agree_with_differences(void)
{
    for (int m = 0; m < N_MODELS; m++) {
        check_model(&models[m], POD_CPU_REFERENCE_ONLY);
        check_model(&models[m], pod_cpu_features());
    }
}

/* How many roundings to bfloat16 stand one after another before a value at most. ReLUs, pools of
 * maxima and views pass numbers on as they are. */
static int longest_rounding(const op_graph *og, pod_value of)
{
    static const char *const exact[] = {"relu", "relu_grad", "max_pool", "reshape"};
    int *depth = POD_ARENA_NEW(og->arena, int, pod_graph_n_values(og->g) + 1);
    for (int32_t i = 0; i < pod_graph_n_nodes(og->g); i++) {
        const pod_node *n = pod_graph_node(og->g, i);
        int deepest = 0, own = 1;
        for (int j = 0; j < n->n_in; j++)
            if (depth[n->in[j].id] > deepest) deepest = depth[n->in[j].id];
        for (size_t k = 0; k < sizeof exact / sizeof exact[0]; k++)
            if (strcmp(n->op->name, exact[k]) == 0) own = 0;
        for (int k = 0; k < n->n_out; k++) {
            const pod_value v = pod_node_out(n, k);
            depth[v.id] = deepest + (pod_graph_type(og->g, v)->dtype == POD_BF16 ? own : 0);
        }
    }
    return depth[of.id];
}

/* |got - want| / |want| */
static double distance(pod_interp *got, pod_interp *want, pod_value got_v, pod_value want_v,
                       int64_t count)
{
    double apart = 0, size = 0;
    for (int64_t i = 0; i < count; i++) {
        const double w = pod_interp_get(want, want_v, i), d = pod_interp_get(got, got_v, i) - w;
        apart += d * d;
        size += w * w;
    }
    return sqrt(apart / size);
}

/* Every rounding moves what is stored by 2^-8 of itself at most, so a gradient by about as many
 * times that as roundings stand before it. */
static void bf16_models_agree_with_f32(void)
{
    for (int m = 0; m < N_MODELS; m++) {
        op_graph wide = open_model(&models[m], POD_F32), narrow = open_model(&models[m], POD_BF16);
        pod_interp *w = NULL, *n = NULL;
        POD_CHECK_OK(pod_interp_create(wide.g, pod_cpu_features(), &w));
        POD_CHECK_OK(pod_interp_create(narrow.g, pod_cpu_features(), &n));
        fill_model(w, wide.g, false);
        fill_model(n, narrow.g, false);
        pod_interp_run(w, -1);
        pod_interp_run(n, -1);
        for (int i = 0; i < pod_graph_n_variables(wide.g); i++) {
            const pod_variable_info *v = pod_graph_variable(wide.g, i);
            if (!wide.grad[i].id) continue;
            const int64_t count = pod_shape_count(&pod_graph_type(wide.g, v->value)->shape);
            const int roundings = longest_rounding(&narrow, narrow.grad[i]);
            const double bound = roundings * pod_test_roundoff(POD_BF16);
            const double off = distance(n, w, narrow.grad[i], wide.grad[i], count);
            POD_CHECK(pod_graph_type(narrow.g, narrow.grad[i])->dtype == POD_F32,
                      "%s: the gradient of '%s' is not float32", models[m].name, v->name);
            POD_CHECK(off <= bound, "%s: the gradient of '%s' is off by %g, bound %g",
                      models[m].name, v->name, off, bound);
        }
        pod_interp_destroy(w);
        pod_interp_destroy(n);
        op_graph_close(&wide);
        op_graph_close(&narrow);
    }
}

/* ---- the pass ------------------------------------------------------------------------------ */

typedef struct scratch_graph {
    pod_arena *arena;
    pod_graph *g;
    pod_value x, w; /* variables of (2, 3): moving, trained */
    pod_value r;    /* input of (2, 3) */
} scratch_graph;

static scratch_graph open_scratch(void)
{
    scratch_graph s = {0};
    const pod_shape shape = {2, {2, 3}};
    s.arena = pod_test_arena();
    POD_CHECK_OK(pod_graph_create(s.arena, &s.g));
    s.x = pod_variable(s.g, "x", shape, (pod_init){POD_INIT_ONE, 1}, POD_ROLE_MOVING);
    s.w = pod_weight(s.g, "w", shape, (pod_init){POD_INIT_ONE, 1}, POD_ROLE_WEIGHT);
    s.r = pod_input(s.g, "r", pod_type_of(POD_F32, 2, shape.dim), 0);
    return s;
}

static void refuses(void)
{
    pod_value grad[2] = {{-1}, {-1}};
    scratch_graph s = open_scratch();
    POD_CHECK_FAILS(pod_pass_grad(s.g, s.w, grad), POD_E_SHAPE, "the loss is f32 (2, 3)");
    pod_scope_begin(s.g, "norm");
    pod_value loss = pod_sum_sq(s.g, pod_add(s.g, s.w, s.x));
    pod_scope_end(s.g);
    POD_CHECK_FAILS(pod_pass_grad(s.g, loss, grad), POD_E_UNSUPPORTED,
                    "sum_sq 'norm' has no gradient");

    s = open_scratch();
    loss = pod_test_weigh(s.g, s.w, s.r);
    (void)pod_reshape(s.g, s.w, (pod_shape){1, {5}});
    POD_CHECK_FAILS(pod_pass_grad(s.g, loss, grad), POD_E_SHAPE, "reshape");
    CU_ASSERT(grad[0].id == -1 && grad[1].id == -1);
}

static void leaves_out_what_is_not_trained(void)
{
    pod_value grad[2] = {{-1}, {-1}};
    scratch_graph s = open_scratch();
    /* sum_sq has no gradient, but none is asked of it */
    pod_value loss = pod_add(s.g, pod_test_weigh(s.g, s.x, s.r), pod_sum_sq(s.g, s.x));
    const int32_t n_nodes = pod_graph_n_nodes(s.g);
    POD_CHECK_OK(pod_pass_grad(s.g, loss, grad));
    CU_ASSERT(grad[0].id == 0 && grad[1].id == 0);
    CU_ASSERT_EQUAL(pod_graph_n_nodes(s.g), n_nodes);
    loss = pod_add(s.g, loss, pod_test_weigh(s.g, s.w, s.r));
    POD_CHECK_OK(pod_pass_grad(s.g, loss, grad));
    CU_ASSERT(grad[0].id == 0 && grad[1].id > 0);
}

/* Nodes of the gradient say BACKWARD and carry the label of the forward node they belong to. */
static void marks_its_nodes(void)
{
    pod_value grad[2];
    scratch_graph s = open_scratch();
    pod_scope_begin(s.g, "unit");
    pod_value y = pod_relu(s.g, s.w);
    pod_scope_end(s.g);
    pod_value loss = pod_test_weigh(s.g, y, s.r);
    POD_CHECK_OK(pod_pass_grad(s.g, loss, grad));
    const pod_node *n = pod_graph_maker(s.g, grad[1]);
    CU_ASSERT_STRING_EQUAL(n->op->name, "relu_grad");
    CU_ASSERT_STRING_EQUAL(n->label, "unit");
    CU_ASSERT_EQUAL(n->phase, POD_PHASE_BACKWARD);
    CU_ASSERT_EQUAL(pod_graph_maker(s.g, y)->phase, POD_PHASE_FORWARD);
    CU_ASSERT_EQUAL(pod_graph_phase(s.g), POD_PHASE_FORWARD);
    CU_ASSERT_STRING_EQUAL(pod_graph_scope(s.g), "");
}

/* Two ways lead from the bfloat16 copy of w to the loss: the weights of the loss come back in
 * float32 by one and rounded by the other, through the ReLU, and are added in float32. */
static void casts_keep_float32(void)
{
    pod_value grad[2];
    scratch_graph s = open_scratch();
    pod_value narrow = pod_cast(s.g, s.w, POD_BF16);
    pod_value loss = pod_add(s.g, pod_test_weigh(s.g, narrow, s.r),
                             pod_test_weigh(s.g, pod_relu(s.g, narrow), s.r));
    POD_CHECK_OK(pod_pass_grad(s.g, loss, grad));
    CU_ASSERT_EQUAL(pod_graph_type(s.g, grad[1])->dtype, POD_F32);
    pod_interp *it = NULL;
    POD_CHECK_OK(pod_interp_create(s.g, POD_CPU_REFERENCE_ONLY, &it));
    float *w = pod_interp_data(it, s.w), *r = pod_interp_data(it, s.r);
    for (int i = 0; i < 6; i++) w[i] = (float)(i - 3) + 0.5f, r[i] = 1.0f + (float)i / 512;
    pod_interp_run(it, -1);
    for (int i = 0; i < 6; i++) {
        const double own = (double)r[i], rounded = (double)pod_bf16_to_f32(pod_bf16_from_f32(r[i]));
        const double want = own + (i >= 3 ? rounded : 0), got = pod_interp_get(it, grad[1], i);
        POD_CHECK(got == want, "element %d: %.9g, want %.9g", i, got, want);
    }
    pod_interp_destroy(it);
}

/* The weights of convolutions and products get float32 from the accumulators, through no cast. */
static void weights_get_float32_directly(void)
{
    op_graph og = open_model(&models[0], POD_BF16);
    for (int i = 0; i < pod_graph_n_variables(og.g); i++) {
        const pod_variable_info *v = pod_graph_variable(og.g, i);
        if (v->role != POD_ROLE_WEIGHT) continue;
        const char *maker = pod_graph_maker(og.g, og.grad[i])->op->name;
        const bool dense = pod_graph_type(og.g, v->value)->shape.n_dims == 2;
        POD_CHECK(strcmp(maker, dense ? "matmul" : "conv2d_dw") == 0,
                  "the gradient of '%s' comes from %s", v->name, maker);
    }
    op_graph_close(&og);
}

static CU_TestInfo op_tests[] = {
    {"agree_with_differences", ops_agree_with_differences},
    CU_TEST_INFO_NULL,
};

static CU_TestInfo model_tests[] = {
    {"agree_with_differences", models_agree_with_differences},
    {"bf16_agrees_with_f32", bf16_models_agree_with_f32},
    CU_TEST_INFO_NULL,
};

static CU_TestInfo pass_tests[] = {
    {"refuses", refuses},
    {"leaves_out_what_is_not_trained", leaves_out_what_is_not_trained},
    {"marks_its_nodes", marks_its_nodes},
    {"casts_keep_float32", casts_keep_float32},
    {"weights_get_float32_directly", weights_get_float32_directly},
    CU_TEST_INFO_NULL,
};

CU_SuiteInfo pod_test_suites[] = {
    {"ops", NULL, NULL, NULL, NULL, op_tests},
    {"models", NULL, NULL, NULL, NULL, model_tests},
    {"pass", NULL, NULL, NULL, NULL, pass_tests},
    CU_SUITE_INFO_NULL,
};
