/* Gradients clipped by their norm, summed or each core's own, on the check executor: weights after a step
 * against sums in double precision, on meshes, in micro-steps, and with a sharded update. */
#include <math.h>

#include "collectives/algo/rules.h"
#include "kernels/base/cpu.h"
#include "runtime/ops/ops.h"
#include "runtime/passes/passes.h"
#include "tests/harness/check.h"
#include "tests/harness/harness.h"
#include "tests/harness/interp.h"

enum { N = 16, C = 5, K = 3, W = C * K, MAX_RANKS = 4, N_FEEDS = 4 };

typedef struct plan {
    const char *mesh;
    int accumulate;
    bool local, sharded;
    pod_dtype wire;
    float max_norm; /* 0: not clipped */
    const char *optimizer;
} plan;

typedef struct rows {
    float x[N * C], r[N * K];
} rows;

/* Later rows are larger, so that cores have gradients of unlike norms. */
static rows make_rows(void)
{
    rows d;
    for (int i = 0; i < N * C; i++) d.x[i] = (float)((i * 7 % 11) - 5) * 0.125f;
    for (int i = 0; i < N * K; i++)
        d.r[i] = (float)((i * 5 % 7) - 3) * 0.25f * (float)(1 + i / K * (i / K)) * 0.0625f;
    return d;
}

/* The loss is the sum of r (x w + b): its gradients are x'r and the sum of r's rows. */
static const pod_program *program_of(pod_arena *a, const plan *p)
{
    static const pod_target target = {.name = "reference", .cpu = POD_CPU_REFERENCE_ONLY};
    const pod_init init = {POD_INIT_NORMAL, 1};
    pod_graph *g;
    pod_coll_rules *rules;
    const pod_program *out = NULL;
    if (pod_graph_create(a, &g) != POD_OK) return NULL;
    pod_value x = pod_input(g, "x", pod_type_of(POD_F32, 2, (const int64_t[]){N, C}), 0);
    pod_value r = pod_input(g, "r", pod_type_of(POD_F32, 2, (const int64_t[]){N, K}), 0);
    pod_value w = pod_weight(g, "w", (pod_shape){2, {C, K}}, init, POD_ROLE_WEIGHT);
    pod_value b = pod_weight(g, "b", (pod_shape){1, {K}}, init, POD_ROLE_WEIGHT);
    pod_value y = pod_bias_add(g, pod_matmul(g, x, w, (pod_matmul_attr){.c_dtype = POD_F32}), b);
    pod_value loss = pod_test_weigh(g, y, r), grad[2];
    const pod_hparams hp = {.clip_norm = p->max_norm,
                            .clip_local = p->local,
                            .beta1 = 0.9f,
                            .beta2 = 0.99f,
                            .epsilon = 1e-3f};
    POD_CHECK_OK(pod_pass_grad(g, loss, grad));
    if (p->max_norm > 0) POD_CHECK_OK(pod_pass_clip(g, grad, &hp));
    POD_CHECK_OK(pod_pass_update(g, grad, pod_optim_find(p->optimizer), &hp));
    POD_CHECK_OK(pod_graph_finish(g));
    pod_compile_args args = {.target = &target,
                             .bucket_bytes = 16,
                             .shard_update = p->sharded,
                             .accumulate = p->accumulate,
                             .wire = p->wire,
                             .guard_bytes = 64};
    POD_CHECK_OK(pod_mesh_parse(p->mesh, &args.mesh));
    POD_CHECK_OK(pod_coll_rules_parse(
        a, "allreduce:torus2d;ring;reduce_scatter:torus2d;ring;allgather:torus2d;ring", &rules));
    args.rules = rules;
    const pod_status s = pod_compile(g, N, &args, a, &out);
    POD_CHECK(s == POD_OK, "%s %s on %s, %d micro-steps%s%s: %s", p->optimizer,
              pod_dtype_name(p->wire), p->mesh, p->accumulate, p->local ? ", local" : "",
              p->sharded ? ", sharded" : "", pod_error_text());
    return out;
}

/* The weights w and b after a step at rate 1; `before`: what they were. */
static bool run(const plan *p, const rows *d, float after[W + K], float before[W + K])
{
    pod_arena *a = pod_test_arena();
    const pod_program *program = program_of(a, p);
    static const float one = 1;
    const void *feed[N_FEEDS * MAX_RANKS];
    pod_store *store[MAX_RANKS] = {NULL};

    if (!program) return false;
    const int n_ranks = pod_mesh_size(&program->mesh), n = N / n_ranks;
    for (int r = 0; r < n_ranks; r++) {
        feed[r] = d->x + r * n * C;
        feed[n_ranks + r] = d->r + r * n * K;
        feed[2 * n_ranks + r] = feed[3 * n_ranks + r] = &one;
        POD_CHECK_OK(pod_store_create(program, r, 1, &store[r]));
    }
    const int at[2] = {pod_store_find(store[0], "w"), pod_store_find(store[0], "b")};
    memcpy(before, pod_store_data(store[0], at[0]), W * sizeof(float));
    memcpy(before + W, pod_store_data(store[0], at[1]), K * sizeof(float));
    POD_CHECK_OK(pod_check_step(program, store, feed, NULL));
    memcpy(after, pod_store_data(store[0], at[0]), W * sizeof(float));
    memcpy(after + W, pod_store_data(store[0], at[1]), K * sizeof(float));
    for (int r = 0; r < n_ranks; r++) pod_store_destroy(store[r]);
    return true;
}

static void add_gradient(const rows *d, int row, double g[W + K])
{
    for (int k = 0; k < K; k++) {
        const double r = (double)d->r[row * K + k];
        for (int c = 0; c < C; c++) g[c * K + k] += (double)d->x[row * C + c] * r;
        g[W + k] += r;
    }
}

static void clip(double g[W + K], double max_norm)
{
    double sq = 0;
    for (int i = 0; i < W + K; i++) sq += g[i] * g[i];
    for (int i = 0; i < W + K && sqrt(sq) > max_norm; i++) g[i] *= max_norm / sqrt(sq);
}

static void want_gradient(const plan *p, const rows *d, int n_ranks, double sum[W + K])
{
    memset(sum, 0, (W + K) * sizeof *sum);
    for (int r = 0; r < n_ranks; r++) {
        double own[W + K] = {0};
        for (int row = r * N / n_ranks; row < (r + 1) * N / n_ranks; row++)
            add_gradient(d, row, own);
        if (p->local) clip(own, (double)p->max_norm / n_ranks);
        for (int i = 0; i < W + K; i++) sum[i] += own[i];
    }
    if (!p->local) clip(sum, (double)p->max_norm);
}

static void follows_the_formula(void)
{
    static const struct {
        const char *mesh;
        int n_ranks;
    } meshes[] = {{"1", 1}, {"2", 2}, {"2x2", 4}};
    static const pod_dtype wires[] = {POD_F32, POD_BINNED};
    const rows d = make_rows();
    for (int how = 0; how < 3 * 2 * 2 * 2 * 2; how++) {
        const plan p = {.mesh = meshes[how % 3].mesh,
                        .accumulate = 1 + how / 3 % 2,
                        .local = how / 6 % 2,
                        .sharded = how / 12 % 2,
                        .wire = wires[how / 24],
                        .max_norm = 1.5f,
                        .optimizer = "sgd"};
        float after[W + K], before[W + K];
        double want[W + K];
        if (!run(&p, &d, after, before)) return;
        want_gradient(&p, &d, meshes[how % 3].n_ranks, want);
        for (int i = 0; i < W + K; i++)
            POD_CHECK(fabs((double)before[i] - (double)after[i] - want[i]) < 2e-6,
                      "%s, %d micro-steps, %s%s, %s: weight %d moved by %g, want %g", p.mesh,
                      p.accumulate, p.local ? "local" : "global", p.sharded ? ", sharded" : "",
                      pod_dtype_name(p.wire), i, (double)before[i] - (double)after[i], want[i]);
    }
}

/* With the first moment in between, and norms of its own. */
static void shards_of_lamb_agree(void)
{
    const rows d = make_rows();
    for (int local = 0; local < 2; local++) {
        float after[2][W + K], before[W + K];
        for (int sharded = 0; sharded < 2; sharded++) {
            const plan p = {.mesh = "2x2",
                            .accumulate = 1,
                            .local = local,
                            .sharded = sharded,
                            .wire = POD_BINNED,
                            .max_norm = 1.5f,
                            .optimizer = "lamb"};
            if (!run(&p, &d, after[sharded], before)) return;
        }
        CU_ASSERT_EQUAL(memcmp(after[0], after[1], sizeof after[0]), 0);
    }
}

/* On one core both are one; on two they differ; a norm that is large enough changes nothing. */
static void orders_differ(void)
{
    const rows d = make_rows();
    plan p = {.mesh = "1", .accumulate = 1, .max_norm = 1.5f, .optimizer = "sgd"};
    float one[4][W + K], before[W + K];
    for (int i = 0; i < 4; i++) {
        p.mesh = i < 2 ? "1" : "2";
        p.local = i % 2;
        if (!run(&p, &d, one[i], before)) return;
    }
    CU_ASSERT_EQUAL(memcmp(one[0], one[1], sizeof one[0]), 0);
    CU_ASSERT(fabsf(one[2][0] - one[3][0]) > 1e-2f);
    for (int i = 0; i < 3; i++) {
        p.local = i == 1;
        p.max_norm = i < 2 ? 1e6f : 0;
        if (!run(&p, &d, one[i], before)) return;
    }
    CU_ASSERT_EQUAL(memcmp(one[0], one[2], sizeof one[0]), 0);
    CU_ASSERT_EQUAL(memcmp(one[1], one[2], sizeof one[0]), 0);
}

POD_TEST_SUITE("clip", {"follows_the_formula", follows_the_formula},
               {"shards_of_lamb_agree", shards_of_lamb_agree}, {"orders_differ", orders_differ});
