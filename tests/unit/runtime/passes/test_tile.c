/* runtime/passes/tile: tiled programs on meshes against the same ones untiled, what they save, and
 * where a group ends. */
#include <math.h>
#include <string.h>

#include "kernels/base/cpu.h"
#include "runtime/exec/exec.h"
#include "runtime/ops/ops.h"
#include "runtime/passes/passes.h"
#include "tests/harness/harness.h"
#include "tests/harness/nets.h"

enum { STEPS = 3, TILE_BYTES = 8192 }; /* a few samples */

static const pod_test_plan residual = {.net = &pod_test_nets[POD_TEST_BN_RESIDUAL],
                                       .mesh = "1x1",
                                       .bucket_bytes = 512,
                                       .guard_bytes = 64,
                                       .cpu = POD_CPU_REFERENCE_ONLY,
                                       .fusion = true,
                                       .tile_bytes = TILE_BYTES};

static double flops(const pod_program *p)
{
    double flops = 0;
    for (int32_t i = 0; i < p->n_instrs; i++) flops += p->instr[i].cost.matrix_flops;
    return flops;
}

/* What is told of an instruction's ops adds up to what it does. */
static void check_works(const pod_program *p)
{
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const pod_instr *in = &p->instr[i];
        double works = 0;
        for (int32_t w = 0; w < in->n_works; w++)
            works += in->n_tiles * in->work[w].cost.matrix_flops;
        POD_CHECK(fabs(works - in->cost.matrix_flops) <= 1e-9 * works,
                  "instruction %d, %s: %g FLOPs, its ops %g", (int)i, in->op, in->cost.matrix_flops,
                  works);
        POD_CHECK((strcmp(in->op, "tiled") == 0) == (in->n_works > 1 && in->n_tiles > 1),
                  "instruction %d, %s: %d ops, %d tiles", (int)i, in->op, (int)in->n_works,
                  (int)in->n_tiles);
        for (int32_t w = 0; w < in->n_works; w++)
            POD_CHECK(in->work[w].impl[0] != '\0', "instruction %d, %s: no kernel", (int)i,
                      in->work[w].op);
    }
}

/* Both are trained by the check executor, which plays all ranks and watches every slot. */
static void check_like_untiled(const pod_test_plan *plan, double part)
{
    static pod_test_job job, untiled_job;
    pod_test_plan apart = *plan;
    apart.tile_bytes = 0;
    const double loss = pod_test_job_run(&job, plan, STEPS);
    const double untiled_loss = pod_test_job_run(&untiled_job, &apart, STEPS);
    const pod_program *p = job.program, *untiled = untiled_job.program;
    const double distance = pod_test_distance(job.store[0], untiled_job.store[0]);
    POD_CHECK(fabs(loss - untiled_loss) <= part * untiled_loss && distance <= part,
              "%s on %s: loss %.9g tiled, %.9g untiled, weights %g apart", plan->net->name,
              plan->mesh, loss, untiled_loss, distance);
    /* With other kernels the packed weights of so small a network may cost more than is saved. */
    POD_CHECK(pod_test_n_instrs(p, "tiled") > 0 || plan->cpu != POD_CPU_REFERENCE_ONLY,
              "%s on %s: nothing is tiled", plan->net->name, plan->mesh);
    CU_ASSERT_EQUAL(pod_test_n_instrs(untiled, "tiled"), 0);
    check_works(p);
    check_works(untiled);
    CU_ASSERT_EQUAL(p->model_flops, untiled->model_flops);
    CU_ASSERT_DOUBLE_EQUAL(flops(p), flops(untiled), 1e-9 * flops(p));
    CU_ASSERT(pod_test_n_instrs(p, "tiled") == 0 ||
              pod_program_moved_bytes(p) < pod_program_moved_bytes(untiled));
    pod_test_job_end(&job);
    pod_test_job_end(&untiled_job);
}

static void follows_the_untiled_program(void)
{
    static const char *const meshes[] = {"1x1", "2x1", "2x2"};
    const uint32_t cpus[] = {POD_CPU_REFERENCE_ONLY, pod_cpu_features()};
    for (int n = POD_TEST_RESIDUAL; n < POD_TEST_N_NETS; n++)
        for (size_t m = 0; m < sizeof meshes / sizeof meshes[0]; m++)
            for (int c = 0; c < 2; c++)
                for (int fusion = 0; fusion < 2; fusion++) {
                    pod_test_plan plan = residual;
                    plan.net = &pod_test_nets[n];
                    plan.mesh = meshes[m];
                    plan.cpu = cpus[c];
                    plan.fusion = fusion != 0;
                    check_like_untiled(&plan, 1e-4);
                    plan.precision = POD_BF16;
                    check_like_untiled(&plan, 0.05);
                }
}

static void follows_it_in_other_modes(void)
{
    pod_test_plan plan = residual;
    plan.mesh = "2x1";
    plan.wire = POD_BF16;
    check_like_untiled(&plan, 0.02);
    plan.wire = POD_BINNED;
    check_like_untiled(&plan, 1e-4);
    plan.wire = POD_F32;
    plan.wait_at_once = true;
    check_like_untiled(&plan, 1e-4);
    plan.shard_update = true;
    check_like_untiled(&plan, 1e-4);
    plan.accumulate = 3;
    check_like_untiled(&plan, 1e-4);
}

/* The same program twice, by its fingerprint; another size of tiles is another program. */
static void is_part_of_the_fingerprint(void)
{
    pod_test_plan plan = residual;
    const uint64_t fingerprint = pod_test_program(&plan)->fingerprint;
    CU_ASSERT_EQUAL(pod_test_program(&plan)->fingerprint, fingerprint);
    plan.tile_bytes /= 4;
    CU_ASSERT_NOT_EQUAL(pod_test_program(&plan)->fingerprint, fingerprint);
}

/* ---- groups ---------------------------------------------------------------------------------- */

enum { N = 12, SIDE = 4, CHANNELS = 8 };
static const int64_t image[] = {N, SIDE, SIDE, CHANNELS};
static const size_t image_bytes = sizeof(float) * SIDE * SIDE * CHANNELS; /* one sample */

static const pod_program *compile(pod_arena *a, const pod_graph *g, size_t tile_bytes)
{
    const pod_target target = {.name = "reference", .cpu = POD_CPU_REFERENCE_ONLY};
    const pod_compile_args args = {.mesh = {.n_dims = 1, .extent = {1}},
                                   .target = &target,
                                   .tile_bytes = tile_bytes,
                                   .bucket_bytes = 1};
    const pod_program *p = NULL;
    POD_CHECK_OK(pod_compile(g, N, &args, a, &p));
    return p;
}

static pod_value total(pod_graph *g, pod_value x) { return pod_sum_sq(g, x); }

/* relu(relu(x) + x): three values of which one is needed outside, if they fit a tile. */
static void groups_what_fits(void)
{
    static const struct {
        size_t tile_bytes;
        int n_tiled;
    } rows[] = {{image_bytes * 4 * N, 0}, /* all samples fit: nothing to gain */
                {image_bytes * 4 * 5, 1},
                {image_bytes * 4, 1},
                {image_bytes * 2, 0},
                {0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pod_arena *a = pod_test_arena();
        pod_graph *g;
        POD_CHECK_OK(pod_graph_create(a, &g));
        pod_value x = pod_input(g, "x", pod_type_of(POD_F32, 4, image), 0);
        pod_value y = pod_relu(g, pod_add(g, pod_relu(g, x), x));
        pod_output(g, "y", total(g, y));
        const pod_program *p = compile(a, g, rows[i].tile_bytes);
        if (p)
            POD_CHECK(pod_test_n_instrs(p, "tiled") == rows[i].n_tiled,
                      "%zu bytes: %d groups, expected %d", rows[i].tile_bytes,
                      pod_test_n_instrs(p, "tiled"), rows[i].n_tiled);
    }
}

/* The statistics of a batch norm need all samples before any is normalized: two groups. A reader
 * that is no part of a group keeps the value in memory. */
static void ends_where_a_sum_is_needed(void)
{
    const pod_batchnorm_attr bn = {.train = true, .eps = 1e-3f, .gamma = {POD_INIT_ONE, 1}};
    pod_arena *a = pod_test_arena();
    pod_graph *g;
    POD_CHECK_OK(pod_graph_create(a, &g));
    pod_value x = pod_input(g, "x", pod_type_of(POD_F32, 4, image), 0);
    pod_value y = pod_batchnorm(g, pod_relu(g, x), bn);
    pod_output(g, "z", total(g, pod_relu(g, y)));
    const pod_program *p = compile(a, g, image_bytes * 4);
    if (p) {
        CU_ASSERT_EQUAL(pod_test_n_instrs(p, "tiled"), 2);
        CU_ASSERT_EQUAL(pod_test_n_instrs(p, "bn_sums") + pod_test_n_instrs(p, "bn_apply"), 0);
        CU_ASSERT_EQUAL(pod_test_n_instrs(p, "bn_moments"), 1);
    }
}

POD_TEST_SUITE("tile", {"follows the untiled program", follows_the_untiled_program},
               {"follows it in other modes", follows_it_in_other_modes},
               {"is part of the fingerprint", is_part_of_the_fingerprint},
               {"groups what fits", groups_what_fits},
               {"ends where a sum is needed", ends_where_a_sum_is_needed});
