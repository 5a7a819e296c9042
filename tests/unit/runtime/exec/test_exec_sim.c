/* The sim executor: when each core is where, against what can be worked out by hand. */
#include <math.h>
#include <string.h>

#include "collectives/net/engine.h"
#include "kernels/base/cpu.h"
#include "runtime/exec/sim.h"
#include "tests/harness/harness.h"
#include "tests/harness/nets.h"

enum { MAX_INSTRS = 4096 };

static const pod_net fast = {.link_bytes_per_s = {1e9, 1e9, 1e9},
                             .link_latency_s = {1e-6, 1e-6, 1e-6},
                             .reduce_bytes_per_s = 1e10,
                             .memory_bytes_per_s = 1e10};

typedef struct step { /* one of a program in which instruction i runs (i % 7 + 1) microseconds */
    pod_arena *arena;
    const pod_program *program;
    pod_instr_time time[MAX_INSTRS];
    pod_time run;  /* of one core, without collectives */
    pod_time took; /* until the last core has ended */
    pod_step_row row;
    pod_event event[2 * MAX_INSTRS];
    int64_t n_events;
} step;

static step s;

static void compile_plan(const pod_test_plan *plan)
{
    s.arena = pod_test_arena();
    POD_CHECK_OK(pod_test_compile(s.arena, plan, &s.program));
    CU_ASSERT_FATAL(s.program->n_instrs <= MAX_INSTRS);
    s.run = 0;
    for (int32_t i = 0; i < s.program->n_instrs; i++) {
        const bool runs = s.program->instr[i].kind == POD_I_RUN;
        s.time[i] = (pod_instr_time){.seconds = runs ? 1e-6 * (i % 7 + 1) : 0};
        s.run += pod_program_times(s.program, i) * pod_ps(s.time[i].seconds);
    }
}

static pod_test_plan plan_of(const char *mesh, bool wait_at_once)
{
    return (pod_test_plan){.net = &pod_test_nets[POD_TEST_BN_RESIDUAL],
                           .mesh = mesh,
                           .bucket_bytes = 512,
                           .cpu = POD_CPU_REFERENCE_ONLY,
                           .wait_at_once = wait_at_once};
}

static void compile(const char *mesh, bool wait_at_once, int accumulate)
{
    pod_test_plan plan = plan_of(mesh, wait_at_once);
    plan.accumulate = accumulate;
    compile_plan(&plan);
}

/* Of core `core`; each core's instructions take slow[core] times as long. */
static void run(const pod_net *net, const double slow[], int core)
{
    const pod_exec_sim_options options = {
        .net = *net, .time = s.time, .slow = slow, .overtakes = true};
    const pod_timeline_plan plan = {
        .rank = core, .max_steps = 2, .max_events = 2 * MAX_INSTRS, .kept_steps = 1};
    pod_timeline *tl;
    pod_exec_sim *e;
    int64_t n;
    POD_CHECK_OK(pod_timeline_create(&plan, &tl));
    POD_CHECK_OK(pod_exec_sim_open(s.program, &options, &e));
    const pod_exec_sim_watch watch = {.core = core, .tl = tl};
    POD_CHECK_OK(pod_exec_sim_step(e, 0, &watch, 1));
    s.took = pod_exec_sim_now(e);
    POD_CHECK_OK(pod_exec_sim_step(e, 1, &watch, 1));
    CU_ASSERT_EQUAL(pod_exec_sim_now(e), 2 * s.took); /* every step alike */
    s.row = pod_timeline_rows(tl, &n)[0];
    CU_ASSERT_EQUAL(n, 2);
    for (int p = 0; p < POD_N_PHASES; p++) /* as the timeline has it */
        CU_ASSERT_EQUAL(pod_exec_sim_phase(e, core, (pod_phase)p), 2 * s.row.phase[p]);
    s.n_events = pod_timeline_copy_kept(tl, s.event);
    pod_exec_sim_close(e);
    pod_timeline_destroy(tl);
}

/* One core has nobody to wait for. */
static void test_one_core(void)
{
    const double half_as_fast = 2;
    compile("1x1", false, 1);
    run(&fast, NULL, 0);
    CU_ASSERT_EQUAL(s.took, s.run);
    run(&fast, &half_as_fast, 0);
    CU_ASSERT_EQUAL(s.took, 2 * s.run);
}

/* What a collective takes on its own; few elements are simulated as four a core. */
static pod_time alone(const pod_net *net, int32_t coll)
{
    pod_coll_args args = s.program->coll[coll].args;
    const int64_t least = 4 * pod_group_size(&s.program->mesh, &args.group);
    pod_sim_report r;
    if (args.count < least) args.count = least;
    POD_CHECK_OK(pod_sim_collective(net, &s.program->mesh, s.program->coll[coll].algo, &args, NULL,
                                    NULL, &r));
    return pod_ps(r.seconds);
}

/* Waiting at once for each collective, all cores alike: the step is what a core runs and what each
 * collective takes on its own. */
static void test_sum_of_parts(void)
{
    static const char *const meshes[] = {"2x1", "2x2", "4x2", "3x1"};
    for (size_t k = 0; k < sizeof meshes / sizeof meshes[0]; k++) {
        compile(meshes[k], true, 1);
        pod_time sum = s.run;
        for (int32_t c = 0; c < s.program->n_colls; c++) sum += alone(&fast, c);
        run(&fast, NULL, 0);
        /* A collective may leave some cores before others, and cores that nearly do alike are taken
         * to do alike. */
        CU_ASSERT((double)s.took < 1.02 * (double)sum);
        CU_ASSERT((double)s.took > 0.98 * (double)sum);
    }
}

static void test_overlap_gains(void)
{
    compile("2x2", true, 1);
    run(&fast, NULL, 0);
    const pod_time apart = s.took;
    compile("2x2", false, 1);
    run(&fast, NULL, 0);
    CU_ASSERT(s.took < apart);
    CU_ASSERT(s.took >= s.run);
}

/* How many collectives of this kind are in flight while the core runs something of a phase. */
static int n_behind(pod_coll coll, pod_phase phase)
{
    int n = 0;
    for (int64_t i = 0; i < s.n_events; i++) {
        const pod_event *flight = &s.event[i];
        if (flight->lane != POD_LANE_COMM) continue;
        if (s.program->coll[s.program->instr[flight->instr].ticket].args.coll != coll) continue;
        bool is_hidden = false;
        for (int64_t k = 0; k < s.n_events; k++) {
            const pod_event *e = &s.event[k];
            is_hidden = is_hidden ||
                        (e->lane == POD_LANE_COMPUTE && e->phase == phase && e->end > e->begin &&
                         e->begin < flight->end && flight->begin < e->end);
        }
        n += is_hidden;
    }
    return n;
}

static bool is_inside_another(const pod_event *flight)
{
    for (int64_t i = 0; i < s.n_events; i++)
        if (s.event[i].lane == POD_LANE_COMM && s.event[i].begin < flight->begin &&
            s.event[i].end > flight->end)
            return true;
    return false;
}

/* A batch norm's sums, which a core waits for at once, are about as fast beside buckets of
 * gradients on slow links as alone: cores do not quite start together. */
static void test_overtaking(void)
{
    pod_net slow = fast;
    for (int d = 0; d < POD_MESH_MAX_DIMS; d++) slow.link_bytes_per_s[d] = 5e6;
    pod_test_plan plan = plan_of("4x2", false);
    plan.bn_group = (pod_group){.dims = 3};
    compile_plan(&plan);
    run(&slow, NULL, 0);
    int n_beside = 0;
    for (int64_t i = 0; i < s.n_events; i++) {
        const pod_event *sums = &s.event[i];
        if (sums->lane != POD_LANE_COMM || !is_inside_another(sums)) continue;
        const pod_instr *wait = &s.program->instr[sums->instr];
        if (wait[-1].kind != POD_I_COLL_START || wait[-1].ticket != wait->ticket) continue;
        const pod_time took = sums->end - sums->begin, want = alone(&slow, wait->ticket);
        POD_CHECK((double)took < 1.2 * (double)want, "%s takes %g us, alone %g", wait->label,
                  1e6 * pod_time_seconds(took), 1e6 * pod_time_seconds(want));
        n_beside++;
    }
    POD_CHECK(n_beside > 0, "%d are in flight beside gradients", n_beside);
}

/* A sharded update: buckets of gradients are scattered behind backward, and weights are gathered
 * behind the update of the next bucket, with the halves of the torus as with rings. */
static void test_sharded_overlap(void)
{
    static const char *const rules[] = {"allreduce:tree;reduce_scatter:torus2d;allgather:torus2d",
                                        "allreduce:tree"};
    for (int k = 0; k < 2; k++) {
        pod_time took[2];
        for (int apart = 0; apart < 2; apart++) {
            pod_test_plan plan = plan_of("4x2", apart);
            plan.rules = rules[k];
            plan.shard_update = true;
            compile_plan(&plan);
            run(&fast, NULL, 0);
            took[apart] = s.took;
            const int n_scattered = n_behind(POD_REDUCE_SCATTER, POD_PHASE_BACKWARD),
                      n_gathered = n_behind(POD_ALLGATHER, POD_PHASE_UPDATE);
            POD_CHECK(apart ? n_scattered == 0 && n_gathered == 0
                            : n_scattered > 1 && n_gathered > 1,
                      "'%s', overlap %d: %d behind backward, %d behind the update", rules[k],
                      !apart, n_scattered, n_gathered);
        }
        CU_ASSERT(took[0] < took[1]);
    }
}

/* Whatever the collectives: a straggler's step is at least its own work, and the others wait for
 * its gradients, but for what of their update they can do meanwhile. */
static void test_straggler(void)
{
    const double slow[] = {1, 1, 3, 1};
    compile("2x2", false, 1);
    run(&fast, NULL, 0);
    const pod_time even = s.took;
    run(&fast, slow, 0);
    CU_ASSERT(s.took >= 3 * s.run);
    CU_ASSERT(s.took <= even + 2 * s.run);
    const pod_time update = s.row.phase[POD_PHASE_UPDATE];
    CU_ASSERT(s.row.phase[POD_PHASE_REDUCE] > 2 * (s.run - update) - update); /* core 0 waits */
    run(&fast, slow, 2);
    CU_ASSERT(s.row.phase[POD_PHASE_REDUCE] < s.run);
}

static void test_faster_links(void)
{
    compile("4x2", false, 1);
    pod_net net = fast;
    pod_time before = INT64_MAX;
    for (int k = 0; k < 6; k++) {
        run(&net, NULL, 0);
        CU_ASSERT(s.took <= before);
        before = s.took;
        for (int d = 0; d < POD_MESH_MAX_DIMS; d++) net.link_bytes_per_s[d] *= 4;
    }
}

/* Events of the compute lane follow one another without gap: the row closes. */
static void test_timeline(void)
{
    compile("2x2", false, 3);
    run(&fast, NULL, 3);
    pod_time at = -1, sum = s.row.other;
    for (int64_t i = 0; i < s.n_events; i++) {
        const pod_event *event = &s.event[i];
        if (event->lane != POD_LANE_COMPUTE) continue;
        CU_ASSERT(at < 0 || event->begin == at);
        at = event->end;
        CU_ASSERT_EQUAL(event->rank, 3);
    }
    for (int p = 0; p < POD_N_PHASES; p++) sum += s.row.phase[p];
    CU_ASSERT_EQUAL(sum, s.row.end - s.row.begin);
    CU_ASSERT_EQUAL(s.row.other, 0);
    CU_ASSERT_EQUAL(s.row.n_dropped, 0);
    CU_ASSERT(s.row.comm > 0);
}

/* One of each class stands for all: the same times as every core's. */
static void test_classes(void)
{
    static const char *const meshes[] = {"4x4", "4ox4", "2ox4x2", "8", "3x2"};
    for (size_t k = 0; k < sizeof meshes / sizeof meshes[0]; k++) {
        const double even[POD_TEST_MAX_RANKS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
        compile(meshes[k], false, 1);
        run(&fast, NULL, 0);
        const pod_time by_classes = s.took;
        run(&fast, even, 0);
        CU_ASSERT_EQUAL(s.took, by_classes);
    }
}

/* Without one of its two links up a core of a ring goes the other way round, over the links of
 * others. */
static void test_failed_link(void)
{
    compile("8", true, 1);
    run(&fast, NULL, 0);
    const pod_time whole = s.took;
    const int failed = pod_route_link(&s.program->mesh, 2, (pod_hop){0, 1});
    pod_exec_sim *e;
    const pod_exec_sim_options options = {
        .net = fast, .time = s.time, .failed = &failed, .n_failed = 1};
    POD_CHECK_OK(pod_exec_sim_open(s.program, &options, &e));
    CU_ASSERT_EQUAL(pod_exec_sim_n_simulated(e), 8);
    POD_CHECK_OK(pod_exec_sim_step(e, 0, NULL, 0));
    const pod_sim_use use = pod_exec_sim_used(e);
    CU_ASSERT(pod_exec_sim_now(e) > whole);
    CU_ASSERT(use.n_rerouted > 0 && use.n_rerouted < use.n_messages);
    CU_ASSERT(use.link_bytes > use.message_bytes);
    CU_ASSERT_EQUAL(pod_exec_sim_link_bytes(e, failed), 0);
    pod_exec_sim_close(e);
}

/* ---- noise ---------------------------------------------------------------------------------- */

enum { N_NOISY = 24 }; /* steps of each of some seeds */

/* The steps of one seed, by picoseconds from end to end. */
static double mean_step(double share, uint64_t seed, pod_time took[N_NOISY])
{
    const pod_exec_sim_options options = {.net = fast, .time = s.time, .noise = {share, seed}};
    pod_exec_sim *e;
    pod_time at = 0;
    POD_CHECK_OK(pod_exec_sim_open(s.program, &options, &e));
    for (int k = 0; k < N_NOISY; k++) {
        POD_CHECK_OK(pod_exec_sim_step(e, k, NULL, 0));
        took[k] = pod_exec_sim_now(e) - at;
        at = pod_exec_sim_now(e);
    }
    CU_ASSERT(share == 0 || pod_exec_sim_n_simulated(e) == pod_mesh_size(&s.program->mesh));
    pod_exec_sim_close(e);
    return (double)at / N_NOISY;
}

/* More noise never makes the mean step shorter, of any of these seeds; the same seed gives the same
 * picoseconds, another one others. */
static void test_noise(void)
{
    static const double shares[] = {0, 0.02, 0.05, 0.1, 0.2, 0.4};
    enum { N_SHARES = sizeof shares / sizeof shares[0], N_SEEDS = 8 };
    compile("4x2", false, 1);
    for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
        double before = 0;
        for (int k = 0; k < N_SHARES; k++) {
            pod_time took[N_NOISY], again[N_NOISY], other[N_NOISY];
            const double mean = mean_step(shares[k], seed, took);
            POD_CHECK(mean >= before, "seed %d: a noise of %g makes it %.0f ps, less makes it %.0f",
                      (int)seed, shares[k], mean, before);
            before = mean;
            (void)mean_step(shares[k], seed, again);
            (void)mean_step(shares[k], seed + N_SEEDS, other);
            CU_ASSERT(memcmp(took, again, sizeof took) == 0);
            CU_ASSERT((memcmp(took, other, sizeof took) == 0) == (shares[k] == 0));
            CU_ASSERT((took[0] == took[1]) == (shares[k] == 0));
        }
    }
}

/* Alone a core takes as long as ever on average: the mean of n steps is within five standard
 * errors, what a step varies by being known from the times of its instructions. */
static void test_noise_alone(void)
{
    enum { N_SEEDS = 16 };
    const double share = 0.3;
    double sum = 0, variance = 0;
    compile("1x1", false, 1);
    for (int32_t i = 0; i < s.program->n_instrs; i++)
        variance += pod_program_times(s.program, i) * s.time[i].seconds * s.time[i].seconds;
    for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
        pod_time took[N_NOISY];
        sum += mean_step(share, seed, took);
    }
    const double error_ps = 1e12 * share * sqrt(variance / (N_NOISY * N_SEEDS));
    CU_ASSERT_DOUBLE_EQUAL(sum / N_SEEDS, (double)s.run, 5 * error_ps);
}

static void test_noise_factors(void)
{
    enum { N = 200000 };
    static const double shares[] = {0.05, 0.3, 1};
    for (int k = 0; k < 3; k++) {
        const pod_noise noise = {shares[k], 11};
        double sum = 0, squares = 0;
        for (int i = 0; i < N; i++) {
            const double f = pod_noise_factor(&noise, i % 100, i / 100 % 20, i / 2000);
            CU_ASSERT(f > 0);
            sum += f;
            squares += (f - 1) * (f - 1);
        }
        CU_ASSERT_DOUBLE_EQUAL(sum / N, 1, 5 * shares[k] / sqrt(N));
        CU_ASSERT_DOUBLE_EQUAL(sqrt(squares / N), shares[k], 0.03 * shares[k]);
    }
    const pod_noise none = {0, 11};
    CU_ASSERT_EQUAL(pod_noise_factor(&none, 1, 2, 3), 1);
}

/* Programs of millions of turns and meshes of millions of cores take factors of their own too. */
static void test_noise_has_no_last_turn(void)
{
    static const struct {
        int core;
        int64_t turn;
    } at[] = {{0, 0},       {0, 1 << 22},       {1, 0},
              {1 << 18, 0}, {1 << 18, 1 << 22}, {0, INT64_C(3) << 40}};
    enum { N = sizeof at / sizeof at[0] };
    const pod_noise noise = {0.05, 11};
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++)
            CU_ASSERT_NOT_EQUAL(pod_noise_factor(&noise, at[i].core, 0, at[i].turn),
                                pod_noise_factor(&noise, at[j].core, 0, at[j].turn));
}

POD_TEST_SUITE("exec_sim", {"one core: the sum of its instructions", test_one_core},
               {"collectives waited for at once: the sum of all", test_sum_of_parts},
               {"overlap gains", test_overlap_gains}, {"sharded overlap", test_sharded_overlap},
               {"a straggler holds up the others", test_straggler},
               {"what is waited for overtakes", test_overtaking},
               {"faster links delay nothing", test_faster_links},
               {"one of each class stands for all", test_classes},
               {"a failed link is gone round", test_failed_link},
               {"noise: factors", test_noise_factors},
               {"noise has no last turn", test_noise_has_no_last_turn},
               {"noise: a core alone", test_noise_alone},
               {"noise: cores that wait for each other", test_noise},
               {"the timeline closes, with micro-steps", test_timeline});
