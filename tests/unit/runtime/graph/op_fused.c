/* Graphs in which every pattern of runtime/passes/fuse applies, fused and not: the same gradients. */
#include <math.h>

#include "kernels/base/cpu.h"
#include "runtime/passes/passes.h"
#include "tests/harness/harness.h"
#include "tests/unit/runtime/graph/op_cases.h"

/* What travels between layers, and what convolutions work in. */
typedef struct precision {
    pod_dtype travel, in_conv;
} precision;

static pod_value conv(pod_graph *g, pod_value x, int64_t k, int side, precision p)
{
    const int64_t c = pod_graph_type(g, x)->shape.dim[3];
    pod_value w = pod_weight(g, "w", (pod_shape){4, {k, side, side, c}}, (pod_init){POD_INIT_HE, 1},
                             POD_ROLE_WEIGHT);
    x = pod_cast(g, x, p.in_conv);
    x = pod_conv2d(g, x, w, (pod_conv2d_attr){.stride = 1, .pad = side / 2});
    return pod_cast(g, x, p.travel);
}

static pod_value conv_bn(pod_graph *g, const char *name, pod_value x, int64_t k, int side,
                         precision p)
{
    const pod_batchnorm_attr bn = {.eps = 1e-2f, .train = true, .gamma = {POD_INIT_ONE, 1}};
    pod_scope_begin(g, "%s", name);
    x = pod_batchnorm(g, conv(g, x, k, side, p), bn);
    pod_scope_end(g);
    return x;
}

/* Every pattern at least once: a normalization with and without an activation that a convolution
 * alone reads, residuals plain and normalized, a dense layer with each end. */
static op_graph fusible_graph(precision p)
{
    op_graph og = {0};
    POD_CHECK_OK(pod_arena_create(NULL, &og.arena));
    POD_CHECK_OK(pod_graph_create(og.arena, &og.g));
    pod_graph *g = og.g;
    pod_value x = pod_input(g, "x", pod_type_of(POD_F32, 4, (const int64_t[]){3, 5, 5, 2}), 0);
    x = pod_relu(g, conv_bn(g, "stem", pod_cast(g, x, p.travel), 3, 3, p));
    pod_value y = conv_bn(g, "b", pod_relu(g, conv_bn(g, "a", x, 4, 3, p)), 3, 3, p);
    x = pod_relu(g, pod_add(g, y, x));
    y = conv_bn(g, "d", conv_bn(g, "c", x, 4, 1, p), 5, 3, p);
    x = pod_relu(g, pod_add(g, y, conv_bn(g, "e", x, 5, 1, p)));
    x = pod_add(g, x, conv_bn(g, "f", x, 5, 1, p));
    x = pod_relu(g, conv_bn(g, "g", x, 3, 3, p));
    x = conv(g, x, 3, 3, p);
    pod_scope_begin(g, "last");
    pod_value bias =
        pod_weight(g, "b", (pod_shape){1, {3}}, (pod_init){POD_INIT_NORMAL, 1}, POD_ROLE_BIAS);
    x = pod_bias_add(g, conv(g, x, 3, 1, p), bias);
    if (p.in_conv == POD_F32) x = pod_relu(g, x); /* near 0 a rounding to bfloat16 changes sides */
    pod_scope_end(g);
    pod_scope_begin(g, "h");
    x = pod_relu(g, pod_dense(g, pod_mean_pool(g, x), 6, true));
    pod_scope_end(g);
    pod_scope_begin(g, "logits");
    x = pod_cast(g, pod_dense(g, x, 4, true), POD_F32);
    pod_scope_end(g);
    og.r = pod_input(g, "r", *pod_graph_type(g, x), 0);
    og.loss = pod_test_weigh(g, x, og.r);
    og.grad = POD_ARENA_NEW(og.arena, pod_value, pod_graph_n_variables(g));
    POD_CHECK_OK(pod_pass_grad(g, og.loss, og.grad));
    return og;
}

/* A block of EfficientNet: what it does to gradients is in no other graph. */
static op_graph squeezed_graph(precision p)
{
    op_graph og = {0};
    POD_CHECK_OK(pod_arena_create(NULL, &og.arena));
    POD_CHECK_OK(pod_graph_create(og.arena, &og.g));
    pod_graph *g = og.g;
    const pod_batchnorm_attr bn = {.eps = 1e-2f, .train = true, .gamma = {POD_INIT_ONE, 1}};
    pod_value x = pod_input(g, "x", pod_type_of(POD_F32, 4, (const int64_t[]){3, 6, 6, 2}), 0);
    x = pod_swish(g, conv_bn(g, "expand", pod_cast(g, x, p.travel), 6, 1, p));
    pod_scope_begin(g, "depthwise");
    pod_value w = pod_weight(g, "w", (pod_shape){3, {3, 3, 6}}, (pod_init){POD_INIT_NORMAL, 0.5f},
                             POD_ROLE_WEIGHT);
    x = pod_depthwise2d(g, pod_cast(g, x, p.in_conv), w,
                        (pod_conv2d_attr){.stride = 2, .same = true});
    x = pod_swish(g, pod_batchnorm(g, pod_cast(g, x, p.travel), bn));
    pod_scope_end(g);
    pod_scope_begin(g, "squeeze");
    pod_value s = pod_sigmoid(g, pod_dense(g, pod_mean_pool(g, x), 6, true));
    x = pod_gate_by(g, x, s);
    pod_scope_end(g);
    x = pod_mean_pool(g, pod_swish(g, conv_bn(g, "project", x, 4, 1, p)));
    pod_scope_begin(g, "logits");
    x = pod_cast(g, pod_dense(g, x, 4, true), POD_F32);
    pod_scope_end(g);
    og.r = pod_input(g, "r", *pod_graph_type(g, x), 0);
    og.loss = pod_test_weigh(g, x, og.r);
    og.grad = POD_ARENA_NEW(og.arena, pod_value, pod_graph_n_variables(g));
    POD_CHECK_OK(pod_pass_grad(g, og.loss, og.grad));
    return og;
}

/* A table that is looked up twice and projected onto: three gradients of one variable. */
static op_graph tied_graph(precision p)
{
    op_graph og = {0};
    POD_CHECK_OK(pod_arena_create(NULL, &og.arena));
    POD_CHECK_OK(pod_graph_create(og.arena, &og.g));
    pod_graph *g = og.g;
    pod_value table = pod_weight(g, "table", (pod_shape){2, {9, 7}}, (pod_init){POD_INIT_NORMAL, 1},
                                 POD_ROLE_WEIGHT);
    pod_value x = pod_embed_rows(
        g, pod_input(g, "a", pod_type_of(POD_I32, 1, (const int64_t[]){6}), 0), table, p.in_conv);
    pod_value y = pod_embed_rows(
        g, pod_input(g, "b", pod_type_of(POD_I32, 1, (const int64_t[]){6}), 0), table, p.in_conv);
    x = pod_matmul(g, pod_add(g, x, y), pod_cast(g, table, p.in_conv),
                   (pod_matmul_attr){.trans_b = true, .c_dtype = POD_F32});
    og.r = pod_input(g, "r", *pod_graph_type(g, x), 0);
    og.loss = pod_test_weigh(g, x, og.r);
    og.grad = POD_ARENA_NEW(og.arena, pod_value, pod_graph_n_variables(g));
    POD_CHECK_OK(pod_pass_grad(g, og.loss, og.grad));
    return og;
}

/* |got - want| / |want| of what a variable's gradient is in both */
static double gradient_distance(const op_graph *got, pod_interp *got_it, const op_graph *want,
                                pod_interp *want_it, int variable)
{
    const pod_value g = got->grad[variable], w = want->grad[variable];
    const int64_t n = pod_shape_count(&pod_graph_type(want->g, w)->shape);
    double apart = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        const double of = pod_interp_get(want_it, w, i), d = pod_interp_get(got_it, g, i) - of;
        apart += d * d;
        size += of * of;
    }
    return sqrt(apart / size);
}

static bool has_node(const pod_graph *g, const char *op, int n_in)
{
    for (int32_t i = 0; i < pod_graph_n_nodes(g); i++) {
        const pod_node *n = pod_graph_node(g, i);
        if (strcmp(n->op->name, op) == 0 && n->n_in == n_in) return true;
    }
    return false;
}

/* Sums in another order, and in bfloat16 some roundings fewer: the gradients of 30 nodes one behind
 * another stay together by as many roundings. */
static op_graph check_fused(op_graph *og, pod_dtype travel, uint32_t cpu, int least_fused)
{
    int n_fused;
    const op_graph fused = op_graph_fuse(og, cpu, &n_fused);
    pod_interp *it = NULL, *fused_it = NULL;
    POD_CHECK_OK(pod_interp_create(og->g, cpu, &it));
    POD_CHECK_OK(pod_interp_create(fused.g, cpu, &fused_it));
    op_fill(it, og->g, 3, false);
    op_fill(fused_it, fused.g, 3, false);
    pod_interp_run(it, -1);
    pod_interp_run(fused_it, -1);
    for (int i = 0; i < pod_graph_n_variables(og->g); i++) {
        if (!og->grad[i].id) continue;
        const double off = gradient_distance(&fused, fused_it, og, it, i);
        POD_CHECK(off <= 60 * pod_test_roundoff(travel), "%s: the gradient of '%s' is off by %g",
                  pod_dtype_name(travel), pod_graph_variable(og->g, i)->name, off);
    }
    pod_interp_check_in_place(fused_it);
    POD_CHECK(n_fused >= least_fused, "%d fused", n_fused);
    pod_interp_destroy(it);
    pod_interp_destroy(fused_it);
    return fused;
}

/* Nothing that batch norm reads is widened for it. */
static bool reads_no_cast(const op_graph *og)
{
    for (int32_t i = 0; i < pod_graph_n_nodes(og->g); i++) {
        const pod_node *n = pod_graph_node(og->g, i);
        const bool is_bn = strncmp(n->op->name, "bn_", 3) == 0;
        if (is_bn && strcmp(pod_graph_maker(og->g, n->in[0])->op->name, "cast") == 0) return false;
    }
    return true;
}

void op_fused_agree_with_plain(void)
{
    static const precision all[] = {{POD_F32, POD_F32}, {POD_BF16, POD_BF16}, {POD_F32, POD_BF16}};
    for (int t = 0; t < OP_N_TARGETS; t++)
        for (int k = 0; k < 3; k++) {
            op_graph og = fusible_graph(all[k]);
            const op_graph fused = check_fused(&og, all[k].in_conv, op_target_cpu(t), 8);
            POD_CHECK(has_node(fused.g, "bn_grad_sums_of", 6), "no sum is made as it is read");
            POD_CHECK(reads_no_cast(&fused), "batch norm reads a cast");
            op_graph_close(&og);
            og = squeezed_graph(all[k]);
            const op_graph squeezed = check_fused(&og, all[k].in_conv, op_target_cpu(t), 8);
            POD_CHECK(has_node(squeezed.g, "bn_grad_sums_swish", 6), "no swish is fused");
            POD_CHECK(has_node(squeezed.g, "gate_mean_grad", 3), "no gate is fused");
            POD_CHECK(has_node(squeezed.g, "depthwise2d_sums", 2), "no depthwise sums");
            POD_CHECK(reads_no_cast(&squeezed), "batch norm reads a cast");
            op_graph_close(&og);
            og = tied_graph(all[k]);
            const op_graph tied = check_fused(&og, all[k].in_conv, op_target_cpu(t), 2);
            POD_CHECK(has_node(tied.g, "embed_grad", 3) && !has_node(tied.g, "embed_grad", 2),
                      "gradients of a table are added apart");
            op_graph_close(&og);
        }
}
