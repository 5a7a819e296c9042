/* Values of forward that are made again in backward: less memory, the same bits. */
#include "kernels/base/cpu.h"
#include "runtime/passes/passes.h"
#include "tests/harness/harness.h"
#include "tests/harness/nets.h"

enum { STEPS = 3 };

/* Fused or not, in one go or in micro-steps, on one core or several. Tiles are cut where the values
 * of a sample fill them, so that sums over samples are rounded in another order. */
static void test_same_bits(void)
{
    static pod_test_job kept, again;
    int n_lower = 0;
    for (int turn = 0; turn < 24; turn++) {
        pod_test_plan plan = {.net = &pod_test_nets[turn % POD_TEST_N_NETS],
                              .precision = turn / 3 % 2 ? POD_BF16 : POD_F32,
                              .mesh = turn % 2 ? "2x1" : "1x1",
                              .bucket_bytes = 512,
                              .guard_bytes = 64,
                              .cpu = turn / 12 ? POD_CPU_REFERENCE_ONLY : pod_cpu_features(),
                              .fusion = turn / 6 % 2 == 1,
                              .tile_bytes = turn % 5 == 4 ? 4096 : 0,
                              .accumulate = turn % 4 == 3 ? 3 : 1};
        (void)pod_test_job_run(&kept, &plan, STEPS);
        plan.recompute = true;
        (void)pod_test_job_run(&again, &plan, STEPS);
        const pod_program *p = kept.program, *q = again.program;
        const double apart = pod_test_distance(again.store[0], kept.store[0]);
        POD_CHECK(apart <= (plan.tile_bytes ? 1e-3 : 0), "turn %d, %s: weights are %g apart", turn,
                  plan.net->name, apart);
        pod_test_job_end(&kept);
        pod_test_job_end(&again);
        POD_CHECK(q->step_bytes <= p->step_bytes, "turn %d: %zu bytes, %zu when kept", turn,
                  q->step_bytes, p->step_bytes);
        CU_ASSERT((q->n_recomputed > 0) == (q->step_bytes < p->step_bytes));
        CU_ASSERT((p->fingerprint == q->fingerprint) == (q->n_recomputed == 0));
        CU_ASSERT(p->model_flops == q->model_flops && p->n_recomputed == 0);
        if (plan.net == &pod_test_nets[POD_TEST_BN_RESIDUAL]) n_lower += q->n_recomputed > 0;
    }
    POD_CHECK(n_lower >= 4, "%d of 8 programs with batch norm take less memory", n_lower);
}

/* relu(bn_apply(x)) and what is added to it run again; bn_sums and convolutions do not. */
static void test_what_runs_again(void)
{
    static const char *const cheap[] = {"cast",     "relu",         "add",
                                        "bias_add", "normalize",    "bn_fold",
                                        "bn_apply", "bn_apply_act", "reshape"};
    const pod_test_plan plan = {.net = &pod_test_nets[POD_TEST_BN_RESIDUAL],
                                .mesh = "1x1",
                                .bucket_bytes = 512,
                                .cpu = POD_CPU_REFERENCE_ONLY,
                                .recompute = true};
    int n_again = 0, n_applied = 0;
    const pod_program *p = pod_test_program(&plan);
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const pod_instr *in = &p->instr[i];
        if (in->phase != POD_PHASE_BACKWARD) continue;
        for (size_t c = 0; c < sizeof cheap / sizeof cheap[0]; c++)
            n_again += strcmp(in->op, cheap[c]) == 0;
        n_applied += strcmp(in->op, "bn_apply") == 0;
        POD_CHECK(strcmp(in->op, "bn_sums") != 0 && strcmp(in->op, "conv2d") != 0, "%s '%s' again",
                  in->op, in->label);
    }
    POD_CHECK(n_applied == 4 && n_again >= p->n_recomputed, "%d of 4, %d again, %d counted",
              n_applied, n_again, (int)p->n_recomputed);
}

POD_TEST_SUITE("recompute", {"less memory, the same bits", test_same_bits},
               {"what runs again", test_what_runs_again});
