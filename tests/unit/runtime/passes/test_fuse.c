/* runtime/passes/fuse: fused programs on meshes against plain ones, what they save, and what is
 * refused. The numbers of fused ops and their gradients are tested in test_op_values.c and
 * test_grad.c. */
#include <math.h>

#include "kernels/base/cpu.h"
#include "runtime/exec/exec.h"
#include "runtime/ops/ops.h"
#include "runtime/passes/passes.h"
#include "tests/harness/check.h"
#include "tests/harness/harness.h"
#include "tests/harness/nets.h"

enum { STEPS = 3 };

static const pod_test_plan residual = {.net = &pod_test_nets[POD_TEST_BN_RESIDUAL],
                                       .mesh = "2x2",
                                       .bucket_bytes = 512,
                                       .guard_bytes = 64,
                                       .cpu = POD_CPU_REFERENCE_ONLY,
                                       .fusion = true};

static void check_like_plain(const pod_test_plan *plan, double part)
{
    static pod_test_job fused, plain;
    pod_test_plan apart = *plan;
    apart.fusion = false;
    const double got = pod_test_job_run(&fused, plan, STEPS);
    const double want = pod_test_job_run(&plain, &apart, STEPS);
    POD_CHECK(fabs(got - want) <= part * want, "%s on %s: loss %.9g fused, %.9g plain",
              plan->net->name, plan->mesh, got, want);
    CU_ASSERT_EQUAL(fused.program->model_flops, plain.program->model_flops);
    CU_ASSERT(fused.program->n_fusions > 0 && plain.program->n_fusions == 0);
    CU_ASSERT(fused.program->n_instrs < plain.program->n_instrs);
    pod_test_job_end(&fused);
    pod_test_job_end(&plain);
}

/* The check executor plays all ranks: statistics are a core's own, the ranks keep the same
 * weights. */
static void follows_the_plain_program(void)
{
    static const char *const meshes[] = {"1x1", "2x2", "3x1", "4x2"};
    const uint32_t cpus[] = {POD_CPU_REFERENCE_ONLY, pod_cpu_features()};
    for (int n = 0; n < POD_TEST_N_NETS; n++)
        for (size_t m = 0; m < sizeof meshes / sizeof meshes[0]; m++)
            for (int c = 0; c < 2; c++) {
                pod_test_plan plan = residual;
                plan.net = &pod_test_nets[n];
                plan.mesh = meshes[m];
                plan.cpu = cpus[c];
                if (cpus[c] != POD_CPU_REFERENCE_ONLY && !pod_test_nets[n].with_bn) continue;
                check_like_plain(&plan, 1e-4);
                plan.precision = POD_BF16;
                check_like_plain(&plan, 0.02);
            }
}

static void follows_it_in_other_modes(void)
{
    pod_test_plan plan = residual;
    plan.wire = POD_BF16;
    check_like_plain(&plan, 0.01);
    plan.wire = POD_BINNED;
    check_like_plain(&plan, 1e-4);
    plan.wire = POD_F32;
    plan.wait_at_once = true;
    check_like_plain(&plan, 1e-4);
    plan.shard_update = true;
    check_like_plain(&plan, 1e-4);
    plan.accumulate = 3;
    check_like_plain(&plan, 1e-4);
}

/* ---- what was found -------------------------------------------------------------------------- */

/* The count in the line of a pattern: where it was done, or refused for this reason. */
static int count_of(const pod_program *p, const char *name, const char *refused)
{
    for (int32_t i = 0; i < p->n_fusions; i++) {
        const pod_fusion *f = &p->fusion[i];
        if (strcmp(f->name, name) != 0 || !f->refused != !refused) continue;
        if (!refused || strstr(f->refused, refused)) return f->n;
    }
    return refused ? 0 : -1;
}

/* stem: its activation is read by a convolution and an add; a: by convolution b alone; b: added to
 * the stem's; down: by the mean. */
static void counts_what_it_does(void)
{
    pod_test_plan plan = residual;
    const pod_program *p = pod_test_program(&plan);
    plan.fusion = false;
    const pod_program *plain = pod_test_program(&plan);
    CU_ASSERT_EQUAL(count_of(p, "bn_grad_act", NULL), 3);
    CU_ASSERT_EQUAL(count_of(p, "bn_prologue", NULL), 1);
    CU_ASSERT_EQUAL(count_of(p, "bn_prologue", "add reads it too"), 1);
    CU_ASSERT_EQUAL(count_of(p, "bn_apply_act", NULL), 3);
    CU_ASSERT_EQUAL(count_of(p, "bn_grad_sums_of", NULL), 1);
    CU_ASSERT_EQUAL(count_of(p, "conv_sums", NULL), 4);
    CU_ASSERT_EQUAL(count_of(p, "bn_again", NULL), 1); /* the stem's */
    CU_ASSERT_EQUAL(pod_test_n_instrs(p, "bn_apply_act"), 3 + 1);
    CU_ASSERT_EQUAL(count_of(p, "matmul_bias", NULL), 1);
    CU_ASSERT_EQUAL(count_of(p, "softmax_loss_grad", NULL), 1);
    CU_ASSERT_EQUAL(pod_test_n_instrs(p, "relu") + pod_test_n_instrs(p, "relu_grad") +
                        pod_test_n_instrs(p, "bn_sums"),
                    0);
    CU_ASSERT_EQUAL(pod_test_n_instrs(p, "bn_apply") + pod_test_n_instrs(p, "bias_add"), 0);
    CU_ASSERT_EQUAL(pod_test_n_instrs(p, "conv2d_act_sums"), 1);
    CU_ASSERT_EQUAL(pod_test_n_instrs(p, "conv2d_dw_act"), 1);
    CU_ASSERT(pod_program_moved_bytes(p) < 0.8 * pod_program_moved_bytes(plain));
    CU_ASSERT(p->step_bytes < plain->step_bytes);
}

/* stem: its swish is read by a convolution and an add; the depthwise one's by a mean and a gate. */
static void squeeze_and_excite(void)
{
    static const char *const meshes[] = {"1x1", "2x2", "3x1"};
    const uint32_t cpus[] = {POD_CPU_REFERENCE_ONLY, pod_cpu_features()};
    pod_test_plan plan = residual;
    plan.net = &pod_test_squeezed;
    for (int i = 0; i < 6; i++) {
        plan.mesh = meshes[i / 2];
        plan.cpu = cpus[i % 2];
        plan.precision = POD_F32;
        check_like_plain(&plan, 1e-4);
        plan.precision = POD_BF16;
        check_like_plain(&plan, 0.02);
    }
    plan.cpu = POD_CPU_REFERENCE_ONLY;
    const pod_program *p = pod_test_program(&plan);
    CU_ASSERT_EQUAL(count_of(p, "bn_grad_swish", NULL), 2);
    CU_ASSERT_EQUAL(count_of(p, "bn_apply_act", NULL), 3);
    CU_ASSERT_EQUAL(count_of(p, "gate_mean_grad", NULL), 1);
    CU_ASSERT_EQUAL(count_of(p, "conv_sums", NULL), 3);
    CU_ASSERT_EQUAL(pod_test_n_instrs(p, "swish") + pod_test_n_instrs(p, "swish_grad"), 0);
    CU_ASSERT_EQUAL(pod_test_n_instrs(p, "bn_apply") + pod_test_n_instrs(p, "bn_sums"), 0);
}

/* Where no kernel but the reference would take more, convolutions and products stay as they are. */
static void target_decides(void)
{
    pod_test_plan plan = residual;
    plan.cpu = 0;
    const pod_program *p = pod_test_program(&plan);
    CU_ASSERT_EQUAL(count_of(p, "bn_prologue", NULL), 0);
    CU_ASSERT_EQUAL(count_of(p, "bn_prologue", "gemm: it fuses nothing"), 1);
    CU_ASSERT_EQUAL(count_of(p, "conv_sums", "gemm: it fuses nothing"), 4);
    CU_ASSERT_EQUAL(count_of(p, "matmul_bias", "blas: the library fuses nothing"), 1);
    CU_ASSERT_EQUAL(count_of(p, "bn_apply_act", NULL), 4);
}

/* ---- graphs that must stay as they are ------------------------------------------------------- */

static const pod_program *compile(pod_arena *a, const pod_graph *g, bool fusion)
{
    const pod_target target = {.name = "reference", .cpu = POD_CPU_REFERENCE_ONLY};
    const pod_compile_args args = {.mesh = {.n_dims = 1, .extent = {1}},
                                   .target = &target,
                                   .fusion = fusion,
                                   .bucket_bytes = 1};
    const pod_program *p = NULL;
    POD_CHECK_OK(pod_compile(g, 4, &args, a, &p));
    return p;
}

static pod_value conv_bn(pod_graph *g, const char *name, pod_value x)
{
    const pod_batchnorm_attr bn = {.eps = 1e-3f, .gamma = {POD_INIT_ONE, 1}};
    pod_scope_begin(g, "%s", name);
    pod_value w = pod_weight(g, "w", (pod_shape){4, {2, 3, 3, 2}}, (pod_init){POD_INIT_HE, 1},
                             POD_ROLE_WEIGHT);
    x = pod_batchnorm(g, pod_conv2d(g, x, w, (pod_conv2d_attr){.stride = 1, .pad = 1}), bn);
    pod_scope_end(g);
    return x;
}

static pod_value total(pod_graph *g, pod_value x) { return pod_sum_sq(g, pod_cast(g, x, POD_F32)); }

static double run(const pod_program *p, const float *x)
{
    pod_store *store;
    double out = 0;
    const void *feed[] = {x};
    POD_CHECK_OK(pod_store_create(p, 0, 3, &store));
    POD_CHECK_OK(pod_check_step(p, (pod_store *const[]){store}, feed, &out));
    pod_store_destroy(store);
    return out;
}

/* Without gradients, with moving statistics: nothing normalized is stored but the last. */
static void evaluates_alike(void)
{
    pod_arena *a = pod_test_arena();
    pod_graph *g;
    POD_CHECK_OK(pod_graph_create(a, &g));
    const int64_t dim[] = {4, 4, 4, 2};
    pod_value x = pod_input(g, "x", pod_type_of(POD_F32, 4, dim), 0);
    x = pod_relu(g, conv_bn(g, "a", x));
    x = conv_bn(g, "c", pod_relu(g, conv_bn(g, "b", x)));
    pod_output(g, "out", total(g, pod_relu(g, x)));
    POD_CHECK_OK(pod_graph_finish(g));
    float image[4 * 4 * 4 * 2];
    for (int i = 0; i < 128; i++) image[i] = (float)(i % 7 - 3) / 4;
    const pod_program *fused = compile(a, g, true), *plain = compile(a, g, false);
    if (fused && plain) {
        const double got = run(fused, image), want = run(plain, image);
        POD_CHECK(want > 0 && fabs(got - want) <= 1e-5 * want, "%.9g fused, %.9g plain", got, want);
        CU_ASSERT_EQUAL(pod_test_n_instrs(fused, "conv2d_act"), 2);
        CU_ASSERT_EQUAL(pod_test_n_instrs(fused, "bn_apply_act"), 1);
        CU_ASSERT_EQUAL(pod_test_n_instrs(fused, "bn_fold"), 3);
    }
}

/* What is read twice is stored; what the host reads or a variable becomes is made. */
static void keeps_what_is_read(void)
{
    pod_arena *a = pod_test_arena();
    pod_graph *g;
    POD_CHECK_OK(pod_graph_create(a, &g));
    pod_value x = pod_input(g, "x", pod_type_of(POD_F32, 4, (const int64_t[]){4, 4, 4, 2}), 0);
    pod_value n = conv_bn(g, "a", x), z = pod_relu(g, n);
    pod_output(g, "sum of n", total(g, n)); /* the relu is not its only reader */
    pod_value m = conv_bn(g, "b", z);       /* the prologue of c, but it is pooled as well */
    pod_value pooled = pod_max_pool(g, m, (pod_max_pool_attr){.window = 2, .stride = 2});
    pod_output(g, "pooled", total(g, pooled));
    x = conv_bn(g, "c", m);
    pod_value kept =
        pod_variable(g, "kept", (pod_shape){4, {4, 4, 4, 2}}, (pod_init){0}, POD_ROLE_MOVING);
    pod_assign(g, kept, x); /* so no relu(x) in place of x */
    pod_output(g, "loss", total(g, pod_relu(g, x)));
    POD_CHECK_OK(pod_graph_finish(g));
    const pod_program *p = compile(a, g, true);
    if (p) {
        CU_ASSERT_EQUAL(pod_test_n_instrs(p, "bn_apply"), 3);
        CU_ASSERT_EQUAL(pod_test_n_instrs(p, "relu"), 2);
        CU_ASSERT_EQUAL(pod_test_n_instrs(p, "conv2d"), 3);
        CU_ASSERT_EQUAL(count_of(p, "bn_prologue", "max_pool reads it too"), 1);
    }
}

/* A product that is read twice, and one that is not of samples. */
static void keeps_products(void)
{
    pod_arena *a = pod_test_arena();
    pod_graph *g;
    POD_CHECK_OK(pod_graph_create(a, &g));
    const int64_t dim[] = {4, 4};
    pod_value x = pod_input(g, "x", pod_type_of(POD_F32, 2, dim), 0);
    pod_value b = pod_weight(g, "b", (pod_shape){1, {4}}, (pod_init){0}, POD_ROLE_BIAS);
    pod_value y = pod_matmul(g, x, x, (pod_matmul_attr){.c_dtype = POD_F32});
    pod_value t = pod_matmul(g, x, x, (pod_matmul_attr){.trans_a = true, .c_dtype = POD_F32});
    pod_output(g, "y", total(g, y));
    pod_output(g, "y + b", total(g, pod_bias_add(g, y, b)));
    pod_output(g, "t + b", total(g, pod_bias_add(g, t, b)));
    POD_CHECK_OK(pod_graph_finish(g));
    const pod_program *p = compile(a, g, true);
    if (p) {
        CU_ASSERT_EQUAL(count_of(p, "matmul_bias", NULL), 0);
        CU_ASSERT_EQUAL(count_of(p, "matmul_bias", "the product has other readers"), 1);
        CU_ASSERT_EQUAL(count_of(p, "matmul_bias", "not rows of samples"), 1);
    }
}

POD_TEST_SUITE("fuse", {"follows the plain program", follows_the_plain_program},
               {"follows it in other modes", follows_it_in_other_modes},
               {"counts what it does", counts_what_it_does},
               {"squeeze and excite", squeeze_and_excite}, {"the target decides", target_decides},
               {"evaluates alike", evaluates_alike}, {"keeps what is read", keeps_what_is_read},
               {"keeps products", keeps_products});
