/* --precision bf16-conv: that convolutions and products, and these alone, are in bfloat16 in every
 * model, and how far that is from float32. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kernels/base/cpu.h"
#include "kernels/base/rng.h"
#include "models/family.h"
#include "runtime/passes/passes.h"
#include "tests/harness/harness.h"
#include "tests/harness/interp.h"

enum { BATCH = 2, CLASSES = 5 };

typedef struct built {
    pod_arena *arena;
    pod_graph *graph;
    pod_value *grad; /* by variable, id 0: none */
    pod_value loss;
} built;

typedef pod_value build_fn(pod_graph *g, int param, pod_value images, const pod_model_args *args);

/* Forward and backward in training, of float32 images; the loss weighs the logits by "r". */
static built build(build_fn *net, int param, const int64_t hwc[3], bool bf16_products)
{
    built b = {0};
    b.arena = pod_test_arena();
    POD_CHECK_OK(pod_graph_create(b.arena, &b.graph));
    pod_graph *g = b.graph;
    const pod_value x =
        pod_input(g, "x", pod_type_of(POD_F32, 4, (int64_t[]){BATCH, hwc[0], hwc[1], hwc[2]}), 0);
    const pod_value draws = pod_input(g, "draws", pod_type_of(POD_I32, 1, (int64_t[]){BATCH}), 0);
    const pod_value r = pod_input(g, "r", pod_type_of(POD_F32, 2, (int64_t[]){BATCH, CLASSES}), 0);
    const pod_model_args args = {.n_classes = CLASSES,
                                 .train = true,
                                 .bn_momentum = 0.9f,
                                 .bn_epsilon = 1e-3f,
                                 .bf16_products = bf16_products,
                                 .draws = draws,
                                 .dropout = -1,
                                 .survival = -1};
    b.loss = pod_test_weigh(g, net(g, param, x, &args), r);
    POD_CHECK_OK(pod_graph_finish(g));
    b.grad = POD_ARENA_NEW(b.arena, pod_value, pod_graph_n_variables(g));
    POD_CHECK_OK(pod_pass_grad(g, b.loss, b.grad));
    return b;
}

/* ---- what is in which type ------------------------------------------------------------------ */

/* Ops that are in bfloat16: their two operands, and what comes out. */
static const struct {
    const char *name;
    pod_dtype out;
} products[] = {{"conv2d", POD_BF16},         {"conv2d_dx", POD_BF16},
                {"conv2d_dw", POD_F32},       {"depthwise2d", POD_BF16},
                {"depthwise2d_dx", POD_BF16}, {"depthwise2d_dw", POD_F32},
                {"matmul", POD_F32}};
enum { N_PRODUCTS = sizeof products / sizeof products[0] };

static int find_product(const pod_node *n)
{
    for (int i = 0; i < N_PRODUCTS; i++)
        if (strcmp(n->op->name, products[i].name) == 0) return i;
    return -1;
}

static bool touches_bf16(const pod_graph *g, const pod_node *n)
{
    bool does = false;
    for (int k = 0; k < n->n_in; k++) does |= pod_graph_type(g, n->in[k])->dtype == POD_BF16;
    for (int k = 0; k < n->n_out; k++)
        does |= pod_graph_type(g, pod_node_out(n, k))->dtype == POD_BF16;
    return does;
}

/* Counts products by their kind. */
static void check_node(const char *model, const pod_graph *g, const pod_node *n, int count[])
{
    const int i = find_product(n);
    if (i < 0) {
        /* Attention is products, in one op. */
        const bool may = strcmp(n->op->name, "cast") == 0 ||
                         strcmp(n->op->name, "attention") == 0 ||
                         strcmp(n->op->name, "attention_grad") == 0;
        POD_CHECK(may || !touches_bf16(g, n), "%s: %s '%s' in bf16", model, n->op->name, n->label);
        return;
    }
    count[i]++;
    const pod_dtype a = pod_graph_type(g, n->in[0])->dtype, b = pod_graph_type(g, n->in[1])->dtype;
    const pod_dtype out = pod_graph_type(g, pod_node_out(n, 0))->dtype;
    POD_CHECK(a == POD_BF16 && b == POD_BF16, "%s: %s '%s' of %s by %s", model, n->op->name,
              n->label, pod_dtype_name(a), pod_dtype_name(b));
    POD_CHECK(out == products[i].out, "%s: %s '%s' gives %s", model, n->op->name, n->label,
              pod_dtype_name(out));
}

static void products_alone_are_in_bf16(void)
{
    int n;
    const pod_model *m = pod_models(&n);
    for (int i = 0; i < n; i++) {
        built b = build(m[i].build, m[i].param, (int64_t[]){32, 32, 3}, true);
        int count[N_PRODUCTS] = {0}, all = 0;
        for (int32_t k = 0; k < pod_graph_n_nodes(b.graph); k++)
            check_node(m[i].name, b.graph, pod_graph_node(b.graph, k), count);
        for (int k = 0; k < N_PRODUCTS; k++) all += count[k];
        POD_CHECK(count[N_PRODUCTS - 1] >= 2 && all >= 8, "%s: %d products", m[i].name, all);
        for (int k = 0; k < pod_graph_n_variables(b.graph); k++) {
            const pod_dtype t = b.grad[k].id ? pod_graph_type(b.graph, b.grad[k])->dtype : POD_F32;
            POD_CHECK(t == POD_F32, "%s: a gradient of %s in %s", m[i].name,
                      pod_graph_variable(b.graph, k)->name, pod_dtype_name(t));
        }
    }
}

/* ---- how far that is from float32 ----------------------------------------------------------- */

/* A convolution, a depthwise one, a dense layer: of what is positive all is positive. */
static pod_value positive_net(pod_graph *g, int param, pod_value x, const pod_model_args *args)
{
    enum { WIDE = 6 };
    (void)param;
    pod_value w = pod_weight(g, "conv", (pod_shape){4, {WIDE, 3, 3, pod__channels(g, x)}},
                             (pod_init){POD_INIT_HE, 1}, POD_ROLE_WEIGHT);
    x = pod__conv2d(g, x, w, (pod_conv2d_attr){.stride = 1, .pad = 1}, args);
    w = pod_weight(g, "depthwise", (pod_shape){3, {3, 3, WIDE}}, (pod_init){POD_INIT_HE, 1},
                   POD_ROLE_WEIGHT);
    x = pod__depthwise2d(g, x, w, (pod_conv2d_attr){.stride = 2, .same = true}, args);
    return pod__logits(g, pod_mean_pool(g, x), args);
}

/* Uniform in [1/4, 3/4). */
static void fill(pod_interp *it, const pod_graph *g, pod_value v, int place)
{
    const pod_type *t = pod_graph_type(g, v);
    pod_rng rng = pod_rng_at(3, (pod_place){.stream = POD_STREAM_TEST, .sample = (uint64_t)place});
    if (t->dtype != POD_F32) return; /* draws, which nothing reads here */
    for (int64_t i = 0; i < pod_shape_count(&t->shape); i++)
        ((float *)pod_interp_data(it, v))[i] = 0.25f + 0.5f * pod_rng_uniform(&rng);
}

/* The same in both programs. */
static void fill_leaves(pod_interp *it, const pod_graph *g)
{
    const int n_inputs = pod_graph_n_inputs(g);
    for (int i = 0; i < n_inputs; i++) fill(it, g, pod_graph_input(g, i)->value, i);
    for (int i = 0; i < pod_graph_n_variables(g); i++)
        fill(it, g, pod_graph_variable(g, i)->value, n_inputs + i);
}

/* Where nothing is subtracted each rounding moves a result by a factor within 1 +- u at most. A
 * term of a loss or of a gradient goes through each layer once, forward or backward, and is rounded
 * there at most three times: what it meets there, itself, what comes out. TERMS sums in float32 are
 * on its way, in both programs. Higham, "Accuracy and Stability of Numerical Algorithms", section
 * 3.1. */
static double bound_of(int n_layers)
{
    enum { TERMS = 2048 };
    return pow(1 + pod_test_roundoff(POD_BF16), 3 * n_layers) - 1 +
           2 * TERMS * pod_test_roundoff(POD_F32);
}

typedef struct apart { /* of values that were compared: the largest relative difference */
    double most;
    int64_t n, n_differ;
} apart;

static void compare(const built b[2], pod_interp *it[2], const pod_value v[2], apart *a)
{
    const int64_t n = pod_shape_count(&pod_graph_type(b[0].graph, v[0])->shape);
    for (int64_t i = 0; i < n; i++, a->n++) {
        const double want = pod_interp_get(it[0], v[0], i), got = pod_interp_get(it[1], v[1], i);
        const double off = fabs(got - want) / want;
        CU_ASSERT(want > 0);
        a->n_differ += got != want;
        if (!(off <= a->most)) a->most = off;
    }
}

static void check_near_f32(const char *name, build_fn *net, int n_layers, uint32_t cpu)
{
    built b[2];
    pod_interp *it[2];
    for (int i = 0; i < 2; i++) {
        b[i] = build(net, 0, (int64_t[]){4, 4, 2}, i == 1);
        POD_CHECK_OK(pod_interp_create(b[i].graph, cpu, &it[i]));
        fill_leaves(it[i], b[i].graph);
        pod_interp_run(it[i], -1);
    }
    apart a = {0};
    compare(b, it, (pod_value[]){b[0].loss, b[1].loss}, &a);
    for (int k = 0; k < pod_graph_n_variables(b[0].graph); k++)
        compare(b, it, (pod_value[]){b[0].grad[k], b[1].grad[k]}, &a);
    POD_CHECK(a.most <= bound_of(n_layers), "%s: %g apart, bound %g", name, a.most,
              bound_of(n_layers));
    POD_CHECK(2 * a.n_differ > a.n, "%s: %" PRId64 " of %" PRId64 " values differ", name,
              a.n_differ, a.n);
    for (int i = 0; i < 2; i++) pod_interp_destroy(it[i]);
}

static void near_float32(void)
{
    const uint32_t cpus[] = {POD_CPU_REFERENCE_ONLY, pod_cpu_features()};
    for (int c = 0; c < 2; c++) {
        check_near_f32("mlp", pod__mlp, 3, cpus[c]);
        check_near_f32("convolutions", positive_net, 3, cpus[c]);
    }
}

POD_TEST_SUITE("precision", {"products alone are in bf16", products_alone_are_in_bf16},
               {"near float32", near_float32});
