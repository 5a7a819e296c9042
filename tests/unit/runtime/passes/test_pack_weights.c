/* runtime/passes/pack: which weights are packed, once a step, and that training is the same. */
#include <math.h>
#include <string.h>

#include "kernels/base/cpu.h"
#include "runtime/exec/exec.h"
#include "runtime/passes/passes.h"
#include "tests/harness/harness.h"
#include "tests/harness/nets.h"

enum { STEPS = 3 };

static const pod_test_plan in_bf16 = {.net = &pod_test_nets[POD_TEST_BN_RESIDUAL],
                                      .precision = POD_BF16,
                                      .mesh = "1x1",
                                      .bucket_bytes = 512,
                                      .guard_bytes = 64,
                                      .fusion = true};

static bool is_op(const pod_instr *in, const char *op) { return strcmp(in->op, op) == 0; }

static bool is_pack(const pod_instr *in)
{
    return is_op(in, "conv2d_pack") || is_op(in, "matmul_pack");
}

static bool is_made_by_pack(const pod_program *p, int32_t slot)
{
    for (int32_t i = 0; i < p->n_instrs; i++)
        if (is_pack(&p->instr[i]) && p->instr[i].out[0] == slot) return true;
    return false;
}

static int n_packs(const pod_program *p)
{
    int n = 0;
    for (int32_t i = 0; i < p->n_instrs; i++) n += is_pack(&p->instr[i]);
    return n;
}

/* Below, only some convolutions have kernels that pack. */
static bool has_amx(void) { return pod_cpu_features() & POD_CPU_AMX_BF16; }

static bool can_pack(const char *test)
{
    if (pod_cpu_features() & POD_CPU_AVX2) return true;
    pod_test_skip(test, "this CPU lacks avx2");
    return false;
}

/* Convolutions and products with a weight read it packed, and nothing casts weights any more. */
static void packs_what_kernels_take(void)
{
    pod_test_plan plan = in_bf16;
    plan.cpu = pod_cpu_features();
    if (!can_pack("packs_what_kernels_take")) return;
    const pod_program *p = pod_test_program(&plan);
    for (int32_t i = 0; p && i < p->n_instrs; i++) {
        const pod_instr *in = &p->instr[i];
        const bool has_filter = strncmp(in->op, "conv2d", 6) == 0 && !is_pack(in) &&
                                strncmp(in->op, "conv2d_dw", 9) != 0;
        POD_CHECK(!has_amx() || !has_filter || is_made_by_pack(p, in->in[1]),
                  "%s '%s' takes a plain filter", in->op, in->label);
        POD_CHECK(!has_amx() || !is_op(in, "cast") || p->slot[in->in[0]].space != POD_SPACE_STORE,
                  "the weight of '%s' is cast", in->label);
    }
    CU_ASSERT(p && n_packs(p) > (has_amx() ? 5 : 3));
}

static void packs_nothing_for_others(void)
{
    pod_test_plan plan = in_bf16;
    plan.cpu = POD_CPU_REFERENCE_ONLY;
    const pod_program *p = pod_test_program(&plan);
    CU_ASSERT(p && n_packs(p) == 0);
}

/* Before the micro-steps, not in each of them. */
static void packs_once_a_step(void)
{
    pod_test_plan plan = in_bf16;
    plan.cpu = pod_cpu_features();
    plan.accumulate = 3;
    if (!can_pack("packs_once_a_step")) return;
    const pod_program *p = pod_test_program(&plan);
    CU_ASSERT(p && n_packs(p) > (has_amx() ? 5 : 3));
    for (int32_t i = 0; p && i < p->n_instrs; i++)
        POD_CHECK(!is_pack(&p->instr[i]) || i < p->repeat.first, "'%s' is packed in a micro-step",
                  p->instr[i].label);
}

/* Against the reference, which packs nothing: as far apart as bfloat16 allows. */
static void trains_alike(void)
{
    static const char *const meshes[] = {"1x1", "2x2"};
    for (size_t m = 0; m < sizeof meshes / sizeof meshes[0]; m++) {
        const uint32_t cpu[] = {pod_cpu_features(), POD_CPU_REFERENCE_ONLY};
        double loss[2] = {0};
        if (!can_pack("trains_alike")) return;
        for (int i = 0; i < 2; i++) {
            pod_test_plan plan = in_bf16;
            plan.cpu = cpu[i];
            plan.mesh = meshes[m];
            loss[i] = pod_test_loss_of(&plan, STEPS);
        }
        POD_CHECK(fabs(loss[0] - loss[1]) <= 0.03 * loss[1], "mesh %s: loss %g packed, %g plain",
                  meshes[m], loss[0], loss[1]);
    }
}

POD_TEST_SUITE("pack_weights", {"packs what kernels take", packs_what_kernels_take},
               {"packs nothing for others", packs_nothing_for_others},
               {"packs once a step", packs_once_a_step}, {"trains alike", trains_alike});
