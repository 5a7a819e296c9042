/* runtime/ops: how types spread over a mesh, what inference refuses, and costs. What builders refuse is
 * in test_op_refusals.c, the numbers that ops compute in test_op_values.c and test_grad.c. */
#include <math.h>

#include "kernels/base/assert.h"
#include "kernels/base/cpu.h"
#include "runtime/ops/ops.h"
#include "runtime/passes/passes.h"
#include "tests/harness/harness.h"
#include "tests/unit/runtime/graph/op_cases.h"

/* ---- the table ----------------------------------------------------------------------------- */

static void finds_every_op(void)
{
    int n;
    const pod_op *const *ops = pod_ops(&n);
    for (int i = 0; i < n; i++) {
        CU_ASSERT_PTR_EQUAL(pod_op_find(ops[i]->name), ops[i]);
        const bool leaf = ops[i]->kind == POD_OP_INPUT || ops[i]->kind == POD_OP_VARIABLE;
        const bool runs = ops[i]->kind == POD_OP_RUN;
        POD_CHECK(leaf == !ops[i]->infer && runs == (ops[i]->lower != NULL) &&
                      (runs || (!ops[i]->cost && ops[i]->ops_each == 0)),
                  "%s: functions that do not fit its kind", ops[i]->name);
    }
    CU_ASSERT_PTR_NULL(pod_op_find("conv3d"));
    CU_ASSERT_PTR_NULL(pod_op_find(""));
}

/* ---- how types spread over a mesh ---------------------------------------------------------- */

enum { N = 8, MESH = 3 }; /* the batch, no other extent; split over dimensions 0 and 1 */

/* A model with its gradients and updates. */
static pod_graph *training_graph(pod_arena *a)
{
    pod_graph *g;
    POD_CHECK_OK(pod_graph_create(a, &g));
    pod_value images = INTS(g, POD_U8, N, 6, 6, 3);
    pod_value labels = pod_input(g, "labels", pod_type_of(POD_I32, 1, (int64_t[]){N}), 0);
    pod_value x = pod_normalize(g, images, (float[]){0, 0, 0}, (float[]){1, 1, 1}, POD_BF16);
    for (int i = 0; i < 2; i++) {
        pod_scope_begin(g, "unit%d", i);
        pod_value w = pod_weight(g, "w", (pod_shape){4, {4, 3, 3, i ? 4 : 3}},
                                 (pod_init){POD_INIT_HE, 1}, POD_ROLE_WEIGHT);
        pod_value y = pod_conv2d(g, x, w, (pod_conv2d_attr){.stride = 1, .pad = 1});
        y = pod_batchnorm(g, y, (pod_batchnorm_attr){.eps = 1e-3f, .train = true});
        y = pod_relu(g, y);
        x = i ? pod_add(g, x, y) : pod_max_pool(g, y, (pod_max_pool_attr){2, 2, 0});
        pod_scope_end(g);
    }
    x = pod_reshape(g, x, (pod_shape){3, {N, 9, 4}});
    x = pod_reshape(g, x, (pod_shape){4, {N, 3, 3, 4}});
    x = pod_cast(g, pod_dense(g, pod_mean_pool(g, x), 5, true), POD_F32);
    pod_value loss = pod_softmax_loss(g, x, labels, (pod_softmax_loss_attr){.scale = 1.0f / N});
    pod_output(g, "loss", loss);
    pod_output(g, "correct", pod_count_correct(g, x, labels));
    pod_value grad[16];
    POD_ASSERT(pod_graph_n_variables(g) <= 16, "%d variables", pod_graph_n_variables(g));
    POD_CHECK_OK(pod_pass_grad(g, loss, grad));
    pod_value lr = pod_input(g, "lr", pod_type_of(POD_F32, 0, NULL), POD_NO_BATCH);
    pod_value step = pod_input(g, "step", pod_type_of(POD_F32, 0, NULL), POD_NO_BATCH);
    const pod_init zero = {.kind = POD_INIT_ZERO};
    const int n = pod_graph_n_variables(g);
    for (int i = 0; i < n; i++) {
        if (!grad[i].id) continue;
        pod_value w = pod_graph_variable(g, i)->value;
        const pod_shape shape = pod_graph_type(g, w)->shape;
        pod_scope_begin(g, "update%d", i);
        pod_value m = pod_variable(g, "m", shape, zero, POD_ROLE_STATE);
        pod_value v = pod_variable(g, "v", shape, zero, POD_ROLE_STATE);
        pod_lamb_update(g, w, m, v, grad[i], step, lr, (pod_adam_update_attr){.beta1 = 0.9f});
        pod_scope_end(g);
    }
    POD_CHECK_OK(pod_graph_finish(g));
    return g;
}

/* What is not split by samples: sum and vary of the outputs. All else must be whole. */
static const struct {
    const char *op;
    unsigned sum, vary;
} spread[] = {
    {"conv2d_dw", MESH, 0},    {"matmul", MESH, 0},        {"col_sum", MESH, 0},
    {"bn_sums", MESH, 0},      {"bn_moments", 0, MESH},    {"bn_grad_sums", MESH, 0},
    {"softmax_loss", MESH, 0}, {"count_correct", MESH, 0},
};

static void check_spread(const pod_node *n, const pod_type *t)
{
    unsigned sum = 0, vary = 0;
    const bool by_samples = t->shape.n_dims && t->shape.dim[0] == N;
    for (size_t i = 0; i < sizeof spread / sizeof spread[0] && !by_samples; i++)
        if (strcmp(spread[i].op, n->op->name) == 0) sum = spread[i].sum, vary = spread[i].vary;
    POD_CHECK(t->split[0] == (by_samples ? MESH : 0) && t->sum == sum && t->vary == vary,
              "%s '%s': split %x sum %x vary %x, want split %x sum %x vary %x", n->op->name,
              n->label, t->split[0], t->sum, t->vary, by_samples ? MESH : 0, sum, vary);
    for (int i = 1; i < t->shape.n_dims; i++) CU_ASSERT_EQUAL(t->split[i], 0);
}

/* As partition does: inputs with samples are split, what an op does not take in parts is
 * reduced. */
static void samples_spread_through_training(void)
{
    pod_arena *a = pod_test_arena();
    pod_graph *g = training_graph(a);
    pod_type *type = POD_ARENA_NEW(a, pod_type, pod_graph_n_values(g) + 1);
    POD_ASSERT(type, "no memory");
    for (int32_t i = 0; i < pod_graph_n_nodes(g); i++) {
        const pod_node *n = pod_graph_node(g, i);
        pod_type in[8], out[POD_MAX_OUT];
        for (int j = 0; j < n->n_in; j++) {
            in[j] = type[n->in[j].id];
            if (!n->op->takes_parts) in[j].sum = in[j].vary = 0;
        }
        if (n->op->infer) {
            POD_CHECK_OK(pod_op_infer(n, in, out));
        } else {
            out[0] = *pod_graph_type(g, pod_node_out(n, 0));
            if (out[0].shape.n_dims && out[0].shape.dim[0] == N) out[0].split[0] = MESH;
        }
        for (int k = 0; k < n->n_out; k++) {
            const pod_type *built = pod_graph_type(g, pod_node_out(n, k));
            CU_ASSERT(built->dtype == out[k].dtype &&
                      pod_shape_equal(&built->shape, &out[k].shape));
            check_spread(n, &out[k]);
            type[n->first_out + k] = out[k];
        }
    }
}

/* The first node of an op in a graph, under a label. */
static pod_node find_node(const pod_graph *g, const char *op)
{
    for (int32_t i = 0; i < pod_graph_n_nodes(g); i++)
        if (strcmp(pod_graph_node(g, i)->op->name, op) == 0) return *pod_graph_node(g, i);
    POD_ASSERT(false, "no %s", op);
    return (pod_node){0};
}

/* Types by hand: "f32 (4)" whole, then changed. */
static pod_type spread_type(pod_dtype t, int n_dims, const int64_t dim[], unsigned split0,
                            unsigned sum, unsigned vary)
{
    pod_type type = pod_type_of(t, n_dims, dim);
    type.split[0] = (uint8_t)split0;
    type.sum = (uint8_t)sum;
    type.vary = (uint8_t)vary;
    return type;
}
#define VEC(sum, vary) spread_type(POD_F32, 1, (int64_t[]){4}, 0, (sum), (vary))
#define MAT(split)     spread_type(POD_F32, 2, (int64_t[]){N, 4}, (split), 0, 0)

static pod_node node_of(const char *op, int n_in, int n_out)
{
    return (pod_node){.op = pod_op_find(op), .label = "unit1", .n_in = n_in, .n_out = n_out};
}

static void parts_pass_through_linear_ops(void)
{
    static const char *const ops[] = {"add", "copy", "allreduce"};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        const bool reduces = strcmp(ops[i], "allreduce") == 0;
        const pod_node n = node_of(ops[i], strcmp(ops[i], "copy") == 0 ? 1 : 2, reduces ? 2 : 1);
        const pod_type sums[] = {VEC(3, 0), VEC(3, 0)}, means[] = {VEC(0, 1), VEC(0, 1)};
        pod_type out[2];
        POD_CHECK_OK(pod_op_infer(&n, sums, out));
        POD_CHECK(out[0].sum == (reduces ? 0 : 3) && out[0].vary == 0, "%s of sums", ops[i]);
        POD_CHECK_OK(pod_op_infer(&n, means, out));
        POD_CHECK(out[0].sum == 0 && out[0].vary == (reduces ? 0 : 1), "%s of means", ops[i]);
        CU_ASSERT(n.op->takes_parts);
    }
}

/* The micro-steps are dimension 2; what is left to add up is over the others. */
static void parts_are_added_up_in_time(void)
{
    const int32_t in_time = 4;
    pod_node n = node_of("accumulate", 2, 1);
    n.attr = &in_time;
    pod_type out[1];
    const pod_type sums[] = {VEC(3, 0), VEC(7, 0)}, means[] = {VEC(0, 1), VEC(0, 5)};
    POD_CHECK_OK(pod_op_infer(&n, sums, out));
    CU_ASSERT(out[0].sum == 3 && out[0].vary == 0);
    POD_CHECK_OK(pod_op_infer(&n, means, out));
    CU_ASSERT(out[0].sum == 0 && out[0].vary == 1);
    const pod_type unlike[] = {VEC(1, 0), VEC(7, 0)};
    POD_CHECK_FAILS(pod_op_infer(&n, unlike, out), POD_E_SHAPE, "what was added up is");
}

/* Two sums of 5 and 40 elements over mesh dimensions 0 and 1, blocks of 32 elements on three of the
 * cores: the first value lies in block 0, the second begins at a line of its own, block 1. */
static void values_are_dealt_out(void)
{
    const int64_t per_core = 32;
    const pod_type in[] = {{.dtype = POD_F32, .shape = {1, {5}}, .sum = 3},
                           {.dtype = POD_F32, .shape = {2, {8, 5}}, .sum = 3}};
    static const int64_t first[2][4] = {{0, 5, 5, 5}, {0, 0, 32, 40}},
                         count[2][4] = {{5, 0, 0, 0}, {0, 32, 8, 0}};
    pod_type out[2], whole[2];
    pod_node scatter = node_of("reduce_scatter", 2, 2), gather = node_of("allgather", 2, 2);
    scatter.attr = &per_core;
    POD_CHECK_OK(pod_op_infer(&scatter, in, out));
    for (int i = 0; i < 2; i++) {
        CU_ASSERT(out[i].sum == 0 && out[i].shard.over == 3 && out[i].shard.first == 32 * i);
        for (int core = 0; core < 4; core++) {
            const pod_part part = pod_type_part(&out[i], core);
            POD_CHECK(part.first == first[i][core] && part.count == count[i][core],
                      "value %d, core %d: %d from %d", i, core, (int)part.count, (int)part.first);
        }
    }
    POD_CHECK_OK(pod_op_infer(&gather, out, whole));
    CU_ASSERT(whole[0].shard.per_core == 0 && pod_type_part(&whole[1], 3).count == 40);
    const pod_node sum_sq = node_of("sum_sq", 1, 1), add = node_of("add", 2, 1);
    POD_CHECK_OK(pod_op_infer(&sum_sq, &out[1], whole));
    CU_ASSERT_EQUAL(whole[0].sum, 3); /* of a part: the cores' sums add up to the whole's */
    const pod_type unlike[] = {out[1], in[1]};
    POD_CHECK_FAILS(pod_op_infer(&add, unlike, whole), POD_E_UNSUPPORTED, "add 'unit1': ");
    const pod_type plain[] = {pod_type_of(POD_F32, 1, (int64_t[]){5}), in[1]};
    POD_CHECK_FAILS(pod_op_infer(&scatter, plain, out), POD_E_SHAPE, "need sums of one type");
}

static void inference_refuses_unlike_spreads(void)
{
    pod_type out[2];
    const pod_node add = node_of("add", 2, 1), relu_grad = node_of("relu_grad", 2, 1);
    const pod_node reduce = node_of("allreduce", 2, 2), loss = node_of("softmax_loss", 2, 1);
    const pod_node bias = node_of("bias_add", 2, 1), sums = node_of("bn_grad_sums", 4, 2);
    const pod_type labels = pod_type_of(POD_I32, 1, (int64_t[]){N});
    POD_CHECK_FAILS(pod_op_infer(&add, (pod_type[]){VEC(3, 0), VEC(0, 0)}, out), POD_E_UNSUPPORTED,
                    "add 'unit1': a is f32 (4) split 0 sum 3 vary 0, b is f32 (4)");
    POD_CHECK_FAILS(pod_op_infer(&reduce, (pod_type[]){VEC(3, 0), VEC(1, 0)}, out), POD_E_SHAPE,
                    "allreduce 'unit1': input 0 is f32 (4) split 0 sum 3 vary 0, input 1 is");
    POD_CHECK_FAILS(pod_op_infer(&relu_grad, (pod_type[]){MAT(3), MAT(1)}, out), POD_E_SHAPE,
                    "relu_grad 'unit1'");
    POD_CHECK_FAILS(pod_op_infer(&loss, (pod_type[]){MAT(3), labels}, out), POD_E_SHAPE,
                    "labels are i32 (8), logits are f32 (8, 4) split 3,0");
    POD_CHECK_FAILS(pod_op_infer(&bias, (pod_type[]){MAT(3), VEC(3, 0)}, out), POD_E_SHAPE,
                    "need it reduced");
    POD_CHECK_FAILS(pod_op_infer(&sums, (pod_type[]){MAT(3), MAT(3), VEC(3, 0), VEC(3, 0)}, out),
                    POD_E_SHAPE, "the mean is f32 (4) split 0 sum 3");
}

static void convolutions_split_only_samples(void)
{
    pod_graph *g = training_graph(pod_test_arena());
    const pod_node n = find_node(g, "conv2d");
    pod_type in[2] = {*pod_graph_type(g, n.in[0]), *pod_graph_type(g, n.in[1])}, out;
    in[0].split[1] = 1;
    POD_CHECK_FAILS(pod_op_infer(&n, in, &out), POD_E_UNSUPPORTED,
                    "only its first dimension may be split");
    in[0].split[1] = 0, in[1].split[0] = 1;
    POD_CHECK_FAILS(pod_op_infer(&n, in, &out), POD_E_UNSUPPORTED, "may not be split");
}

/* (8, 4) by (4, 4), rows, columns and the sum cut over mesh dimensions a bit each. */
static void matmul_splits_any_dimension(void)
{
    static const struct {
        unsigned m, k_a, k_b, cols, sum;
        bool fits;
    } rows[] = {{1, 0, 0, 0, 0, true},  {0, 0, 0, 2, 0, true},  {1, 0, 0, 2, 0, true},
                {0, 2, 2, 0, 2, true},  {1, 2, 2, 4, 2, true},  {1, 0, 0, 1, 0, false},
                {1, 1, 1, 0, 0, false}, {0, 2, 0, 0, 0, false}, {0, 1, 1, 1, 0, false}};
    pod_arena *a = pod_test_arena();
    pod_graph *g;
    POD_CHECK_OK(pod_graph_create(a, &g));
    pod_matmul(g, F32(g, "a", N, 4), F32(g, "b", 4, 4), (pod_matmul_attr){.c_dtype = POD_F32});
    const pod_node n = find_node(g, "matmul");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pod_type in[2] = {MAT(rows[i].m),
                          spread_type(POD_F32, 2, (int64_t[]){4, 4}, rows[i].k_b, 0, 0)};
        in[0].split[1] = (uint8_t)rows[i].k_a;
        in[1].split[1] = (uint8_t)rows[i].cols;
        pod_type out = {0};
        const pod_status s = pod_op_infer(&n, in, &out);
        POD_CHECK(s == (rows[i].fits ? POD_OK : POD_E_SHAPE), "row %zu: %s", i, pod_status_name(s));
        if (s != POD_OK) continue;
        POD_CHECK(out.split[0] == rows[i].m && out.split[1] == rows[i].cols &&
                      out.sum == rows[i].sum && out.vary == 0,
                  "row %zu: split %x,%x sum %x", i, out.split[0], out.split[1], out.sum);
    }
}

/* ---- batch norm's groups ------------------------------------------------------------------- */

/* Lowers for a 2x2 mesh and runs: sums over the group's rows, which are the batch's rows over the
 * cores that still hold parts. */
static pod_status run_on_mesh(const pod_node *n, const pod_type in[], const pod_type out[],
                              pod_arena *a, const void *const data[], void *const result[])
{
    const pod_mesh mesh = {.n_dims = 2, .extent = {2, 2}};
    const pod_target target = {.name = "test", .cpu = POD_CPU_REFERENCE_ONLY};
    pod_shape in_local[8], out_local[POD_MAX_OUT];
    for (int i = 0; i < n->n_in; i++) in_local[i] = pod_type_local(&in[i], &mesh);
    for (int i = 0; i < n->n_out; i++) out_local[i] = pod_type_local(&out[i], &mesh);
    const pod_lower_args args = {n, in, out, in_local, out_local, &mesh, &target, a};
    pod_lowering l;
    POD_TRY(n->op->lower(&args, &l));
    CU_ASSERT_EQUAL(l.scratch_bytes, 0);
    l.run(l.attr, data, result, NULL);
    return POD_OK;
}

static void moments_count_their_group(void)
{
    static const struct {
        unsigned parts;
        float cores;
    } groups[] = {{3, 4}, {1, 2}, {2, 2}, {0, 1}};
    pod_arena *a = pod_test_arena();
    pod_graph *g = training_graph(a);
    const pod_node n = find_node(g, "bn_moments"); /* (8, 6, 6, 4): 288 rows */
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        const pod_type in[2] = {VEC(groups[i].parts, 0), VEC(groups[i].parts, 0)};
        pod_type out[3];
        POD_CHECK_OK(pod_op_infer(&n, in, out));
        CU_ASSERT(out[0].vary == groups[i].parts && out[0].sum == 0);
        const float rows = 288 / groups[i].cores;
        const float sum[4] = {rows, 2 * rows, 0, -rows}, sum_sq[4] = {2 * rows, 5 * rows, 0, rows};
        float mean[4] = {0}, var[4] = {0}, rstd[4] = {0};
        POD_CHECK_OK(run_on_mesh(&n, in, out, a, (const void *[]){sum, sum_sq},
                                 (void *[]){mean, var, rstd}));
        CU_ASSERT(mean[0] == 1 && mean[1] == 2 && mean[2] == 0 && mean[3] == -1);
        CU_ASSERT(var[0] == 1 && var[1] == 1 && var[2] == 0 && var[3] == 0);
        CU_ASSERT(pod_test_near((double)rstd[0], 1 / sqrt(1.001), 1e-6));
    }
}

/* With x at its mean the gradient is gamma rstd (dy - dbeta / rows): it shows the count. */
static void gradients_count_their_group(void)
{
    enum { X, DY, MEAN, RSTD, GAMMA, DGAMMA, DBETA };
    pod_arena *a = pod_test_arena();
    pod_graph *g;
    POD_CHECK_OK(pod_graph_create(a, &g));
    pod_value w =
        pod_weight(g, "x", (pod_shape){2, {N, 4}}, (pod_init){POD_INIT_ONE, 1}, POD_ROLE_WEIGHT);
    pod_value y = pod_batchnorm(g, w, (pod_batchnorm_attr){.eps = 1e-3f, .train = true});
    pod_value grad[8];
    POD_CHECK_OK(pod_pass_grad(g, pod_test_weigh(g, y, F32(g, "r", N, 4)), grad));
    const pod_node n = find_node(g, "bn_grad_apply");
    for (unsigned parts = 0; parts < 4; parts++) {
        pod_type in[7] = {MAT(MESH), MAT(MESH),     VEC(0, parts), VEC(0, parts),
                          VEC(0, 0), VEC(parts, 0), VEC(parts, 0)};
        pod_type out[1];
        POD_CHECK_OK(pod_op_infer(&n, in, out));
        CU_ASSERT(out[0].split[0] == MESH && !out[0].sum && !out[0].vary);
        const float rows = parts == 3 ? 2 : parts ? 4 : 8; /* of 8, over 4, 2 or 1 groups */
        const float x[8] = {0}, dy[8] = {3, 3, 3, 3, 3, 3, 3, 3}, zero[4] = {0};
        const float one[4] = {1, 1, 1, 1}, dbeta[4] = {rows, rows, rows, rows};
        float dx[8] = {0};
        POD_CHECK_OK(run_on_mesh(
            &n, in, out, a, (const void *[]){x, dy, zero, one, one, zero, dbeta}, (void *[]){dx}));
        for (int i = 0; i < 8; i++) CU_ASSERT_EQUAL(dx[i], 2);
        in[DGAMMA] = in[DBETA] = VEC(parts ^ 1, 0);
        POD_CHECK_FAILS(pod_op_infer(&n, in, out), POD_E_SHAPE, "of different groups of cores");
    }
}

/* ---- costs --------------------------------------------------------------------------------- */

static void costs_are_those_of_the_whole(void)
{
    static const struct {
        const char *op;
        double matrix_flops, bytes_read, bytes_written;
    } want[] = {
        {"conv2d", 2.0 * N * 36 * 4 * 27, 2.0 * (N * 36 * 3 + 4 * 27), 2.0 * N * 36 * 4},
        {"conv2d_dx", 2.0 * N * 9 * 4 * 36, 2.0 * (N * 9 * 4 + 4 * 36), 2.0 * N * 9 * 4},
        {"conv2d_dw", 2.0 * N * 9 * 4 * 36, 2.0 * (N * 9 * 4 * 2), 4.0 * 4 * 36},
        {"matmul", 2.0 * N * 4 * 5, 2.0 * (N * 4 + 4 * 5), 2.0 * N * 5},
        {"relu", 0, 2.0 * N * 36 * 4, 2.0 * N * 36 * 4},
        {"bn_sums", 0, 2.0 * N * 36 * 4, 4.0 * 2 * 4},
        {"normalize", 0, N * 36 * 3, 2.0 * N * 36 * 3},
    };
    pod_graph *g = training_graph(pod_test_arena());
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        const pod_node n = find_node(g, want[i].op);
        const pod_cost cost = pod_op_cost_in(g, &n);
        POD_CHECK(cost.matrix_flops == want[i].matrix_flops &&
                      cost.bytes_read == want[i].bytes_read &&
                      cost.bytes_written == want[i].bytes_written &&
                      (cost.vector_ops > 0) == (cost.matrix_flops == 0),
                  "%s: %g flops, %g vector, %g read, %g written", want[i].op, cost.matrix_flops,
                  cost.vector_ops, cost.bytes_read, cost.bytes_written);
    }
}

/* The gradient needs twice the matmuls of forward; it runs 2.5 times as many, for it has no scores. */
static void attention_counts_what_its_formulas_need(void)
{
    enum { SAMPLES = 3, S = 5, H = 8, HEADS = 2 };
    const double of_one = 2.0 * SAMPLES * S * S * H;
    pod_graph *g;
    POD_CHECK_OK(pod_graph_create(pod_test_arena(), &g));
    pod_value x = pod_weight(g, "x", (pod_shape){3, {SAMPLES, S, H}}, (pod_init){POD_INIT_ONE, 1},
                             POD_ROLE_WEIGHT);
    pod_value none = {0}, grad[1];
    pod_value y = pod_attention(g, x, x, x, none, none, (pod_attention_attr){.n_heads = HEADS});
    POD_CHECK_OK(pod_pass_grad(g, pod_test_weigh(g, y, F32(g, "r", SAMPLES, S, H)), grad));
    const pod_node forward = find_node(g, "attention"), backward = find_node(g, "attention_grad");
    const pod_cost f = pod_op_cost_in(g, &forward), b = pod_op_cost_in(g, &backward);
    CU_ASSERT(f.matrix_flops == 2 * of_one && b.matrix_flops == 4 * of_one);
    CU_ASSERT(f.product.count == 2 * SAMPLES * HEADS && b.product.count == 5 * SAMPLES * HEADS);
    CU_ASSERT(f.product.rows == S && f.product.cols == S && f.product.depth == (double)H / HEADS);
    CU_ASSERT(f.bytes_written == 4.0 * (SAMPLES * S * H + SAMPLES * HEADS * S));
}

POD_TEST_SUITE("ops", {"finds_every_op", finds_every_op},
               {"costs_are_those_of_the_whole", costs_are_those_of_the_whole},
               {"attention_counts_what_its_formulas_need", attention_counts_what_its_formulas_need},
               {"samples_spread_through_training", samples_spread_through_training},
               {"parts_pass_through_linear_ops", parts_pass_through_linear_ops},
               {"values_are_dealt_out", values_are_dealt_out},
               {"parts_are_added_up_in_time", parts_are_added_up_in_time},
               {"inference_refuses_unlike_spreads", inference_refuses_unlike_spreads},
               {"convolutions_split_only_samples", convolutions_split_only_samples},
               {"matmul_splits_any_dimension", matmul_splits_any_dimension},
               {"moments_count_their_group", moments_count_their_group},
               {"gradients_count_their_group", gradients_count_their_group});
