/* A step in micro-steps: the result of the whole batch, on the check executor. */
#include <math.h>

#include "kernels/base/cpu.h"
#include "runtime/data/images/image_samples.h"
#include "runtime/exec/exec.h"
#include "runtime/ops/ops.h"
#include "tests/harness/check.h"
#include "tests/harness/harness.h"
#include "tests/harness/nets.h"

enum { STEPS = 4 };

static const char *const meshes[] = {"1x1", "2x1", "2x2"};
static const int n_micro_steps[] = {2, 3, 6};
static const pod_dtype wires[] = {POD_F32, POD_BF16, POD_BINNED};
enum { N_MESHES = 3, N_COUNTS = 3, N_WIRES = 3 };

static pod_test_plan plan_of(int net, const char *mesh)
{
    return (pod_test_plan){.net = &pod_test_nets[net],
                           .mesh = mesh,
                           .bucket_bytes = 512,
                           .guard_bytes = 64,
                           .cpu = POD_CPU_REFERENCE_ONLY,
                           .optimizer = "sgd"};
}

/* How far apart the two plans end, and the bound that stands for it. */
static void compare(const char *what, const pod_test_plan *one, const pod_test_plan *other,
                    double bound)
{
    static pod_test_job x, y;
    const double want = pod_test_job_run(&x, one, STEPS);
    const double got = pod_test_job_run(&y, other, STEPS);
    const double apart = pod_test_distance(y.store[0], x.store[0]);
    POD_CHECK(apart <= bound, "%s: weights are %g apart, at most %g", what, apart, bound);
    POD_CHECK(fabs(got - want) <= bound * want, "%s: loss %.9g, want %.9g", what, got, want);
    POD_CHECK(x.program->fingerprint != y.program->fingerprint, "%s: one fingerprint", what);
    pod_test_job_end(&x);
    pod_test_job_end(&y);
}

/* Sums of 48 samples in another order, four times: a few roundings of float32. A sum that travels
 * as bf16 may be rounded the other way. */
static void test_whole_batch(void)
{
    static const int nets[] = {POD_TEST_PERCEPTRON, POD_TEST_RESIDUAL};
    static const int64_t buckets[] = {1, 512, 1 << 20};
    for (int m = 0; m < N_MESHES; m++)
        for (int k = 0; k < N_COUNTS; k++)
            for (int w = 0; w < N_WIRES; w++)
                for (int sharded = 0; sharded < 2; sharded++) {
                    pod_test_plan plan = plan_of(nets[(m + k + w + sharded) % 2], meshes[m]);
                    plan.wire = wires[w];
                    plan.shard_update = sharded;
                    plan.bucket_bytes = buckets[(k + w) % 3];
                    plan.fusion = (m + k) % 2 == 1;
                    plan.tile_bytes = (k + w) % 2 ? 4096 : 0;
                    pod_test_plan parts = plan;
                    parts.accumulate = n_micro_steps[k];
                    char what[128];
                    snprintf(what, sizeof what, "%s on %s, %d micro-steps, %s%s", plan.net->name,
                             plan.mesh, parts.accumulate, pod_dtype_name(plan.wire),
                             sharded ? ", dealt out" : "");
                    compare(what, &plan, &parts, plan.wire == POD_BF16 ? 1e-3 : 2e-6);
                }
}

/* Batch norm's groups are as many, and the same, as on a mesh of as many times the cores. */
static void test_batch_norm(void)
{
    static const struct {
        const char *mesh;
        int n_micro_steps;
        const char *wide;
    } cases[] = {{"1x1", 2, "2x1"}, {"1x1", 4, "2x2"}, {"2x1", 3, "6"}, {"2x2", 2, "4x2"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pod_test_plan parts = plan_of(POD_TEST_BN_RESIDUAL, cases[i].mesh);
        const pod_test_plan wide = plan_of(POD_TEST_BN_RESIDUAL, cases[i].wide);
        parts.accumulate = cases[i].n_micro_steps;
        parts.fusion = i % 2 == 1;
        parts.tile_bytes = i / 2 ? 4096 : 0;
        char what[64];
        snprintf(what, sizeof what, "%s x %d beside %s", cases[i].mesh, parts.accumulate,
                 cases[i].wide);
        compare(what, &wide, &parts, 5e-5);
    }
}

/* bf16 activations and this CPU's kernels: what each micro-step makes is rounded as before. */
static void test_bf16(void)
{
    pod_test_plan plan = plan_of(POD_TEST_RESIDUAL, "2x1");
    plan.precision = POD_BF16;
    plan.cpu = pod_cpu_features();
    pod_test_plan parts = plan;
    parts.accumulate = 4;
    compare("bf16", &plan, &parts, 0.02);
}

/* ---- the plan ------------------------------------------------------------------------------ */

static bool overlap(const pod_program *p, int32_t x, int32_t y)
{
    const pod_slot *s = &p->slot[x], *t = &p->slot[y];
    const bool own = s->root == x && t->root == y && s->space == t->space &&
                     (s->space == POD_SPACE_STEP || s->space == POD_SPACE_WINDOW);
    return own && s->first <= t->last && t->first <= s->last && s->offset < t->offset + t->bytes &&
           t->offset < s->offset + s->bytes;
}

static void check_stretches(const pod_program *p)
{
    int n_zeros = 0, n_added = 0;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const pod_instr *in = &p->instr[i];
        const bool inside = i >= p->repeat.first && i < p->repeat.end;
        const bool adds = strcmp(in->op, "accumulate") == 0;
        n_zeros += strcmp(in->op, "zeros") == 0;
        n_added += adds;
        POD_CHECK(!inside || in->kind == POD_I_RUN, "instruction %d runs more than once", (int)i);
        if (adds) POD_CHECK(inside && in->in[0] == in->out[0], "%s: a sum moves", in->label);
        if (strcmp(in->op, "zeros") == 0 || strcmp(in->op, "cast") == 0)
            POD_CHECK(i < p->repeat.first || p->slot[in->in[0]].space != POD_SPACE_STORE,
                      "%s %s is repeated", in->op, in->label);
    }
    POD_CHECK(n_zeros == n_added && n_zeros > 2, "%d zeros, %d sums", n_zeros, n_added);
}

static void test_plan(void)
{
    pod_test_plan plan = plan_of(POD_TEST_BN_RESIDUAL, "2x1");
    plan.precision = POD_BF16;
    plan.guard_bytes = 0;
    const pod_program *whole = pod_test_program(&plan);
    plan.accumulate = 6;
    const pod_program *p = pod_test_program(&plan);
    CU_ASSERT(whole->repeat.count == 1 && pod_program_n_turns(whole) == whole->n_instrs);
    CU_ASSERT_EQUAL(p->repeat.count, 6);
    CU_ASSERT(p->repeat.first > 0 && p->repeat.end < p->n_instrs);
    CU_ASSERT(p->model_flops == whole->model_flops && p->reduce_bytes == whole->reduce_bytes);
    POD_CHECK(p->step_bytes < whole->step_bytes, "%zu bytes, %zu in one go", p->step_bytes,
              whole->step_bytes);
    check_stretches(p);
    for (int32_t x = 0; x < p->n_slots; x++)
        for (int32_t y = x + 1; y < p->n_slots; y++)
            POD_CHECK(!overlap(p, x, y), "slots %d and %d share memory", (int)x, (int)y);
    for (int i = 0; i < p->n_inputs; i++) {
        const pod_slot *s = &p->slot[p->input[i].value.id];
        CU_ASSERT_EQUAL(s->advance, i <= POD_FIELD_LABELS ? s->bytes : 0);
    }
}

/* Turns: what comes before, the micro-steps, what comes after. */
static void test_turns(void)
{
    const pod_program p = {.n_instrs = 6, .repeat = {.first = 1, .end = 3, .count = 3}};
    static const pod_turn want[] = {{0, 0}, {1, 0}, {2, 0}, {1, 1}, {2, 1},
                                    {1, 2}, {2, 2}, {3, 2}, {4, 2}, {5, 2}};
    CU_ASSERT_EQUAL(pod_program_n_turns(&p), 10);
    for (int n = 0; n < 10; n++) {
        const pod_turn got = pod_program_turn(&p, n);
        POD_CHECK(got.instr == want[n].instr && got.micro_step == want[n].micro_step,
                  "turn %d: instruction %d of micro-step %d", n, (int)got.instr,
                  (int)got.micro_step);
    }
}

/* ---- planted faults ------------------------------------------------------------------------ */

/* The slot of what is made before the micro-steps taken by what they make: seen when the next one
 * reads it. And a micro-step too few, whose samples nobody has seen. */
static void test_planted(void)
{
    static pod_test_job j;
    pod_arena *a = pod_test_arena();
    double outputs[2], fewer[2];
    pod_test_plan plan = plan_of(POD_TEST_RESIDUAL, "2x1");
    plan.precision = POD_BF16;
    plan.guard_bytes = 0;
    plan.accumulate = 3;
    const pod_program *p = pod_test_program(&plan);
    pod_test_job_start(&j, p);
    int n_planted = 0, n_found = 0;
    for (int32_t s = 0; s < p->n_slots; s++) {
        const pod_slot *kept = &p->slot[s];
        if (kept->space != POD_SPACE_STEP || kept->root != s || kept->first >= p->repeat.first ||
            kept->last < p->repeat.first)
            continue;
        const int32_t last = p->repeat.end - 1, out = p->instr[last].out[0];
        pod_slot *slots = pod_arena_copy(a, p->slot, 16, sizeof *slots * (size_t)p->n_slots);
        if (!slots) continue;
        slots[out].space = POD_SPACE_STEP;
        slots[out].root = out;
        slots[out].offset = kept->offset;
        pod_program bad = *p;
        bad.slot = slots;
        bad.step_bytes += p->step_bytes;
        n_planted++;
        n_found += pod_check_step(&bad, j.store, j.feed, outputs) != POD_OK;
    }
    POD_CHECK(n_planted > 2 && n_found == n_planted, "%d of %d were found", n_found, n_planted);
    pod_program less = *p;
    less.repeat.count = 2;
    POD_CHECK_OK(pod_check_step(&less, j.store, j.feed, fewer));
    POD_CHECK_OK(pod_check_step(p, j.store, j.feed, outputs));
    POD_CHECK(fewer[POD_NET_LOSS] < 0.8 * outputs[POD_NET_LOSS], "loss %g of two thirds, %g",
              fewer[POD_NET_LOSS], outputs[POD_NET_LOSS]);
    pod_test_job_end(&j);
}

/* ---- refusals ------------------------------------------------------------------------------ */

/* x less its sum over the batch: the sum is wanted before the last sample was seen. */
static pod_status compile_sum_in_forward(pod_arena *a)
{
    const pod_target target = {.name = "test", .cpu = POD_CPU_REFERENCE_ONLY};
    pod_graph *g;
    pod_coll_rules *rules;
    const pod_program *p;
    pod_compile_args args = {.target = &target, .bucket_bytes = 1, .accumulate = 2};
    POD_TRY(pod_mesh_parse("1x1", &args.mesh));
    POD_TRY(pod_coll_rules_parse(a, "tree", &rules));
    args.rules = rules;
    POD_TRY(pod_graph_create(a, &g));
    pod_value x = pod_input(g, "x", pod_type_of(POD_F32, 2, (int64_t[]){8, 3}), 0);
    pod_value sum = pod_op_add1(g, pod_op_find("col_sum"), NULL, 0, &x, 1);
    pod_scope_begin(g, "shifted");
    pod_output(g, "loss", pod_sum_sq(g, pod_bias_add(g, x, sum)));
    pod_scope_end(g);
    POD_TRY(pod_graph_finish(g));
    return pod_compile(g, 8, &args, a, &p);
}

static void test_refusals(void)
{
    pod_arena *a = pod_test_arena();
    const pod_program *p;
    pod_test_plan plan = plan_of(POD_TEST_PERCEPTRON, "2x2");
    plan.accumulate = 5;
    POD_CHECK_FAILS(pod_test_compile(a, &plan, &p), POD_E_INVALID,
                    "batch: 48 is not divisible by the 4 cores of the mesh times 5 micro-steps");
    POD_CHECK_FAILS(compile_sum_in_forward(a), POD_E_UNSUPPORTED,
                    "accumulate: bias_add 'shifted' needs a sum over the whole batch before");
}

POD_TEST_SUITE("accumulate", {"the result of the whole batch", test_whole_batch},
               {"batch norm as on more cores", test_batch_norm}, {"in bf16", test_bf16},
               {"the plan", test_plan}, {"turns", test_turns},
               {"planted faults are found", test_planted}, {"refusals", test_refusals});
