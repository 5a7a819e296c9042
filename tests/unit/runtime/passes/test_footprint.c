/* What of a step's memory is alive where most is, held against the slots one by one. */
#include "kernels/base/cpu.h"
#include "runtime/program/footprint.h"
#include "tests/harness/harness.h"
#include "tests/harness/nets.h"

static pod_test_plan plan_of(int net, int n_micro_steps)
{
    return (pod_test_plan){.net = &pod_test_nets[net],
                           .precision = POD_BF16,
                           .mesh = "2x1",
                           .bucket_bytes = 512,
                           .cpu = POD_CPU_REFERENCE_ONLY,
                           .accumulate = n_micro_steps};
}

static size_t alive_at(const pod_program *p, int32_t instr)
{
    size_t bytes = 0;
    for (int32_t s = 0; s < p->n_slots; s++) {
        const pod_slot *slot = &p->slot[s];
        if (slot->space == POD_SPACE_STEP && slot->root == s && slot->first <= instr &&
            slot->last >= instr)
            bytes += slot->bytes;
    }
    return bytes;
}

static void check_footprint(pod_arena *a, const pod_program *p, pod_footprint *f)
{
    size_t by_use = 0, listed = 0;
    POD_CHECK_OK(pod_footprint_of(p, a, f));
    for (int32_t i = 0; i < p->n_instrs; i++)
        POD_CHECK(alive_at(p, i) <= f->alive_bytes, "more is alive at instruction %d", (int)i);
    POD_CHECK(alive_at(p, f->peak) == f->alive_bytes, "%zu bytes at the peak, want %zu",
              f->alive_bytes, alive_at(p, f->peak));
    for (int u = 0; u < POD_N_USES; u++) by_use += f->use_bytes[u];
    for (int32_t i = 0; i < f->n_alive; i++) {
        listed += f->alive[i].bytes;
        if (i > 0) CU_ASSERT(f->alive[i].bytes <= f->alive[i - 1].bytes);
    }
    CU_ASSERT(by_use == f->alive_bytes && listed == f->alive_bytes);
    CU_ASSERT(f->alive_bytes <= p->step_bytes);
    CU_ASSERT_EQUAL(f->total_bytes, p->step_bytes + p->window_bytes + p->store_bytes);
}

static void test_peak(void)
{
    pod_arena *a = pod_test_arena();
    pod_footprint f, g;
    for (int net = 0; net < POD_TEST_N_NETS; net++) {
        const pod_test_plan whole = plan_of(net, 1), micro = plan_of(net, 3);
        check_footprint(a, pod_test_program(&whole), &f);
        check_footprint(a, pod_test_program(&micro), &g);
        CU_ASSERT(f.use_bytes[POD_USE_KEPT] > 0 && f.use_bytes[POD_USE_SUM] == 0);
        POD_CHECK(g.use_bytes[POD_USE_KEPT] < f.use_bytes[POD_USE_KEPT], "%s: %zu and %zu kept",
                  micro.net->name, g.use_bytes[POD_USE_KEPT], f.use_bytes[POD_USE_KEPT]);
        POD_CHECK(g.moved_bytes > f.moved_bytes, "%s: %g and %g bytes moved", micro.net->name,
                  g.moved_bytes, f.moved_bytes); /* each micro-step reads the weights */
    }
}

/* On one core sums over micro-steps lie in the slab, and are alive all the while. */
static void test_sums(void)
{
    pod_arena *a = pod_test_arena();
    pod_footprint f;
    pod_test_plan plan = plan_of(POD_TEST_PERCEPTRON, 4);
    plan.mesh = "1x1";
    plan.precision = POD_F32;
    const pod_program *p = pod_test_program(&plan);
    check_footprint(a, p, &f);
    const size_t weights = (POD_TEST_PIXELS * 17 + 17 + 17 * POD_TEST_CLASSES + POD_TEST_CLASSES);
    CU_ASSERT_EQUAL(f.use_bytes[POD_USE_SUM], (weights + 2) * sizeof(float)); /* loss, correct */
    CU_ASSERT_EQUAL(f.use_bytes[POD_USE_COPY], 0);
}

POD_TEST_SUITE("footprint", {"the peak", test_peak}, {"sums of micro-steps", test_sums});
