/* What instructions take on a machine with a matrix unit: small programs by hand, padding, what is
 * joined and what is not, and that no better machine is slower. */
#include <math.h>

#include "kernels/base/cpu.h"
#include "runtime/exec/cost.h"
#include "runtime/ops/ops.h"
#include "runtime/passes/passes.h"
#include "tests/harness/harness.h"
#include "tests/harness/interp.h"
#include "tests/harness/nets.h"

enum { SIDE = 8, C = 64 };
static const double Y = 128 * SIDE * SIDE * C; /* elements, with 128 samples or padded to them */
static const double W = 2 * 64 * 9 * 64;       /* of the filter as it is stored: half is padding */

static pod_machine round_machine(void)
{
    return (pod_machine){.name = "round",
                         .clock = "virtual",
                         .peak_bf16_gflop_per_s = 100000,
                         .copy_memory_gb_per_s = 100,
                         .vector_gop_per_s = 10,
                         .matrix_side = 128,
                         .vector_lanes = 128,
                         .vector_sublanes = 8,
                         .vector_share = 1,
                         .memory_share = 1,
                         .instr_overhead_us = 1};
}

/* x (n, 8, 8, 64), 3x3 filters, perhaps batch normalization, relu, mean (n, 64), float32. */
static const pod_program *program_on(pod_arena *a, const char *cores, int64_t n, bool normalizes)
{
    static const pod_target target = {.name = "reference", .cpu = POD_CPU_REFERENCE_ONLY};
    pod_graph *g;
    pod_mesh mesh;
    const pod_program *p = NULL;
    if (pod_graph_create(a, &g) != POD_OK) return NULL;
    const pod_shape filter = {4, {C, 3, 3, C}};
    const pod_batchnorm_attr bn = {0.9F, 1e-5F, true, {POD_INIT_ONE, 0}};
    pod_value x =
        pod_input(g, "x", pod_type_of(POD_BF16, 4, (const int64_t[]){n, SIDE, SIDE, C}), 0);
    pod_value w = pod_weight(g, "w", filter, (pod_init){POD_INIT_HE, 1}, POD_ROLE_WEIGHT);
    pod_value y = pod_conv2d(g, x, w, (pod_conv2d_attr){.stride = 1, .pad = 1});
    if (normalizes) y = pod_batchnorm(g, y, bn);
    pod_output(g, "mean", pod_cast(g, pod_mean_pool(g, pod_relu(g, y)), POD_F32));
    POD_CHECK_OK(pod_graph_finish(g));
    POD_CHECK_OK(pod_mesh_parse(cores, &mesh));
    pod_coll_rules *rules;
    POD_CHECK_OK(pod_coll_rules_parse(a, "allreduce:torus2d", &rules));
    const pod_compile_args args = {
        .mesh = mesh, .target = &target, .bucket_bytes = 1 << 20, .rules = rules};
    POD_CHECK_OK(pod_compile(g, n, &args, a, &p));
    return p;
}

static const pod_program *program_of(pod_arena *a, int64_t n, bool normalizes)
{
    return program_on(a, "1", n, normalizes);
}

static pod_instr_time *times_of(pod_arena *a, const pod_machine *m, const pod_program *p)
{
    pod_instr_time *time = POD_ARENA_NEW(a, pod_instr_time, p->n_instrs);
    if (time) POD_CHECK_OK(pod_cost_program(m, p, time));
    return time;
}

static int32_t find(const pod_program *p, const char *op)
{
    for (int32_t i = 0; i < p->n_instrs; i++)
        if (strcmp(p->instr[i].op, op) == 0) return i;
    POD_CHECK(false, "no %s", op);
    return 0;
}

/* The filter's cast, convolution, relu and the sum of the mean are one: what lies between them is
 * not stored. 64 samples take what 128 do, but for rows that stream through the matrix unit. */
static void by_hand(void)
{
    pod_arena *a = pod_test_arena();
    const pod_machine m = round_machine();
    for (int64_t n = 64; n <= 128; n += 64) {
        const pod_program *p = program_of(a, n, false);
        const pod_instr_time *time = times_of(a, &m, p);
        double seconds = 0;
        for (int32_t i = 0; i < p->n_instrs; i++) seconds += time[i].seconds;
        /* The first is the cast of the filter, made again: nothing is charged to it. */
        const pod_instr_time *conv = &time[find(p, "conv2d")];
        const double rows = (double)(n * SIDE * SIDE);
        const double mean = (double)(n == 64 ? 64 * 128 : 128 * 64);
        const double ops = 2 * Y + W;
        POD_CHECK(conv->matrix_s == 2 * rows * 640 * 128 / 1e14, "%g s", conv->matrix_s);
        CU_ASSERT_DOUBLE_EQUAL(conv->memory_s, (2 * Y + 4 * W + 2 * mean) / 100e9, 1e-15);
        CU_ASSERT_DOUBLE_EQUAL(conv->vector_s, ops / 10e9, 1e-15);
        CU_ASSERT_EQUAL(conv->bound, POD_BOUND_VECTOR);
        CU_ASSERT_DOUBLE_EQUAL(conv->seconds, 1e-6 + ops / 10e9, 1e-15);
        const pod_instr_time *of_mean = &time[p->n_instrs - 2]; /* before it is fetched */
        CU_ASSERT_DOUBLE_EQUAL(of_mean->memory_s, (2 + 4) * mean / 100e9, 1e-15);
        CU_ASSERT_DOUBLE_EQUAL(seconds, conv->seconds + of_mean->seconds, 1e-15);
    }
}

/* The statistics are made as the convolution is; what they normalize is stored and read again. */
static void sums_are_waited_for(void)
{
    pod_arena *a = pod_test_arena();
    const pod_machine m = round_machine();
    const pod_program *p = program_of(a, 128, true);
    const pod_instr_time *time = times_of(a, &m, p);
    const double all = 100e9 * time[find(p, "conv2d")].memory_s;
    const double statistics = 2 * 128 * 4;
    CU_ASSERT_DOUBLE_EQUAL(all, 2 * Y + 4 * W + 2 * Y + statistics, 1);
    CU_ASSERT_EQUAL(time[find(p, "bn_sums")].seconds, 0);
    CU_ASSERT_EQUAL(time[find(p, "bn_apply")].seconds, 0);
    CU_ASSERT(100e9 * time[find(p, "mean_pool")].memory_s > 2 * Y);
    CU_ASSERT(100e9 * time[find(p, "mean_pool")].memory_s < 2.1 * Y);
    size_t bytes = 0;
    POD_CHECK_OK(pod_cost_memory(&m, p, &bytes));
    CU_ASSERT((double)bytes > 4 * Y &&
              (double)bytes < 4 * Y + 4 * W); /* x and y, and little else */
}

/* Of what a memory on the chip keeps only the input and the filter come from the large one. */
static void chips_may_keep_values(void)
{
    pod_arena *a = pod_test_arena();
    pod_machine m = round_machine();
    const pod_program *p = program_of(a, 128, true);
    double moved[3] = {0};
    for (int i = 0; i < 3; i++) {
        m.on_chip_mib = i == 0 ? 0 : i == 1 ? 0.5 : 16;
        const pod_instr_time *time = times_of(a, &m, p);
        for (int32_t k = 0; k < p->n_instrs; k++) moved[i] += 100e9 * time[k].memory_s;
    }
    CU_ASSERT(moved[0] >= moved[1] && moved[1] > moved[2]);
    CU_ASSERT(moved[2] >= 2 * Y + 4 * W && moved[2] < 2.2 * Y + 4 * W);
}

/* Attention of n sequences of 16 tokens, two heads of 32 features, and the gradient of q, which reads
 * what forward leaves. */
enum { TOKENS = 16, HEADS = 2, FEATURES = 64 };

static const pod_program *attention_of(pod_arena *a, int64_t n)
{
    static const pod_target target = {.name = "reference", .cpu = POD_CPU_REFERENCE_ONLY};
    const pod_shape rows = {3, {n, TOKENS, FEATURES}};
    pod_graph *g;
    pod_mesh mesh;
    const pod_program *p = NULL;
    if (pod_graph_create(a, &g) != POD_OK) return NULL;
    const pod_init init = {POD_INIT_NORMAL, 1};
    pod_value q = pod_weight(g, "q", rows, init, POD_ROLE_WEIGHT), grad[1];
    pod_value y = pod_attention(g, q, q, q, (pod_value){0}, (pod_value){0},
                                (pod_attention_attr){.n_heads = HEADS});
    pod_value sum = pod_test_weigh(g, y, pod_input(g, "r", *pod_graph_type(g, y), POD_NO_BATCH));
    pod_output(g, "sum", sum);
    POD_CHECK_OK(pod_pass_grad(g, sum, grad));
    pod_assign(g, q, grad[0]);
    POD_CHECK_OK(pod_graph_finish(g));
    POD_CHECK_OK(pod_mesh_parse("1", &mesh));
    const pod_compile_args args = {.mesh = mesh, .target = &target, .bucket_bytes = 1 << 20};
    POD_CHECK_OK(pod_compile(g, n, &args, a, &p));
    return p;
}

/* A pod's scores are stored: 16 x 16, padded to 16 x 128, of each head. Forward writes them and reads
 * them twice; backward reads them four times, writes the gradients of probabilities and reads these
 * twice. */
static void scores_are_stored(void)
{
    enum { N = 4 };
    pod_arena *a = pod_test_arena();
    pod_machine m = round_machine();
    const pod_program *p = attention_of(a, N);
    if (!p) return;
    const double scores = N * HEADS * TOKENS * 128 * sizeof(float);
    const double values = N * TOKENS * 128 * sizeof(float); /* 64 features, in lanes */
    const double lse = N * HEADS * 128 * sizeof(float);
    for (int i = 0; i < 2; i++) {
        m.on_chip_mib = i;
        const pod_instr_time *time = times_of(a, &m, p);
        const pod_instr_time *forward = &time[find(p, "attention")],
                             *backward = &time[find(p, "attention_grad")];
        CU_ASSERT_DOUBLE_EQUAL(forward->matrix_s, 2 * 2.0 * N * HEADS * 128 * 128 * 128 / 1e14,
                               1e-15);
        CU_ASSERT_DOUBLE_EQUAL(backward->matrix_s, 2 * forward->matrix_s, 1e-15);
        if (i == 1) { /* the chip holds all scores: no pass over them goes through memory */
            CU_ASSERT(100e9 * forward->memory_s < scores);
            CU_ASSERT(100e9 * backward->memory_s < scores);
            continue;
        }
        POD_CHECK(fabs(100e9 * forward->memory_s - (2 * values + lse + 3 * scores)) < 8 * lse,
                  "%g bytes", 100e9 * forward->memory_s);
        POD_CHECK(fabs(100e9 * backward->memory_s - (7 * scores + 6 * values)) < 2 * values,
                  "%g bytes, %g of scores", 100e9 * backward->memory_s, 7 * scores);
    }
    size_t bytes = 0;
    POD_CHECK_OK(pod_cost_memory(&m, p, &bytes));
    CU_ASSERT((double)bytes > scores);
}

/* Two replicas of a core hold the weights twice and halve no work. */
static void replicas_have_weights(void)
{
    pod_arena *a = pod_test_arena();
    pod_machine m = round_machine();
    const pod_program *p = program_on(a, "2", 256, false);
    if (!p) return;
    const pod_instr_time one = times_of(a, &m, p)[find(p, "conv2d")];
    size_t bytes_of_one = 0, bytes_of_two = 0;
    POD_CHECK_OK(pod_cost_memory(&m, p, &bytes_of_one));
    m.replicas_per_core = 2;
    const pod_instr_time two = times_of(a, &m, p)[find(p, "conv2d")];
    POD_CHECK_OK(pod_cost_memory(&m, p, &bytes_of_two));
    CU_ASSERT_EQUAL(bytes_of_two - bytes_of_one, (size_t)(2 * W)); /* counted without padding */
    CU_ASSERT_EQUAL(two.matrix_s, one.matrix_s);
    CU_ASSERT_DOUBLE_EQUAL(100e9 * (two.memory_s - one.memory_s), 4 * W, 1e-3);
}

static double total(const pod_machine *m, const pod_program *p, pod_arena *a)
{
    const pod_instr_time *time = times_of(a, m, p);
    double seconds = 0;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        CU_ASSERT(time[i].seconds >= 0 && time[i].seconds >= time[i].memory_s);
        CU_ASSERT(p->instr[i].kind == POD_I_RUN || time[i].seconds == 0);
        seconds += time[i].seconds;
    }
    return seconds;
}

/* Nothing gets slower where a unit gets faster, in training, on meshes, with micro-steps. */
static void better_is_not_slower(void)
{
    static const char *const mesh[] = {"1x1", "2x1"};
    pod_arena *a = pod_test_arena();
    for (int net = 0; net < POD_TEST_N_NETS; net++)
        for (int k = 0; k < 2; k++) {
            const pod_test_plan plan = {.net = &pod_test_nets[net],
                                        .precision = POD_BF16,
                                        .mesh = mesh[k],
                                        .bucket_bytes = 512,
                                        .cpu = POD_CPU_REFERENCE_ONLY,
                                        .fusion = k == 1,
                                        .accumulate = 1 + 2 * k};
            const pod_program *p = pod_test_program(&plan);
            if (!p) continue;
            pod_machine m = round_machine();
            const double was = total(&m, p, a);
            double *const better[] = {&m.peak_bf16_gflop_per_s, &m.copy_memory_gb_per_s,
                                      &m.vector_gop_per_s, &m.on_chip_mib};
            double now = was;
            for (size_t i = 0; i < sizeof better / sizeof better[0]; i++) {
                *better[i] = *better[i] > 0 ? 2 * *better[i] : 1;
                const double then = total(&m, p, a);
                POD_CHECK(then <= now, "%s, change %zu: %g s, was %g", plan.net->name, i, then,
                          now);
                now = then;
            }
            CU_ASSERT(now > 0 && now < was);
        }
}

static void needs_all_numbers(void)
{
    pod_machine m = round_machine();
    pod_instr_time time[64];
    size_t bytes;
    const pod_program *p = program_of(pod_test_arena(), 64, false);
    m.vector_lanes = 0;
    POD_CHECK_FAILS(pod_cost_program(&m, p, time), POD_E_INVALID,
                    "machine round: its file has no vector_lanes");
    POD_CHECK_FAILS(pod_cost_memory(&m, p, &bytes), POD_E_INVALID, "no vector_lanes");
    for (int i = 0; pod_machine_known(i); i++) {
        POD_CHECK_OK(pod_machine_load(pod_machine_known(i), &m));
        POD_CHECK_OK(pod_cost_program(&m, p, time));
        CU_ASSERT(m.memory_gib > 0 && m.instr_overhead_us > 0 && m.evaluation_start_s > 0);
        CU_ASSERT(m.vector_share <= 1 && m.memory_share <= 1);
    }
}

POD_TEST_SUITE("cost_pod", {"by_hand", by_hand}, {"sums_are_waited_for", sums_are_waited_for},
               {"chips_may_keep_values", chips_may_keep_values},
               {"scores_are_stored", scores_are_stored},
               {"replicas_have_weights", replicas_have_weights},
               {"better_is_not_slower", better_is_not_slower},
               {"needs_all_numbers", needs_all_numbers});
