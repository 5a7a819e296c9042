/* Moving averages of weights: what they are after some steps, and the same dealt out. */
#include <math.h>
#include <string.h>

#include "kernels/base/cpu.h"
#include "runtime/exec/exec.h"
#include "tests/harness/harness.h"
#include "tests/harness/nets.h"

enum { STEPS = 5 };
static const float DECAY = 0.4f;

static pod_test_plan plan_of(int net, const char *mesh, bool shard_update)
{
    return (pod_test_plan){.net = &pod_test_nets[net],
                           .mesh = mesh,
                           .bucket_bytes = 512,
                           .guard_bytes = 64,
                           .cpu = POD_CPU_REFERENCE_ONLY,
                           .optimizer = "sgd",
                           .wire = POD_BINNED,
                           .shard_update = shard_update,
                           .ema = DECAY};
}

/* The index of what is averaged in variable i; -1: it is no average. */
static int averaged_in(const pod_store *s, int i)
{
    const char *name = pod_store_variable(s, i)->name;
    return strncmp(name, "ema/", 4) == 0 ? pod_store_find(s, name + 4) : -1;
}

/* After each step every average has moved by 1 - d of the way to its variable, d as in
 * pod_ema_update; two roundings of values below 4 a step. */
static void test_averages(void)
{
    static pod_test_job j;
    static float before[1 << 16];
    const pod_test_plan plan = plan_of(POD_TEST_BN_RESIDUAL, "2x1", false);
    pod_test_job_start(&j, pod_test_program(&plan));
    for (int step = 1; step <= STEPS; step++) {
        pod_store *s = j.store[0];
        int64_t at = 0, n_averages = 0;
        for (int i = 0; i < pod_store_n(s); i++) {
            const int64_t n = pod_store_count(s, i);
            if (averaged_in(s, i) < 0) continue;
            memcpy(before + at, pod_store_data(s, i), sizeof *before * (size_t)n);
            at += n;
        }
        (void)pod_test_job_train(&j, 1);
        const double early = (1.0 + step) / (10.0 + step);
        const double d = step == 1 ? 0 : fmin(early, (double)DECAY);
        at = 0;
        for (int i = 0; i < pod_store_n(s); i++) {
            const int of = averaged_in(s, i);
            if (of < 0) continue;
            n_averages++;
            for (int64_t k = 0; k < pod_store_count(s, i); k++, at++) {
                const double value = (double)pod_store_data(s, of)[k];
                const double want = d * (double)before[at] + (1 - d) * value;
                const double got = (double)pod_store_data(s, i)[k];
                POD_CHECK(fabs(got - want) <= 4 * 4 * 0x1p-24, "step %d, '%s'[%d]: %g, want %g",
                          step, pod_store_variable(s, i)->name, (int)k, got, want);
            }
        }
        CU_ASSERT(n_averages > 10);
    }
    pod_test_job_end(&j);
}

/* Sums are exact, so what each core updates of its part has the bits of what all update of all. */
static void test_dealt_out(void)
{
    static pod_test_job x, y;
    static const char *const meshes[] = {"2x1", "3x1", "2x2", "4x3"};
    for (size_t m = 0; m < sizeof meshes / sizeof meshes[0]; m++)
        for (int net = 0; net < 2; net++) {
            const pod_test_plan whole =
                plan_of(net ? POD_TEST_RESIDUAL : POD_TEST_PERCEPTRON, meshes[m], false);
            pod_test_plan dealt = whole;
            dealt.shard_update = true;
            (void)pod_test_job_run(&x, &whole, STEPS);
            (void)pod_test_job_run(&y, &dealt, STEPS);
            const double apart = pod_test_distance(y.store[0], x.store[0]);
            POD_CHECK(apart == 0, "%s on %s: %g apart", whole.net->name, meshes[m], apart);
            CU_ASSERT(y.program->state_bytes < x.program->state_bytes);
            pod_test_job_end(&x);
            pod_test_job_end(&y);
        }
}

POD_TEST_SUITE("ema", {"averages", test_averages}, {"dealt out", test_dealt_out});
