/* The real executor under MPI: the same bits as the check executor, which plays all ranks in one
 * process; the same path whatever the mesh; and what happens when a value is not finite. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "kernels/base/cpu.h"
#include "runtime/exec/exec.h"
#include "tests/harness/check.h"
#include "tests/harness/harness.h"
#include "tests/harness/nets.h"
#include "tests/mpi/ranks.h"

enum { STEPS = 3, LONG_STEPS = 20 };

/* The meshes of this many ranks. */
static const char *const *meshes(void)
{
    static const char *const by_size[9][3] = {
        [1] = {"1x1"}, [2] = {"1x2"}, [3] = {"3x1"}, [4] = {"2x2", "4x1"}, [8] = {"4x2", "2x2x2"},
    };
    return by_size[size];
}

#define HALVES "ring;reduce_scatter:torus2d;allgather:torus2d"
static const char *const rules[] = {
    "flat", "ring", "tree", "torus2d", "direct", "allreduce:0-256:tree;256-:torus2d", HALVES};
static const int64_t buckets[] = {1, 700, 1 << 20};
static const pod_dtype wires[] = {POD_F32, POD_BF16, POD_BINNED};
enum { N_WIRES = sizeof wires / sizeof wires[0] };
enum { N_RULES = sizeof rules / sizeof rules[0], N_BUCKETS = sizeof buckets / sizeof buckets[0] };

static pod_test_plan plan_of(int net, pod_dtype precision, const char *mesh)
{
    return (pod_test_plan){.net = &pod_test_nets[net],
                           .precision = precision,
                           .mesh = mesh,
                           .bucket_bytes = 700,
                           .node_size = pod_comm_node_size(comm),
                           .cpu = pod_cpu_features()};
}

/* As many as a rank's share of the batch divides by. */
static int n_micro_steps(void) { return size == 3 ? 2 : 3; }

static const char *plan_text(const pod_test_plan *p)
{
    return pod_test_text("%s, %s, mesh %s, %s, buckets of %" PRId64 " %s%s%s", p->net->name,
                         pod_dtype_name(p->precision), p->mesh, p->rules ? p->rules : "two rules",
                         p->bucket_bytes, pod_dtype_name(p->wire),
                         p->shard_update ? ", dealt out" : "",
                         p->accumulate > 1 ? ", in micro-steps" : "");
}

/* ---- a program, open on all ranks, and the same program for the check executor ---- */

typedef struct bed {
    const pod_program *program;
    pod_test_job job; /* its stores are the check executor's */
    pod_store *store; /* of the real executor */
    pod_exec *exec;
    pod_clock clock; /* the executor's */
    const char *text;
} bed;

static void feed_own(bed *b)
{
    for (int input = 0; input < b->program->n_inputs; input++)
        pod_exec_feed(b->exec, input, b->job.feed[input * size + rank]);
}

static bool bed_open(bed *b, const pod_test_plan *plan)
{
    *b = (bed){.text = plan_text(plan), .clock = pod_clock_start()};
    bool ok = pod_test_compile(pod_test_arena(), plan, &b->program) == POD_OK &&
              pod_store_create(b->program, rank, 3, &b->store) == POD_OK;
    POD_CHECK(ok, "%s: %s", b->text, pod_error_text());
    if (pod_comm_agree(comm, ok ? POD_OK : POD_E_NOMEM) != POD_OK) return false;
    pod_test_job_start(&b->job, b->program);
    pod_status s = pod_exec_open(b->program, b->store, comm, b->clock, &b->exec);
    POD_CHECK(s == POD_OK, "%s: %s", b->text, pod_error_text());
    if (s == POD_OK) feed_own(b);
    return s == POD_OK;
}

static void bed_close(bed *b)
{
    pod_exec_close(b->exec);
    pod_test_job_end(&b->job);
    pod_store_destroy(b->store);
}

static pod_status real_step(bed *b, int step, float lr)
{
    b->job.lr = lr;
    b->job.step = (float)(step + 1);
    return pod_exec_step(b->exec, NULL);
}

/* One rank is enough to play all of them; the others wait. */
static void check_step(bed *b, int step, float lr, double outputs[2])
{
    b->job.lr = lr;
    b->job.step = (float)(step + 1);
    if (rank == 0) POD_CHECK_OK(pod_check_step(b->program, b->job.store, b->job.feed, outputs));
    pod_comm_broadcast(comm, 0, outputs, 2 * sizeof *outputs);
}

static size_t store_bytes(const pod_store *s, int i)
{
    return (size_t)pod_store_count(s, i) * sizeof(float);
}

/* Each rank holds a part of its own. */
static void compare_parts(bed *b, int i)
{
    for (int r = 0; r < size; r++) {
        pod_store *played = b->job.store[r];
        pod_comm_broadcast(comm, 0, pod_store_data(played, i), store_bytes(played, i));
        if (r != rank) continue;
        const bool same = store_bytes(played, i) == store_bytes(b->store, i) &&
                          memcmp(pod_store_data(played, i), pod_store_data(b->store, i),
                                 store_bytes(played, i)) == 0;
        POD_CHECK(same, "%s: rank %d has other bits in its part of '%s'", b->text, rank,
                  pod_store_variable(b->store, i)->name);
    }
}

/* Every variable of this rank, states included, has the bits of the played ranks. */
static void compare_stores(bed *b)
{
    for (int i = 0; i < pod_store_n(b->store); i++) {
        if (pod_store_variable(b->store, i)->type.shard.per_core) {
            compare_parts(b, i);
            continue;
        }
        const size_t bytes = store_bytes(b->store, i);
        const float *own = pod_store_data(b->store, i);
        float *played = pod_store_data(b->job.store[0], i);
        for (int r = 1; rank == 0 && r < size; r++)
            POD_CHECK(memcmp(played, pod_store_data(b->job.store[r], i), bytes) == 0,
                      "%s: played rank %d has other bits in '%s'", b->text, r,
                      pod_store_variable(b->store, i)->name);
        pod_comm_broadcast(comm, 0, played, bytes);
        POD_CHECK(memcmp(own, played, bytes) == 0, "%s: rank %d has other bits in '%s'", b->text,
                  rank, pod_store_variable(b->store, i)->name);
    }
}

static void run_beside_check(const pod_test_plan *plan)
{
    bed b;
    const bool is_open = bed_open(&b, plan);
    const uint64_t fresh = is_open ? pod_store_hash(b.store) : 0;
    for (int step = 0; is_open && step < STEPS; step++) {
        double played[2] = {0};
        check_step(&b, step, 0.5f, played);
        POD_CHECK_OK(real_step(&b, step, 0.5f));
        for (int i = 0; i < 2; i++) {
            double got = pod_exec_output(b.exec, i);
            POD_CHECK(got == played[i], "%s, step %d: output %d is %.9g, the check executor's %.9g",
                      b.text, step, i, got, played[i]);
        }
        compare_stores(&b);
    }
    POD_CHECK(is_open && pod_store_hash(b.store) != fresh, "%s: the weights stayed", b.text);
    bed_close(&b);
}

/* Every algorithm with every network on every mesh; the rest takes turns. */
static void test_same_bits(void)
{
    int turn = 0;
    for (const char *const *mesh = meshes(); *mesh; mesh++)
        for (int net = 0; net < POD_TEST_N_NETS; net++)
            for (int r = 0; r < N_RULES; r++, turn++) {
                pod_test_plan plan = plan_of(net, turn % 2 ? POD_BF16 : POD_F32, *mesh);
                plan.rules = rules[r];
                plan.bucket_bytes = buckets[turn % N_BUCKETS];
                plan.wire = wires[turn / 2 % N_WIRES];
                plan.shard_update = turn / 3 % 2 == 1 || strcmp(rules[r], HALVES) == 0;
                plan.wait_at_once = turn % 5 == 4;
                plan.accumulate = turn % 4 == 3 ? n_micro_steps() : 1;
                run_beside_check(&plan);
            }
}

/* Batch norm over every group that tiles the mesh, itself held against one core by test_bn_group. */
static void test_bn_groups(void)
{
    int turn = 0;
    for (const char *const *mesh = meshes(); *mesh; mesh++)
        for (int n = 2; n <= size; n++) {
            pod_test_plan plan = plan_of(POD_TEST_BN_RESIDUAL, POD_F32, *mesh);
            pod_mesh m;
            POD_CHECK_OK(pod_mesh_parse(*mesh, &m));
            if (pod_group_tiles(&m, n, &plan.bn_group) != POD_OK) continue;
            plan.precision = turn % 2 ? POD_BF16 : POD_F32;
            plan.wire = wires[turn % N_WIRES];
            plan.shard_update = turn % 3 == 2;
            plan.accumulate = turn % 2 ? n_micro_steps() : 1;
            run_beside_check(&plan);
            turn++;
        }
    POD_CHECK(turn > 0 || size == 1, "no group on %d ranks", size);
}

/* ---- one path whatever the mesh ---- */

/* The loss after LONG_STEPS steps on one core, by the check executor. */
static double loss_alone(const pod_test_plan *plan)
{
    pod_test_plan alone = *plan;
    alone.mesh = "1x1";
    double loss = rank == 0 ? pod_test_loss_of(&alone, LONG_STEPS) : (double)NAN;
    pod_comm_broadcast(comm, 0, &loss, sizeof loss);
    return loss;
}

typedef struct path {
    double first, last; /* losses */
    uint64_t hash;      /* of the weights at the end */
} path;

static path train_real(const pod_test_plan *plan)
{
    bed b;
    path way = {0, 0, 0};
    if (bed_open(&b, plan)) {
        for (int step = 0; step < LONG_STEPS; step++) {
            POD_CHECK_OK(real_step(&b, step, 0.5f));
            if (step == 0) way.first = pod_exec_output(b.exec, POD_NET_LOSS);
        }
        way.last = pod_exec_output(b.exec, POD_NET_LOSS);
        way.hash = pod_store_hash(b.store);
        POD_CHECK_OK(pod_comm_same(comm, "the weights", &way.hash, sizeof way.hash));
    }
    bed_close(&b);
    return way;
}

static void test_one_path(void)
{
    for (int net = 0; net < POD_TEST_N_NETS; net++) {
        if (pod_test_nets[net].with_bn) continue;
        pod_test_plan plan = plan_of(net, POD_F32, "");
        const double alone = loss_alone(&plan);
        for (const char *const *mesh = meshes(); *mesh; mesh++) {
            plan.mesh = *mesh;
            const path way = train_real(&plan);
            POD_CHECK(fabs(way.last - alone) <= 1e-4 * alone, "%s: loss %.9g, on one core %.9g",
                      plan_text(&plan), way.last, alone);
            POD_CHECK(way.last < 0.9 * way.first, "%s: loss %.9g after %.9g: nothing was learned",
                      plan_text(&plan), way.last, way.first);
        }
    }
}

static void test_twice(void)
{
    for (int i = 0; i < 2; i++)
        for (const char *const *mesh = meshes(); *mesh; mesh++) {
            pod_test_plan plan = plan_of(POD_TEST_BN_RESIDUAL, i ? POD_BF16 : POD_F32, *mesh);
            const path one = train_real(&plan), two = train_real(&plan);
            POD_CHECK(one.hash == two.hash && one.last == two.last,
                      "%s: weights %016" PRIx64 " and %016" PRIx64, plan_text(&plan), one.hash,
                      two.hash);
        }
}

/* ---- values that are not finite ---- */

static void keep(pod_store *s, char *bytes)
{
    for (int i = 0; i < pod_store_n(s); bytes += store_bytes(s, i), i++)
        memcpy(bytes, pod_store_data(s, i), store_bytes(s, i));
}

static void put_back(pod_store *s, const char *bytes)
{
    for (int i = 0; i < pod_store_n(s); bytes += store_bytes(s, i), i++)
        memcpy(pod_store_data(s, i), bytes, store_bytes(s, i));
}

static bool is_as_kept(pod_store *s, const char *bytes)
{
    bool same = true;
    for (int i = 0; i < pod_store_n(s); bytes += store_bytes(s, i), i++)
        same = same && memcmp(pod_store_data(s, i), bytes, store_bytes(s, i)) == 0;
    return same;
}

static void copy_store(pod_store *to, pod_store *from)
{
    for (int i = 0; i < pod_store_n(from); i++)
        memcpy(pod_store_data(to, i), pod_store_data(from, i), store_bytes(from, i));
}

/* The place the check executor names, the first instruction and the lowest rank that has it, as
 * find_fault says it. */
static void place_of_fault(bed *b, char *place, size_t bytes)
{
    double outputs[2];
    memset(place, 0, bytes);
    if (rank == 0) {
        for (int r = 0; r < size; r++) copy_store(b->job.store[r], b->store);
        POD_CHECK_FAILS(pod_check_step(b->program, b->job.store, b->job.feed, outputs),
                        POD_E_NUMERIC, "an output is not finite");
        int instr = -1, who = -1;
        const char *at = strstr(pod_error_text(), ", rank ");
        POD_CHECK(sscanf(pod_error_text(), "instruction %d", &instr) == 1 && at &&
                      sscanf(at, ", rank %d", &who) == 1,
                  "cannot read '%s'", pod_error_text());
        if (instr >= 0)
            snprintf(place, bytes, "%s '%s' (instruction %d, forward, kernel %s) on rank %d",
                     b->program->instr[instr].op, b->program->instr[instr].label, instr,
                     b->program->instr[instr].impl, who);
    }
    pod_comm_broadcast(comm, 0, place, bytes);
}

/* The step must fail on all ranks, touch nothing, be explained, and leave the executor usable. */
static void expect_fault(bed *b, const char *where)
{
    char place[256], *kept = malloc(pod_store_bytes(b->store));
    place_of_fault(b, place, sizeof place);
    POD_CHECK(strstr(place, where) != NULL, "%s: the fault is at %s, want %s", b->text, place,
              where);
    keep(b->store, kept);
    for (int again = 0; again < 2; again++) { /* what was in flight did not stay so */
        POD_CHECK_FAILS(real_step(b, STEPS, 0.5f), POD_E_NUMERIC, "loss is ");
        POD_CHECK(is_as_kept(b->store, kept), "%s: the failed step wrote to the store", b->text);
    }
    POD_CHECK_FAILS(pod_exec_find_fault(b->exec, STEPS), POD_E_NUMERIC, "step 3: ");
    POD_CHECK(strstr(pod_error_text(), place) != NULL, "%s: '%s', want %s", b->text,
              pod_error_text(), place);
    uint64_t said = 0;
    for (const char *c = pod_error_text(); *c; c++) said = said * 31 + (unsigned char)*c;
    POD_CHECK_OK(pod_comm_same(comm, "the text", &said, sizeof said));
    POD_CHECK(is_as_kept(b->store, kept), "%s: looking for the fault wrote to the store", b->text);
    free(kept);
}

/* Good data again: the step is that of the check executor. */
static void expect_recovery(bed *b)
{
    double played[2] = {0};
    for (int r = 0; r < size; r++) copy_store(b->job.store[r], b->store);
    check_step(b, STEPS, 0.5f, played);
    POD_CHECK_OK(real_step(b, STEPS, 0.5f));
    POD_CHECK(pod_exec_output(b->exec, POD_NET_LOSS) == played[POD_NET_LOSS],
              "%s: loss %.9g after the fault, the check executor's %.9g", b->text,
              pod_exec_output(b->exec, POD_NET_LOSS), played[POD_NET_LOSS]);
    compare_stores(b);
}

/* A step at a huge rate leaves finite weights whose products overflow on every rank. */
static void test_huge_rate(void)
{
    static const int nets[] = {POD_TEST_PERCEPTRON, POD_TEST_RESIDUAL};
    for (size_t n = 0; n < sizeof nets / sizeof nets[0]; n++)
        for (int i = 0; i < 2; i++) {
            bed b;
            pod_test_plan plan = plan_of(nets[n], i ? POD_BF16 : POD_F32, meshes()[0]);
            if (bed_open(&b, &plan)) {
                POD_CHECK_OK(real_step(&b, 0, 0.5f));
                char *good = malloc(pod_store_bytes(b.store));
                keep(b.store, good);
                POD_CHECK_OK(real_step(&b, 1, 1e30f));
                expect_fault(&b, " on rank 0");
                put_back(b.store, good);
                expect_recovery(&b);
                free(good);
            }
            bed_close(&b);
        }
}

/* The first weight is all zeros but for one that is nearly the largest number. Channel 0 of every
 * image is 102, its mean, which makes a product of about 0; on one rank the last image is white. */
static void plant(bed *b, const char *weight, int64_t index, int who)
{
    const int i = pod_store_find(b->store, weight);
    POD_CHECK(i >= 0, "%s: no '%s'", b->text, weight);
    if (i < 0) return;
    memset(pod_store_data(b->store, i), 0, store_bytes(b->store, i));
    pod_store_data(b->store, i)[index] = 3e38f;
    for (int k = 0; k < POD_TEST_BATCH * POD_TEST_PIXELS; k += POD_TEST_C) b->job.images[k] = 102;
    memset(b->job.images + ((who + 1) * (POD_TEST_BATCH / size) - 1) * POD_TEST_PIXELS, 255,
           POD_TEST_PIXELS);
}

static void overflow_on(int net, int who, int accumulate)
{
    enum { CENTRE = 4 * POD_TEST_C }; /* of the first 3x3 filter */
    bed b;
    const bool is_dense = net == POD_TEST_PERCEPTRON;
    pod_test_plan plan = plan_of(net, POD_F32, meshes()[0]);
    plan.accumulate = accumulate;
    if (bed_open(&b, &plan)) {
        uint8_t image[POD_TEST_BATCH * POD_TEST_PIXELS];
        char *good = malloc(pod_store_bytes(b.store));
        POD_CHECK_OK(real_step(&b, 0, 0.5f));
        keep(b.store, good);
        memcpy(image, b.job.images, sizeof image);
        plant(&b, is_dense ? "fc1/w" : "stem/w", is_dense ? 0 : CENTRE, who);
        expect_fault(&b, pod_test_text(" on rank %d", who));
        put_back(b.store, good);
        memcpy(b.job.images, image, sizeof image);
        expect_recovery(&b);
        free(good);
    }
    bed_close(&b);
}

/* In micro-steps the fault is one of the last; batch norm's squares overflow in all of them. */
static void test_one_rank(void)
{
    for (int net = 0; net < POD_TEST_N_NETS; net++) {
        overflow_on(net, 0, 1);
        overflow_on(net, size - 1, pod_test_nets[net].with_bn ? 1 : n_micro_steps());
    }
}

/* A weight that is not finite is named itself. */
static void test_bad_weight(void)
{
    bed b;
    pod_test_plan plan = plan_of(POD_TEST_PERCEPTRON, POD_F32, meshes()[0]);
    if (bed_open(&b, &plan)) {
        pod_store_data(b.store, pod_store_find(b.store, "fc2/b"))[3] = NAN;
        POD_CHECK_FAILS(real_step(&b, 0, 0.5f), POD_E_NUMERIC, "loss is ");
        POD_CHECK_FAILS(pod_exec_find_fault(b.exec, 7), POD_E_NUMERIC,
                        "step 7: 'fc2/b' was not finite before the step began");
    }
    bed_close(&b);
}

/* ---- a slow core ---- */

/* A clock of this test's own, so that it holds on a machine that is busy: each look at it takes
 * TICK, and a sleep exactly as long as it was asked to. */
enum { FACTOR = 40, TIMED = 3 };
static const pod_time TICK = 10000000; /* 10 us */
static bool is_made_up;
static pod_time made_up_now, slept;

pod_time __real_pod_clock_now(const pod_clock *c);
pod_time __wrap_pod_clock_now(const pod_clock *c);
pod_time __wrap_pod_clock_now(const pod_clock *c)
{
    return is_made_up ? made_up_now += TICK : __real_pod_clock_now(c);
}

int __real_nanosleep(const struct timespec *t, struct timespec *left);
int __wrap_nanosleep(const struct timespec *t, struct timespec *left);
int __wrap_nanosleep(const struct timespec *t, struct timespec *left)
{
    if (!is_made_up) return __real_nanosleep(t, left);
    const pod_time asked = t->tv_sec * INT64_C(1000000000000) + t->tv_nsec * INT64_C(1000);
    made_up_now += asked;
    slept += asked;
    return 0;
}

/* What this rank works in all steps, on the made-up clock. */
static pod_time time_steps(bed *b)
{
    const pod_timeline_plan plan = {.rank = rank,
                                    .max_steps = TIMED,
                                    .max_events =
                                        pod_program_n_turns(b->program) + b->program->n_colls,
                                    .kept_steps = 1};
    pod_timeline *tl = NULL;
    POD_CHECK_OK(pod_timeline_create(&plan, &tl));
    is_made_up = true;
    made_up_now = slept = 0;
    for (int step = 0; tl && step < TIMED; step++) {
        pod_timeline_begin_step(tl, step, pod_clock_now(&b->clock));
        POD_CHECK_OK(pod_exec_step(b->exec, tl));
        pod_timeline_end_step(tl, pod_clock_now(&b->clock));
    }
    is_made_up = false;
    int64_t n;
    pod_time work = 0;
    const pod_step_row *row = pod_timeline_rows(tl, &n);
    for (int64_t i = 0; i < n; i++)
        for (int p = 0; p < POD_N_PHASES; p++) work += p == POD_PHASE_REDUCE ? 0 : row[i].phase[p];
    pod_timeline_destroy(tl);
    return work;
}

/* Each instruction that is run takes a tick: so often. */
static int64_t n_runs(const pod_program *p)
{
    int64_t n = 0;
    for (int32_t i = 0; i < p->n_instrs; i++)
        n += p->instr[i].kind == POD_I_RUN ? pod_program_times(p, i) : 0;
    return n;
}

/* The last rank plays a slow one: it sleeps FACTOR - 1 times as long as it works, which counts as
 * work, and nothing comes out otherwise. */
static void test_slow(void)
{
    const bool is_slow = rank == size - 1;
    uint64_t hash[2] = {0};
    for (int k = 0; k < 2; k++) {
        bed b;
        pod_test_plan plan = plan_of(POD_TEST_RESIDUAL, POD_F32, meshes()[0]);
        if (bed_open(&b, &plan)) {
            b.job.lr = 0.1f;
            if (k == 1 && is_slow) pod_exec_set_slowness(b.exec, FACTOR);
            const pod_time work = time_steps(&b);
            const double ticks = (double)TICK * (double)n_runs(b.program) * TIMED;
            const double ratio = (double)slept / ticks;
            /* Looking whether it has slept enough takes ticks too, which make up for sleep. */
            if (k == 1 && is_slow)
                POD_CHECK(ratio > 0.8 * (FACTOR - 1) && ratio <= FACTOR - 1 && work > slept,
                          "a slow rank sleeps %g times what it works, %g s of %g", ratio,
                          pod_time_seconds(slept), pod_time_seconds(work));
            hash[k] = pod_store_hash(b.store);
        }
        bed_close(&b);
    }
    POD_CHECK(hash[0] == hash[1], "a slow core comes to other weights");
}

/* ---- ranks that disagree ---- */

static void test_other_program(void)
{
    pod_store *store = NULL;
    pod_exec *e = NULL;
    pod_test_plan plan = plan_of(POD_TEST_RESIDUAL, POD_F32, meshes()[0]);
    plan.bucket_bytes = rank == size - 1 && size > 1 ? 1 : 1 << 20;
    const pod_program *p = pod_test_program(&plan);
    POD_CHECK_OK(pod_store_create(p, rank, 3, &store));
    if (size > 1) {
        POD_CHECK_FAILS(pod_exec_open(p, store, comm, pod_clock_start(), &e), POD_E_MISMATCH,
                        pod_test_text("the program: rank %d differs from rank 0", size - 1));
    } else {
        POD_CHECK_OK(pod_exec_open(p, store, comm, pod_clock_start(), &e));
    }
    pod_exec_close(e);
    pod_store_destroy(store);
    plan.bucket_bytes = 1; /* and nothing is left of it */
    run_beside_check(&plan);
}

/* One rank's store lacks a variable, as that of another network does. */
static void test_other_store(void)
{
    pod_store *store = NULL;
    pod_exec *e = NULL;
    pod_test_plan plan = plan_of(POD_TEST_RESIDUAL, POD_F32, meshes()[0]);
    const pod_program *p = pod_test_program(&plan);
    plan.net = &pod_test_nets[POD_TEST_PERCEPTRON];
    const pod_program *other = pod_test_program(&plan);
    POD_CHECK_OK(pod_store_create(rank == size - 1 ? other : p, rank, 3, &store));
    POD_CHECK_FAILS(pod_exec_open(p, store, comm, pod_clock_start(), &e), POD_E_MISMATCH,
                    "store: has no variable 'stem/w'");
    pod_exec_close(e);
    pod_store_destroy(store);
}

POD_TEST_SUITE_WITH("real", open_comm, close_comm,
                    {"the bits of the check executor", test_same_bits},
                    {"batch norm over groups", test_bn_groups},
                    {"one path whatever the mesh", test_one_path},
                    {"the same bits twice", test_twice}, {"a huge rate", test_huge_rate},
                    {"a fault on one rank", test_one_rank},
                    {"a weight that is not finite", test_bad_weight}, {"a slow core", test_slow},
                    {"another program", test_other_program}, {"another store", test_other_store});
