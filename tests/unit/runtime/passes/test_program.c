/* Graph -> program -> the check executor, which plays all ranks and proves the memory plan. */
#include <math.h>

#include "collectives/algo/rules.h"
#include "kernels/base/cpu.h"
#include "runtime/exec/exec.h"
#include "runtime/ops/ops.h"
#include "runtime/passes/passes.h"
#include "tests/harness/check.h"
#include "tests/harness/harness.h"
#include "tests/harness/nets.h"

enum { STEPS = 4 };

static const char *const meshes[] = {"1x1", "1x2", "2x2", "3x1", "4x2", "2x2x3", "6"};

static const pod_test_plan residual = {.net = &pod_test_nets[POD_TEST_BN_RESIDUAL],
                                       .mesh = "2x2",
                                       .bucket_bytes = 512,
                                       .guard_bytes = 64,
                                       .cpu = POD_CPU_REFERENCE_ONLY};

/* Same path whatever the mesh, but for rounding; batch norm's statistics are a core's own. */
static void test_meshes(void)
{
    for (size_t n = 0; n < POD_TEST_N_NETS; n++) {
        pod_test_plan plan = residual;
        plan.net = &pod_test_nets[n];
        plan.mesh = "1x1";
        plan.bucket_bytes = 1 << 20;
        const double alone = pod_test_loss_of(&plan, STEPS);
        for (size_t m = 0; m < sizeof meshes / sizeof meshes[0]; m++)
            for (int64_t bucket = 1; bucket <= 1 << 20; bucket <<= 10) {
                plan.mesh = meshes[m];
                plan.bucket_bytes = bucket;
                const double loss = pod_test_loss_of(&plan, STEPS);
                const double bound = plan.net->with_bn ? 1.0 : 1e-5;
                POD_CHECK(fabs(loss - alone) <= bound * alone, "%s on %s: loss %.9g, alone %.9g",
                          plan.net->name, meshes[m], loss, alone);
            }
    }
}

/* Guards move slots and must not move results; this CPU's kernels agree with the reference. */
static void test_targets(void)
{
    for (size_t n = 0; n < POD_TEST_N_NETS; n++) {
        pod_test_plan plan = residual;
        plan.net = &pod_test_nets[n];
        plan.bucket_bytes = 4096;
        const double ref = pod_test_loss_of(&plan, STEPS);
        plan.guard_bytes = 0;
        const double same = pod_test_loss_of(&plan, STEPS);
        plan.guard_bytes = 64;
        plan.cpu = pod_cpu_features();
        const double fast = pod_test_loss_of(&plan, STEPS);
        plan.precision = POD_BF16;
        const double bf16 = pod_test_loss_of(&plan, STEPS);
        POD_CHECK(same == ref, "%s: %.9g without guards, %.9g with", pod_test_nets[n].name, same,
                  ref);
        POD_CHECK(fabs(fast - ref) < 1e-4 * ref, "%s: %.9g fast, %.9g reference",
                  pod_test_nets[n].name, fast, ref);
        POD_CHECK(fabs(bf16 - ref) < 0.1 * ref, "%s: %.9g in bf16, %.9g in f32",
                  pod_test_nets[n].name, bf16, ref);
    }
}

static const pod_test_plan two_cores = {.net = &pod_test_nets[POD_TEST_RESIDUAL],
                                        .mesh = "2x1",
                                        .bucket_bytes = 1 << 20,
                                        .cpu = POD_CPU_REFERENCE_ONLY};

/* A plan in which two live slots overlap must not pass. */
static void test_planted_overlap(void)
{
    pod_arena *a = pod_test_arena();
    const pod_program *p = pod_test_program(&two_cores);
    static pod_test_job j;
    double outputs[2];
    pod_test_job_start(&j, p);
    int n_found = 0, n_planted = 0;
    for (int32_t s = 0; s < p->n_slots; s++) {
        const pod_slot *slot = &p->slot[s];
        if (slot->space != POD_SPACE_STEP || slot->root != s || slot->first == slot->last) continue;
        /* Another slot alive at the same time, moved onto this one. */
        for (int32_t o = s + 1; o < p->n_slots; o++) {
            const pod_slot *other = &p->slot[o];
            bool is_alone = other->space == POD_SPACE_STEP && other->root == o;
            for (int32_t k = 0; k < p->n_slots; k++)
                if (k != o && p->slot[k].root == o) is_alone = false;
            if (!is_alone || other->first <= slot->first || other->first >= slot->last) continue;
            pod_program bad = *p;
            pod_slot *slots = pod_arena_copy(a, p->slot, 16, sizeof *slot * (size_t)p->n_slots);
            if (!slots) continue;
            slots[o].offset = slot->offset;
            bad.slot = slots;
            bad.step_bytes += p->step_bytes;
            pod_status status = pod_check_step(&bad, j.store, j.feed, outputs);
            n_planted++;
            n_found += status == POD_E_MISMATCH || status == POD_E_NUMERIC;
            break;
        }
    }
    POD_CHECK(n_planted >= 10 && n_found == n_planted, "%d of %d planted overlaps were found",
              n_found, n_planted);
    pod_test_job_end(&j);
}

/* Of the program with the two instructions exchanged. */
static bool finds_exchange(pod_arena *a, const pod_program *p, pod_test_job *j, int32_t x,
                           int32_t y)
{
    double outputs[2];
    pod_program bad = *p;
    pod_instr *instr = pod_arena_copy(a, p->instr, 16, sizeof *instr * (size_t)p->n_instrs);
    if (!instr) return false;
    const pod_instr kept = instr[x];
    instr[x] = instr[y];
    instr[y] = kept;
    bad.instr = instr;
    return pod_check_step(&bad, j->store, j->feed, outputs) == POD_E_MISMATCH;
}

/* A collective that starts before its last part is there, or is waited for after its sum is read; a
 * write into its buffer while it is in flight. */
static void test_planted_in_flight(void)
{
    pod_arena *a = pod_test_arena();
    const pod_program *p = pod_test_program(&two_cores);
    static pod_test_job j;
    double outputs[2];
    pod_test_job_start(&j, p);
    int n_writes = 0;
    int32_t in_flight = -1;
    for (int32_t i = 1; i + 1 < p->n_instrs; i++) {
        const pod_instr *instr = &p->instr[i];
        if (instr->kind == POD_I_COLL_START) {
            POD_CHECK(finds_exchange(a, p, &j, i - 1, i), "start %d, one too early", (int)i);
            in_flight = instr->in[0];
        } else if (instr->kind == POD_I_COLL_WAIT) {
            if (p->instr[i + 1].kind != POD_I_COLL_WAIT)
                POD_CHECK(finds_exchange(a, p, &j, i, i + 1), "wait %d, one too late", (int)i);
            in_flight = -1;
        } else if (in_flight >= 0 && instr->kind == POD_I_RUN) {
            const int32_t out = instr->out[0];
            pod_slot *slots = pod_arena_copy(a, p->slot, 16, sizeof *slots * (size_t)p->n_slots);
            if (!slots || slots[out].bytes > slots[in_flight].bytes) continue;
            slots[out].space = POD_SPACE_WINDOW;
            slots[out].root = out;
            slots[out].offset = slots[in_flight].offset;
            pod_program bad = *p;
            bad.slot = slots;
            POD_CHECK(pod_check_step(&bad, j.store, j.feed, outputs) == POD_E_MISMATCH,
                      "instruction %d writes into a buffer in flight", (int)i);
            n_writes++;
        }
    }
    POD_CHECK(n_writes > 0, "nothing runs while a collective is in flight");
    pod_test_job_end(&j);
}

static void test_plan(void)
{
    pod_test_plan plan = residual;
    plan.guard_bytes = 0;
    plan.cpu = pod_cpu_features();
    const pod_program *p = pod_test_program(&plan);
    POD_CHECK(p->fingerprint == pod_test_program(&plan)->fingerprint,
              "one graph, two fingerprints");
    plan.bucket_bytes = 1024;
    POD_CHECK(p->fingerprint != pod_test_program(&plan)->fingerprint,
              "other buckets, same fingerprint");
    for (int32_t x = 0; x < p->n_slots; x++)
        for (int32_t y = x + 1; y < p->n_slots; y++) {
            const pod_slot *s = &p->slot[x], *t = &p->slot[y];
            bool own = s->root == x && t->root == y && s->space == t->space &&
                       (s->space == POD_SPACE_STEP || s->space == POD_SPACE_WINDOW);
            bool together = own && s->first <= t->last && t->first <= s->last;
            bool overlap = s->offset < t->offset + t->bytes && t->offset < s->offset + s->bytes;
            POD_CHECK(!(together && overlap), "slots %d and %d share memory", (int)x, (int)y);
        }
    int n_starts = 0;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        if (p->instr[i].kind != POD_I_COLL_START) continue;
        n_starts++;
        int32_t wait = i;
        while (wait < p->n_instrs && !(p->instr[wait].kind == POD_I_COLL_WAIT &&
                                       p->instr[wait].ticket == p->instr[i].ticket))
            wait++;
        POD_CHECK(wait < p->n_instrs, "collective %d is never waited for", (int)p->instr[i].ticket);
    }
    POD_CHECK(n_starts == p->n_colls && n_starts > 2, "%d starts of %d collectives", n_starts,
              (int)p->n_colls);
}

/* The update waits for collectives in the order in which they start, moving averages' among them: what
 * came first is worked on while the last are on their way. */
static void test_order_of_waits(void)
{
    pod_test_plan plan = residual;
    plan.cpu = pod_cpu_features();
    const pod_program *p = pod_test_program(&plan);
    int32_t started[64], n_started = 0, n_waited = 0;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const pod_instr *in = &p->instr[i];
        if (in->kind == POD_I_COLL_START && n_started < 64) started[n_started++] = in->ticket;
        if (in->kind != POD_I_COLL_WAIT) continue;
        POD_CHECK(n_waited < n_started && started[n_waited] == in->ticket,
                  "wait %d is for collective %d", (int)n_waited, (int)in->ticket);
        n_waited++;
    }
    CU_ASSERT_TRUE(n_waited > 4 && n_waited == n_started);
}

/* ---- variants of a plan -------------------------------------------------------------------- */

typedef struct trained {
    const pod_program *program;
    uint64_t weights;
    double loss;
} trained;

static trained train_plan(const pod_test_plan *plan)
{
    static pod_test_job j;
    const double loss = pod_test_job_run(&j, plan, STEPS);
    const trained t = {j.program, pod_store_hash(j.store[0]), loss};
    pod_test_job_end(&j);
    return t;
}

/* Collectives that are waited for at once leave the same weights, and another fingerprint. */
static void test_wait_at_once(void)
{
    pod_test_plan plan = residual;
    const trained beside = train_plan(&plan);
    plan.wait_at_once = true;
    const trained apart = train_plan(&plan);
    const pod_program *on = beside.program, *off = apart.program;
    CU_ASSERT_EQUAL(beside.weights, apart.weights);
    CU_ASSERT_NOT_EQUAL(on->fingerprint, off->fingerprint);
    CU_ASSERT_EQUAL(on->n_instrs, off->n_instrs);
    int n_apart = 0;
    for (int32_t i = 0; i + 1 < off->n_instrs; i++) {
        if (off->instr[i].kind == POD_I_COLL_START)
            POD_CHECK(off->instr[i + 1].kind == POD_I_COLL_WAIT &&
                          off->instr[i + 1].ticket == off->instr[i].ticket,
                      "instruction %d is not waited for at once", (int)i);
        n_apart += on->instr[i].kind == POD_I_COLL_START && on->instr[i + 1].kind == POD_I_RUN;
    }
    POD_CHECK(n_apart > 2, "%d collectives run beside instructions", n_apart);
}

/* Ranks of a node are part of what a program is made for. */
static void test_node_size(void)
{
    pod_test_plan plan = residual;
    const pod_program *p = pod_test_program(&plan);
    plan.node_size = 4;
    const pod_program *q = pod_test_program(&plan);
    CU_ASSERT_NOT_EQUAL(p->fingerprint, q->fingerprint);
    for (int32_t i = 0; i < q->n_colls; i++) CU_ASSERT_EQUAL(q->coll[i].args.node_size, 4);
}

/* A program whose arrays can be changed. */
typedef struct copied {
    pod_program program;
    pod_instr *instr;
    int32_t *in; /* of the instruction `two`, its outputs behind them */
    int two;
    pod_program_coll *coll;
    pod_program_variable *variable;
    pod_named *input;
    const char **output;
} copied;

static void other_group(copied *c) { c->coll[0].args.group.dims ^= 1; }
static void other_step(copied *c) { c->coll[0].args.group.step[1] ^= 2; }
static void other_tile(copied *c) { c->coll[0].args.group.tile[0] ^= 2; }
static void other_root(copied *c) { c->coll[0].args.root ^= 1; }
static void other_role(copied *c) { c->variable[0].role ^= 1; }
static void other_init(copied *c) { c->variable[0].init.kind ^= 1; }
static void other_scale(copied *c) { c->variable[0].init.scale += 1; }
static void other_input(copied *c) { c->input[0].name = "another"; }
static void other_output(copied *c) { c->output[0] = "another"; }
static void last_input_is_an_output(copied *c)
{
    pod_instr *in = &c->instr[c->two];
    in->out = c->in + --in->n_in;
    in->n_out++;
}

static void copy_program(pod_arena *a, const pod_program *p, copied *c)
{
    *c = (copied){.program = *p};
#define COPY(field, n) \
    c->program.field = c->field = pod_arena_copy(a, p->field, 16, sizeof *c->field * (size_t)(n))
    COPY(instr, p->n_instrs);
    COPY(coll, p->n_colls);
    COPY(variable, p->n_variables);
    COPY(input, p->n_inputs);
    COPY(output, p->n_outputs);
#undef COPY
    while (c->instr[c->two].n_in < 2) c->two++;
    pod_instr *in = &c->instr[c->two];
    c->in = POD_ARENA_NEW(a, int32_t, in->n_in + in->n_out);
    memcpy(c->in, in->in, sizeof *c->in * (size_t)in->n_in);
    memcpy(c->in + in->n_in, in->out, sizeof *c->in * (size_t)in->n_out);
    in->in = c->in;
    in->out = c->in + in->n_in;
}

/* Whatever ranks may differ in, their fingerprints do. */
static void test_fingerprint(void)
{
    static const struct {
        const char *what;
        void (*change)(copied *c);
    } rows[] = {{"group", other_group},
                {"step of the group", other_step},
                {"tile of the group", other_tile},
                {"root", other_root},
                {"role", other_role},
                {"initial values", other_init},
                {"their scale", other_scale},
                {"input", other_input},
                {"output", other_output},
                {"an input that is an output", last_input_is_an_output}};
    pod_arena *a = pod_test_arena();
    const pod_program *p = pod_test_program(&residual);
    copied c;
    copy_program(a, p, &c);
    CU_ASSERT_EQUAL(pod_program_fingerprint(&c.program), p->fingerprint);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        copy_program(a, p, &c);
        rows[i].change(&c);
        POD_CHECK(pod_program_fingerprint(&c.program) != p->fingerprint,
                  "another %s, same fingerprint", rows[i].what);
    }
}

/* Gradients travel as bf16, each converted once before and once behind; what the host reads and
 * moving statistics as they are. Half the bytes of the gradients, and other weights by a little. */
static void test_wire_bf16(void)
{
    pod_test_plan plan = residual;
    const trained f32 = train_plan(&plan);
    plan.wire = POD_BF16;
    const trained bf16 = train_plan(&plan);
    const pod_program *p = f32.program, *q = bf16.program;
    CU_ASSERT_NOT_EQUAL(p->fingerprint, q->fingerprint);
    CU_ASSERT_NOT_EQUAL(f32.weights, bf16.weights);
    POD_CHECK(fabs(bf16.loss - f32.loss) < 0.01 * f32.loss, "loss %.9g, %.9g in float32", bf16.loss,
              f32.loss);
    const int n_weights = pod_test_n_instrs(p, "momentum");
    CU_ASSERT_EQUAL(pod_test_n_instrs(p, "to_wire"), 0);
    CU_ASSERT_EQUAL(pod_test_n_instrs(q, "to_wire"), n_weights);
    CU_ASSERT_EQUAL(pod_test_n_instrs(q, "from_wire"), n_weights);
    for (int32_t i = 0; i < q->n_instrs; i++) {
        const pod_instr *in = &q->instr[i];
        if (strcmp(in->op, "momentum") == 0)
            POD_CHECK(q->slot[in->in[2]].space == POD_SPACE_STEP, "%s reads a bucket", in->label);
        if (in->kind == POD_I_FETCH) CU_ASSERT_EQUAL(q->slot[in->in[0]].type.dtype, POD_F32);
    }
    bool has_f32 = false, has_bf16 = false;
    for (int32_t i = 0; i < q->n_colls; i++) {
        CU_ASSERT_EQUAL(q->coll[i].args.dtype, q->slot[q->coll[i].slot].type.dtype);
        has_f32 = has_f32 || q->coll[i].args.dtype == POD_F32;
        has_bf16 = has_bf16 || q->coll[i].args.dtype == POD_BF16;
    }
    CU_ASSERT(has_f32 && has_bf16);
    CU_ASSERT(q->reduce_bytes < p->reduce_bytes);
}

/* ---- updates on parts of the weights -------------------------------------------------------- */

/* What all cores together keep of every state is the whole of it. */
static void check_states(const char *what, const pod_test_job *j)
{
    const pod_program *p = j->program;
    for (int i = 0; i < pod_store_n(j->store[0]); i++) {
        const pod_program_variable *v = pod_store_variable(j->store[0], i);
        int64_t kept = 0;
        for (int r = 0; r < j->n_ranks; r++) kept += pod_store_count(j->store[r], i);
        const int64_t count = pod_shape_count(&v->type.shape);
        const int64_t want = v->role == POD_ROLE_STATE ? count : count * j->n_ranks;
        POD_CHECK(kept == want, "%s: %d elements of '%s' are kept, want %d", what, (int)kept,
                  v->name, (int)want);
    }
    POD_CHECK(p->state_bytes < p->whole_state_bytes || j->n_ranks == 1, "%s: %zu of %zu bytes",
              what, p->state_bytes, p->whole_state_bytes);
}

/* Each core updates its part: the weights are those of the whole update. Sums between two ranks and
 * exact ones have the same bits in any order, and so have the weights; but for norms, which are
 * rounded once more a core where they are not exact. */
static void test_shard_update(void)
{
    static const struct {
        const char *optimizer;
        bool has_norms;
    } rules[] = {
        {"sgd", false}, {"lars", true}, {"lars-mlperf", true}, {"lamb", true}, {"adamw", false}};
    static const int64_t buckets[] = {1, 512, 1 << 20};
    static const pod_dtype wires[] = {POD_F32, POD_BF16, POD_BINNED};
    static pod_test_job whole, parts;
    for (size_t m = 0; m < sizeof meshes / sizeof meshes[0]; m++)
        for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
            const size_t turn = m + r;
            pod_test_plan plan = residual;
            plan.net = &pod_test_nets[turn % POD_TEST_N_NETS];
            plan.mesh = meshes[m];
            plan.optimizer = rules[r].optimizer;
            plan.bucket_bytes = buckets[turn % 3];
            plan.wire = wires[turn / 3 % 3];
            (void)pod_test_job_run(&whole, &plan, STEPS);
            plan.shard_update = true;
            (void)pod_test_job_run(&parts, &plan, STEPS);
            char what[96];
            snprintf(what, sizeof what, "%s on %s, %s, %s", rules[r].optimizer, meshes[m],
                     plan.net->name, pod_dtype_name(plan.wire));
            const bool same_sums = whole.n_ranks <= 2 || plan.wire == POD_BINNED;
            const bool same_norms = !rules[r].has_norms || plan.wire == POD_BINNED;
            const double bound =
                same_sums ? (same_norms ? 0 : 1e-5) : (plan.wire == POD_BF16 ? 0.2 : 2e-4);
            const double apart = pod_test_distance(parts.store[0], whole.store[0]);
            POD_CHECK(apart <= bound, "%s: weights are %g apart, at most %g", what, apart, bound);
            check_states(what, &parts);
            POD_CHECK((whole.program->fingerprint == parts.program->fingerprint) ==
                          (whole.n_ranks == 1),
                      "%s: fingerprints", what);
            pod_test_job_end(&whole);
            pod_test_job_end(&parts);
        }
}

/* ---- sums that do not depend on their order -------------------------------------------------- */

static const struct {
    const char *mesh, *rules;
    int64_t bucket_bytes;
} of_four[] = {
    {"4x1", "ring", 1 << 20},   {"2x2", "torus2d", 512},          {"1x4", "tree", 1},
    {"2x2", "direct", 1 << 20}, {"4", "recursive_doubling", 700}, {"2x2", "swing", 4096}};
enum { N_OF_FOUR = sizeof of_four / sizeof of_four[0] };

/* Four ranks: whatever the algorithm, the buckets, the shape of the mesh and who updates what, the
 * same weights; with float32 not. */
static void test_wire_exact(void)
{
    static const char *const rules[] = {"lars", "lars-mlperf", "lamb", "adamw"};
    for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++)
        for (int wire = 0; wire < 2; wire++) {
            const int n_runs = (wire + 1) * N_OF_FOUR; /* exact: then once more, on parts */
            pod_test_plan plan = residual;
            int n_alike = 0;
            uint64_t first = 0;
            plan.optimizer = rules[r];
            plan.wire = wire ? POD_BINNED : POD_F32;
            plan.node_size = 4;
            for (int i = 0; i < n_runs; i++) {
                plan.mesh = of_four[i % N_OF_FOUR].mesh;
                plan.rules = of_four[i % N_OF_FOUR].rules;
                plan.bucket_bytes = of_four[i % N_OF_FOUR].bucket_bytes;
                plan.shard_update = i >= N_OF_FOUR;
                const trained t = train_plan(&plan);
                if (i == 0) first = t.weights;
                n_alike += t.weights == first;
            }
            POD_CHECK((n_alike == n_runs) == (wire == 1), "%s, %s: %d of %d alike", rules[r],
                      pod_dtype_name(plan.wire), n_alike, n_runs);
        }
}

/* Whatever is summed is binned, the loss and moving statistics too. */
static void test_exact_program(void)
{
    pod_test_plan plan = residual;
    plan.wire = POD_BINNED;
    plan.shard_update = true;
    const pod_program *p = pod_test_program(&plan);
    for (int32_t i = 0; i < p->n_colls; i++)
        POD_CHECK((p->coll[i].args.dtype == POD_BINNED) == (p->coll[i].args.coll != POD_ALLGATHER),
                  "collective %d is of %s", (int)i, pod_dtype_name(p->coll[i].args.dtype));
    for (int32_t i = 0; i < p->n_instrs; i++)
        if (p->instr[i].kind == POD_I_FETCH)
            CU_ASSERT_EQUAL(p->slot[p->instr[i].in[0]].type.dtype, POD_F32);
}

static void test_refusals(void)
{
    const pod_program *p;
    pod_test_plan plan = residual;
    plan.mesh = "5x1";
    POD_CHECK_FAILS(pod_test_compile(pod_test_arena(), &plan, &p), POD_E_INVALID,
                    "batch: 48 is not divisible by the 5 cores");
}

/* Nothing runs behind a view that is an output: its memory is that of what it shows. */
static void test_view_at_the_end(void)
{
    const pod_target target = {.name = "test", .cpu = POD_CPU_REFERENCE_ONLY};
    pod_compile_args args = {.target = &target};
    pod_arena *a = pod_test_arena();
    pod_coll_rules *rules;
    pod_graph *g;
    const pod_program *p;
    POD_NEED_OK(pod_mesh_parse("2x1", &args.mesh));
    POD_NEED_OK(pod_coll_rules_parse(a, "allreduce:0-:ring", &rules));
    args.rules = rules;
    POD_NEED_OK(pod_graph_create(a, &g));
    pod_value x = pod_input(g, "x", pod_type_of(POD_F32, 3, (const int64_t[]){4, 2, 3}), 0);
    pod_output(g, "rows", pod_reshape(g, pod_relu(g, x), (pod_shape){2, {4, 6}}));
    POD_NEED_OK(pod_graph_finish(g));
    POD_NEED_OK(pod_compile(g, 4, &args, a, &p));
    const pod_instr *run = &p->instr[p->n_instrs - 2], *fetch = run + 1;
    CU_ASSERT_FATAL(run->kind == POD_I_RUN && fetch->kind == POD_I_FETCH);
    const pod_slot *made = &p->slot[run->out[0]], *seen = &p->slot[fetch->in[0]];
    CU_ASSERT(seen->space == POD_SPACE_STEP && seen->offset == made->offset);
    CU_ASSERT(seen->bytes == made->bytes && seen->type.shape.n_dims == 2);
}

POD_TEST_SUITE("program", {"all meshes follow one path", test_meshes},
               {"a view at the end", test_view_at_the_end}, {"targets and guards", test_targets},
               {"planted overlaps are found", test_planted_overlap},
               {"planted faults of collectives are found", test_planted_in_flight},
               {"the plan", test_plan}, {"order of waits", test_order_of_waits},
               {"waiting at once", test_wait_at_once}, {"the fingerprint", test_fingerprint},
               {"ranks of a node", test_node_size}, {"gradients travel as bf16", test_wire_bf16},
               {"updates on parts of the weights", test_shard_update},
               {"exact sums, one path", test_wire_exact},
               {"exact sums, all of them", test_exact_program}, {"refusals", test_refusals});
