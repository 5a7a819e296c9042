/* A simulated job: hand-made failures with the sums redone in comments, and many seeds against the
 * closed form. */
#include "runtime/study/job_sim.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "kernels/base/rng.h"
#include "runtime/study/job_model.h"
#include "tests/harness/harness.h"

static const pod_stamp second = 1000000000;

/* Ten steps of 10 s, saved after 4, 8 and 10: a start takes 7 s, 13 s from a checkpoint.
 *
 *   0 launch, init 3 build 7 steps 47 save 49 steps 89 save 91 steps 111 save 113 write 118
 *                                    |<- write ->54    |<- write ->96              */
static pod_job_sim_plan ten_steps(void)
{
    return (pod_job_sim_plan){.n_steps = 10,
                              .every = 4,
                              .step = 10 * second,
                              .save = 2 * second,
                              .write = 5 * second,
                              .detect = 3 * second,
                              .launch = 1 * second,
                              .init = 2 * second,
                              .build = 4 * second,
                              .restore = 6 * second,
                              .watchdog = 30 * second,
                              .limit = 100000 * second};
}

/* Seconds by category and of waiting for nodes; failures, and steps done and lost. */
typedef struct want {
    int step, lost, init, build, save, restore, recovery, waiting;
    int failures, lost_steps;
} want;

typedef struct job_case {
    const char *name;
    int write;    /* of the plan; 0: training waits, 7 s a save */
    int n_needed; /* nodes; there are those of the events */
    const char *faults;
    const char *events; /* "54-1 60+1": at 54 s node 1 goes down, at 60 it is up again */
    want want;
} job_case;

static const job_case by_hand_cases[] = {
    /* saves: 3 x 2, and 5 until the last is whole */
    {"nothing", 5, 1, "", "", {100, 0, 3, 4, 11, 0, 0, 0, 0, 0}},
    /* In step 5, while the save of step 4 is not whole: 40 + 3 s are lost, and nothing is
     * restored. Detected at 55, steps from 62, then 111 s more. */
    {"before it is whole", 5, 1, "", "52-0 52+0", {100, 43, 5, 8, 13, 0, 4, 0, 1, 4}},
    /* As it becomes whole: 5 s are lost. Detected at 57, steps from 70, 69 s more. */
    {"when it is whole", 5, 1, "", "54-0 54+0", {100, 5, 5, 8, 11, 6, 4, 0, 1, 0}},
    /* In the save of step 4, 1 of 2 s: 40 s are lost. */
    {"in a save", 5, 1, "", "48-0 48+0", {100, 40, 5, 8, 12, 0, 4, 0, 1, 4}},
    /* While the last one is written, 3 of 5 s: steps 9 and 10 are lost, 20 s. Detected at 119,
     * steps from 132, saved 152 to 154, whole at 159. */
    {"at the very end", 5, 1, "", "116-0 116+0", {100, 20, 5, 8, 6 + 3 + 2 + 5, 6, 4, 0, 1, 2}},
    /* At 118 it is done. */
    {"behind the end", 5, 1, "", "118-0 118+0", {100, 0, 3, 4, 11, 0, 0, 0, 0, 0}},
    /* As above until detected at 57; launched 58, initialized 60, and at 62 in its build.
     * Detected at 65, steps from 78. */
    {"in recovery", 5, 1, "", "54-0 54+0 62-0 62+0", {100, 5, 7, 4 + 2 + 4, 11, 6, 8, 0, 2, 0}},
    /* Again while the first is detected: there is nothing left to fail. */
    {"in detection", 5, 1, "", "54-0 54+0 55-0 56+0", {100, 5, 5, 8, 11, 6, 4, 0, 1, 0}},
    /* As the detection ends: the nodes are taken behind it. */
    {"as it is detected", 5, 1, "", "54-0 54+0 57-0 57+0", {100, 5, 5, 8, 11, 6, 4, 0, 1, 0}},
    /* Detected at 57, repaired at 100. */
    {"until it is repaired", 5, 1, "", "54-0 100+0", {100, 5, 5, 8, 11, 6, 4, 43, 1, 0}},
    /* The other one fails meanwhile, and comes back later. */
    {"another fails meanwhile",
     5,
     2,
     "",
     "54-0 60-1 100+0 120+1",
     {100, 5, 5, 8, 11, 6, 4, 63, 1, 0}},
    /* The first is back, and gone again before the other is. */
    {"back and gone again",
     5,
     2,
     "",
     "54-0 55-1 100+0 110-0 120+1 130+0",
     {100, 5, 5, 8, 11, 6, 4, 73, 1, 0}},
    /* Down from the beginning, for 20 s: then all times are 20 s later. */
    {"at the beginning", 5, 1, "", "0-0 20+0", {100, 0, 3, 4, 11, 0, 0, 20, 0, 0}},
    /* Two faults at a time: up when both have ended. */
    {"two faults at a time", 5, 1, "", "54-0 70-0 80+0 100+0", {100, 5, 5, 8, 11, 6, 4, 43, 1, 0}},
    /* A spare takes over at once; what a free node does is nobody's business. */
    {"a spare", 5, 1, "", "10-1 20+1 54-0 60+0 70-0", {100, 5, 5, 8, 11, 6, 4, 0, 1, 0}},
    /* The spare is away when it is needed. */
    {"a late spare", 5, 1, "", "10-1 54-0 60+1", {100, 5, 5, 8, 11, 6, 4, 3, 1, 0}},
    /* Whole 50 s later: training waits with its next save. Copied 47 to 49, whole at 99; steps
     * until 89, so 10 s; copied until 101, whole at 151; steps until 121, so 30 s; copied until
     * 153, whole at 203. */
    {"behind", 50, 1, "", "", {100, 0, 3, 4, 6 + 10 + 30 + 50, 0, 0, 0, 0, 0}},
    /* At 95, in that wait, step 8 is done: everything is lost. At 99 the first four are kept. */
    {"failure in a wait", 50, 1, "", "95-0 95+0", {100, 80, 5, 8, 96 + 2 + 6, 0, 4, 0, 1, 8}},
    /* From 102: launched 103, 105, 109, restored 115; steps until 155, saved 157, whole at 207;
     * 177; waits 30; 209; whole at 259. */
    {"failure as it is whole",
     50,
     1,
     "",
     "99-0 99+0",
     {100, 40, 5, 8, 2 + 10 + 2 + 30 + 2 + 50, 6, 4, 0, 1, 4}},
    /* Training waits for the disk: whole when it goes on. 3 x 7 s. */
    {"synchronous", 0, 1, "", "", {100, 0, 3, 4, 21, 0, 0, 0, 0, 0}},
    /* Saved 47 to 54: at 54 it is whole. */
    {"synchronous, whole", 0, 1, "", "54-0 54+0", {100, 0, 5, 8, 21, 6, 4, 0, 1, 0}},
    /* Step 6 begins at 59, step 5 is lost. Nobody's node: no wait. */
    {"kill", 5, 1, "kill:rank=3,step=6", "", {100, 10, 5, 8, 11, 6, 4, 0, 1, 1}},
    {"nan", 5, 1, "nan:rank=3,step=6", "", {100, 10, 5, 8, 11, 6, 4, 0, 1, 1}},
    {"hang", 5, 1, "hang:rank=3,step=6", "", {100, 10, 5, 8, 11, 6, 30 + 1, 0, 1, 1}},
    /* Step 5 begins at 49, whole at 54: within the watchdog's time. */
    {"hang while another writes",
     5,
     1,
     "hang:rank=3,step=5",
     "",
     {100, 0, 5, 8, 11, 6, 30 + 1, 0, 1, 0}},
    /* A node fails 11 s into the hang, at 60: detected at 63. */
    {"a node while one hangs",
     5,
     1,
     "hang:rank=3,step=5",
     "60-0 60+0",
     {100, 0, 5, 8, 11, 6, 11 + 3 + 1, 0, 1, 0}},
    /* Both in one place, each once: the second attempt dies as it begins step 1, too. */
    {"twice at step 1",
     5,
     1,
     "kill:rank=0,step=1;kill:rank=1,step=1",
     "",
     {100, 0, 7, 12, 11, 0, 8, 0, 2, 0}},
    /* at 49, copied and not whole */
    {"kill in a save", 5, 1, "kill:rank=0,step=4,write=2", "", {100, 40, 5, 8, 13, 0, 4, 0, 1, 4}},
    /* Step 4's is none: at 59 five steps are lost. It is whole the second time. */
    {"a full disk",
     5,
     1,
     "diskfull:rank=0,step=4;kill:rank=3,step=6",
     "",
     {100, 50, 5, 8, 13, 0, 4, 0, 1, 5}},
    {"a damaged checkpoint",
     5,
     1,
     "corrupt-checkpoint:step=4;kill:rank=3,step=6",
     "",
     {100, 50, 5, 8, 13, 0, 4, 0, 1, 5}},
    /* Steps 2 to 5 take 15 s, of two that are slow at a time the slower one's. */
    {"slow",
     5,
     1,
     "slow:rank=0,factor=1.5,from=2,until=5;slow:rank=1,factor=1.2,from=3,until=4",
     "",
     {120, 0, 3, 4, 11, 0, 0, 0, 0, 0}},
    /* At 22 it is 5 s into step 2, which takes 15. */
    {"slow and down",
     5,
     1,
     "slow:rank=0,factor=1.5,from=2",
     "22-0 22+0",
     {10 + 9 * 15, 15, 5, 8, 11, 0, 4, 0, 1, 1}},
};

/* On node 0, and those that the text has. */
static pod_job_sim run(const pod_job_sim_plan *p, const char *text, int needed)
{
    enum { MAX_EVENTS = 8 };
    pod_node_event event[MAX_EVENTS];
    pod_nodes *nodes = NULL;
    int n_events = 0, n_nodes = 1, at, node, bytes;
    char sign;
    for (; sscanf(text, "%d%c%d %n", &at, &sign, &node, &bytes) == 3; text += bytes) {
        event[n_events++] = (pod_node_event){at * second, node, sign == '-'};
        if (node >= n_nodes) n_nodes = node + 1;
    }
    POD_NEED_OK(pod_nodes_list(event, n_events, n_nodes, needed, &nodes));
    const pod_job_sim r = pod_job_sim_run(p, nodes, 1, 0);
    pod_nodes_destroy(nodes);
    return r;
}

static void check(const char *name, const pod_job_sim *r, want w)
{
    const struct {
        const char *what;
        int64_t got, want;
    } all[] = {{"PRODUCTIVE_STEPS", r->by_span[POD_JOB_STEP], w.step * second},
               {"lost", r->by_span[POD_JOB_LOST_STEP], w.lost * second},
               {"init", r->by_span[POD_JOB_INIT], w.init * second},
               {"build", r->by_span[POD_JOB_BUILD], w.build * second},
               {"save", r->by_span[POD_JOB_SAVE], w.save * second},
               {"restore", r->by_span[POD_JOB_RESTORE], w.restore * second},
               {"recovery", r->by_span[POD_JOB_RECOVERY], w.recovery * second},
               {"waiting", r->waiting, w.waiting * second},
               {"allocated", r->allocated,
                (w.step + w.lost + w.init + w.build + w.save + w.restore + w.recovery) * second},
               {"failures", r->n_failures, w.failures},
               {"lost steps", r->n_lost, w.lost_steps},
               {"saves", r->n_saves, 3}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        POD_CHECK(all[i].got == all[i].want, "%s: %s: %" PRId64 ", want %" PRId64, name,
                  all[i].what, all[i].got, all[i].want);
    POD_CHECK(r->is_finished && r->n_kept == 10, "%s: kept %" PRId64 " steps", name, r->n_kept);
    const double goodput = (double)(w.step * second) / (double)r->allocated;
    POD_CHECK(fabs(pod_job_sim_runtime_goodput(r) - goodput) < 1e-15, "%s: %g", name, goodput);
}

static void by_hand(void)
{
    for (size_t i = 0; i < sizeof by_hand_cases / sizeof by_hand_cases[0]; i++) {
        const job_case *c = &by_hand_cases[i];
        pod_fault f[POD_MAX_FAULTS];
        pod_job_sim_plan p = ten_steps();
        p.write = c->write * second;
        if (c->write == 0) p.save = 7 * second;
        p.fault = f;
        POD_CHECK_OK(pod_faults_parse(c->faults, f, &p.n_faults));
        const pod_job_sim r = run(&p, c->events, c->n_needed);
        check(c->name, &r, c->want);
    }
}

static void given_up(void)
{
    pod_job_sim_plan p = ten_steps();
    /* A failure each 30 s: no start ever reaches the save at 47. */
    enum { N = 40 };
    pod_node_event e[2 * N];
    pod_nodes *nodes = NULL;
    for (int i = 0; i < N; i++) {
        e[2 * i] = (pod_node_event){30 * (i + 1) * second, 0, true};
        e[2 * i + 1] = (pod_node_event){30 * (i + 1) * second, 0, false};
    }
    p.limit = 1000 * second;
    POD_NEED_OK(pod_nodes_list(e, 2 * N, 1, 1, &nodes));
    pod_job_sim r = pod_job_sim_run(&p, nodes, 1, 0);
    CU_ASSERT(!r.is_finished);
    CU_ASSERT_EQUAL(r.allocated, p.limit);
    CU_ASSERT_EQUAL(r.by_span[POD_JOB_STEP], 0);
    CU_ASSERT_EQUAL(r.n_failures, 33);
    pod_nodes_destroy(nodes);
    /* Its node never comes. */
    r = run(&p, "0-0", 1);
    CU_ASSERT(!r.is_finished);
    CU_ASSERT_EQUAL(r.allocated, 0);
    CU_ASSERT_EQUAL(r.waiting, p.limit);
    CU_ASSERT(isnan(pod_job_sim_runtime_goodput(&r)));
}

/* ---- closed forms ---------------------------------------------------------------------------- */

/* What the model says of the plan; nodes fail on their own. */
static pod_job_model model_of(const pod_job_sim_plan *p, double mtbf_s)
{
    const double ns = 1e-9;
    const double start_s = ns * (double)(p->launch + p->init + p->prep + p->build);
    return (pod_job_model){.mtbf_s = mtbf_s,
                           .n_steps = p->n_steps,
                           .every = p->every,
                           .step_s = ns * (double)p->step,
                           .save_s = ns * (double)p->save,
                           .write_s = ns * (double)p->write,
                           .detect_s = ns * (double)p->detect,
                           .start_s = start_s,
                           .restart_s = start_s + ns * (double)p->restore};
}

static void intervals(void)
{
    /* sqrt(2 x 50 x 10000) = 1000; Daly: 1000 (1 + 0.05 / 3 + 0.0025 / 9) - 50 = 966.944... */
    CU_ASSERT_DOUBLE_EQUAL(pod_job_interval_young_s(50, 10000), 1000, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(pod_job_interval_daly_s(50, 10000), 966.944444, 1e-6);
    CU_ASSERT_EQUAL(pod_job_interval_daly_s(200, 100), 100);
    CU_ASSERT_EQUAL(pod_job_interval_daly_s(50, 0), INFINITY);
    CU_ASSERT_EQUAL(pod_job_interval_best_s(50, 0), INFINITY);
    CU_ASSERT_DOUBLE_EQUAL(pod_job_interval_best_s(0, 100), 0, 1e-6);
    for (double save_s = 1e-3; save_s < 1e5; save_s *= 3) {
        const double mtbf_s = 10000, w = pod_job_interval_best_s(save_s, mtbf_s);
        double around[3];
        for (int i = 0; i < 3; i++) {
            const double at = w * (0.99 + 0.01 * i);
            around[i] = expm1((at + save_s) / mtbf_s) / at;
        }
        POD_CHECK(around[1] <= around[0] && around[1] <= around[2], "save %g: %g is not the least",
                  save_s, w);
        const double daly_s = pod_job_interval_daly_s(save_s, mtbf_s);
        POD_CHECK(save_s > mtbf_s / 2 || fabs(daly_s / w - 1) < 0.01, "save %g: %g, Daly has %g",
                  save_s, w, daly_s);
    }
}

static void model_without_failures(void)
{
    pod_job_sim_plan p = ten_steps();
    const struct {
        int64_t n_steps, every, write;
        double wall_s;
    } cases[] = {{10, 4, 5, 118},
                 {10, 4, 50, 203},
                 {10, 10, 5, 7 + 100 + 7},
                 {10, 99, 0, 109},
                 {8, 4, 5, 7 + 42 + 42 + 5}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        p.n_steps = cases[i].n_steps;
        p.every = cases[i].every;
        p.write = cases[i].write * second;
        const pod_job_sim r = run(&p, "", 1);
        pod_job_model m = model_of(&p, 0);
        CU_ASSERT_DOUBLE_EQUAL(pod_job_model_wall_s(&m), cases[i].wall_s, 1e-9);
        CU_ASSERT_EQUAL(r.allocated, (pod_stamp)cases[i].wall_s * second);
        m.mtbf_s = 1e12; /* hardly ever */
        CU_ASSERT_DOUBLE_EQUAL(pod_job_model_wall_s(&m), cases[i].wall_s, 1e-3);
    }
    pod_job_model never = model_of(&p, 0.001);
    CU_ASSERT_EQUAL(pod_job_model_wall_s(&never), INFINITY);
    CU_ASSERT_EQUAL(pod_job_model_goodput(&never), 0);
}

typedef struct setting {
    const char *name;
    int n_nodes, n_spares;
    double mtbf_s, repair_s; /* of the job; of a node */
    int steps, every, step, save, write, detect, start, restore;
} setting;

static void check_seeds(const setting *s)
{
    enum { N_SEEDS = 1000 };
    pod_nodes *nodes = NULL;
    const pod_nodes_drawn drawn = {s->mtbf_s * s->n_nodes, 1, s->repair_s};
    const pod_job_sim_plan p = {.n_steps = s->steps,
                                .every = s->every,
                                .step = s->step * second,
                                .save = s->save * second,
                                .write = s->write * second,
                                .detect = s->detect * second,
                                .init = s->start * second,
                                .restore = s->restore * second,
                                .limit = INT64_MAX / 4};
    const pod_job_model m = model_of(&p, s->mtbf_s);
    double goodput = 0, wall_s = 0, failures = 0;
    POD_NEED_OK(pod_nodes_draw(&drawn, s->n_nodes + s->n_spares, s->n_nodes, &nodes));
    for (uint32_t job = 0; job < N_SEEDS; job++) {
        const pod_job_sim r = pod_job_sim_run(&p, nodes, 7, job);
        POD_CHECK(r.is_finished, "%s: job %u did not finish", s->name, job);
        goodput += pod_job_sim_runtime_goodput(&r) / N_SEEDS;
        wall_s += pod_stamp_seconds(r.allocated) / N_SEEDS;
        failures += (double)r.n_failures / N_SEEDS;
    }
    pod_nodes_destroy(nodes);
    POD_CHECK(fabs(goodput / pod_job_model_goodput(&m) - 1) < 0.01,
              "%s: goodput %.5f, expected %.5f, %.1f failures", s->name, goodput,
              pod_job_model_goodput(&m), failures);
    POD_CHECK(fabs(wall_s / pod_job_model_wall_s(&m) - 1) < 0.01, "%s: wall %.1f s, expected %.1f",
              s->name, wall_s, pod_job_model_wall_s(&m));
}

static void seeds_agree_with_closed_form(void)
{
    static const setting settings[] = {
        {"training waits for the disk", 1, 0, 10000, 0, 50000, 25, 40, 60, 0, 0, 120, 0},
        {"written behind", 1, 0, 10000, 0, 50000, 25, 40, 2, 300, 30, 120, 20},
        {"failures in recovery", 1, 0, 1000, 0, 10000, 20, 20, 10, 100, 50, 500, 100},
        {"disks slower than training", 1, 0, 5000, 0, 20000, 25, 20, 5, 900, 20, 60, 30},
        {"far too seldom", 1, 0, 2000, 0, 10000, 150, 20, 10, 50, 10, 100, 10},
        {"as often as can be", 1, 0, 2000, 0, 2000, 1, 20, 2, 1, 10, 100, 10},
        {"64 nodes, two spares", 64, 2, 4000, 20000, 20000, 40, 20, 5, 60, 20, 60, 30},
        {"few failures", 1, 0, 100000, 0, 15000, 100, 40, 60, 300, 30, 600, 60},
    };
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) check_seeds(&settings[i]);
}

/* ---- chance ---------------------------------------------------------------------------------- */

static void same_seed_same_job(void)
{
    const pod_nodes_drawn drawn = {64 * 40.0, 0.7, 15};
    const pod_job_sim_plan p = ten_steps();
    pod_nodes *a = NULL, *b = NULL;
    int n_differ = 0;
    POD_NEED_OK(pod_nodes_draw(&drawn, 66, 64, &a));
    POD_NEED_OK(pod_nodes_draw(&drawn, 66, 64, &b));
    for (uint32_t job = 0; job < 50; job++) {
        const pod_job_sim x = pod_job_sim_run(&p, a, 3, job), y = pod_job_sim_run(&p, a, 3, job),
                          z = pod_job_sim_run(&p, b, 3, job),
                          other = pod_job_sim_run(&p, b, 4, job);
        CU_ASSERT(memcmp(&x.by_span, &y.by_span, sizeof x.by_span) == 0);
        CU_ASSERT(memcmp(&x.by_span, &z.by_span, sizeof x.by_span) == 0);
        CU_ASSERT(x.waiting == y.waiting && x.waiting == z.waiting);
        n_differ += x.allocated != other.allocated;
    }
    CU_ASSERT(n_differ > 25);
    pod_nodes_destroy(a);
    pod_nodes_destroy(b);
}

/* Whatever the shape, the mean time between a node's faults is what was asked for: 2,000 nodes for
 * 100 times that long, of which a Weibull process of shape 0.5 has sqrt(5) the standard deviation. */
static void mean_time_between_faults(void)
{
    static const double shapes[] = {0.5, 1, 2};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        enum { N = 2000 };
        const pod_nodes_drawn drawn = {50, shapes[s], 0};
        pod_nodes *nodes = NULL;
        int64_t n = 0;
        POD_NEED_OK(pod_nodes_draw(&drawn, N, N, &nodes));
        pod_nodes_begin(nodes, 1, 0);
        const pod_stamp end = 5000 * second;
        pod_stamp now = pod_nodes_take(nodes, 0, end);
        while ((now = pod_nodes_watch(nodes, end)) < end) {
            n++;
            CU_ASSERT_EQUAL(pod_nodes_take(nodes, now, end), now);
        }
        /* A renewal process has t / mean + (variance / mean^2 - 1) / 2 of them. */
        const double spread = shapes[s] == 1 ? 1 : shapes[s] == 2 ? 4 / 3.14159265358979 - 1 : 5;
        const double expected = N * (100 + (spread - 1) / 2);
        POD_CHECK(fabs((double)n / expected - 1) < 0.01, "shape %g: %" PRId64 " faults, want %.0f",
                  shapes[s], n, expected);
        pod_nodes_destroy(nodes);
    }
}

/* Some plan, in nanoseconds; `f` has room for three faults. */
static pod_job_sim_plan any_plan(pod_rng *r, pod_fault f[3])
{
#define UP_TO(n) ((pod_stamp)pod_rng_below(r, (uint64_t)(n)))
    const pod_job_sim_plan p = {.n_steps = 1 + UP_TO(200),
                                .every = 1 + UP_TO(50) * UP_TO(2),
                                .step = UP_TO(1000),
                                .save = UP_TO(300),
                                .write = UP_TO(2) * UP_TO(5000),
                                .detect = UP_TO(500),
                                .launch = UP_TO(100),
                                .init = UP_TO(1000),
                                .prep = UP_TO(3),
                                .build = UP_TO(100),
                                .restore = UP_TO(1000),
                                .watchdog = UP_TO(10000),
                                .limit = 1 + UP_TO(1000000),
                                .fault = f,
                                .n_faults = (int)UP_TO(4)};
    for (int k = 0; k < 3; k++)
        f[k] = (pod_fault){.kind = (pod_fault_kind)UP_TO(POD_N_FAULT_KINDS),
                           .factor = 0.5 + (double)UP_TO(4),
                           .step = 1 + UP_TO(200),
                           .from = UP_TO(100),
                           .until = UP_TO(2) * (100 + UP_TO(100)),
                           .write = UP_TO(2)};
    return p;
}

/* Any plan closes: the simulator asserts it. */
static void any_plan_closes(void)
{
    pod_rng rng = pod_rng_at(1, (pod_place){.stream = POD_STREAM_TEST}), *r = &rng;
    int64_t n_failures = 0, n_waiting = 0, n_given_up = 0;
    for (uint32_t i = 0; i < 3000; i++) {
        pod_fault f[3];
        const pod_job_sim_plan p = any_plan(r, f);
        const int needed = 1 + (int)UP_TO(8);
        const pod_nodes_drawn drawn = {1e-9 * (double)(1 + UP_TO(200000)), 0.5 + (double)UP_TO(2),
                                       1e-9 * (double)(UP_TO(2) * UP_TO(20000))};
        pod_nodes *nodes = NULL;
        POD_NEED_OK(pod_nodes_draw(&drawn, needed + (int)UP_TO(3), needed, &nodes));
        const pod_job_sim x = pod_job_sim_run(&p, nodes, 1, i);
        CU_ASSERT(x.is_finished ? x.n_kept == p.n_steps && x.allocated + x.waiting <= p.limit
                                : x.allocated + x.waiting == p.limit);
        n_failures += x.n_failures;
        n_waiting += x.waiting > 0;
        n_given_up += !x.is_finished;
        pod_nodes_destroy(nodes);
    }
    CU_ASSERT(n_failures > 1000 && n_waiting > 100 && n_given_up > 100 && n_given_up < 2900);
}

/* Intervals in which nothing happens pass at once. Node 1 is never up, but so much happens to it
 * that no interval does: the job on node 0 must not notice. */
static void quiet_intervals_pass_at_once(void)
{
    enum { N_FAILURES = 20, SPACE = 97, N = 2 * N_FAILURES + 2 * 1000000 / SPACE + 1 };
    static pod_node_event quiet[2 * N_FAILURES + 1], busy[N];
    pod_rng rng = pod_rng_at(2, (pod_place){.stream = POD_STREAM_TEST}), *r = &rng;
    int64_t n_saves = 0;
    for (int i = 0; i < 400; i++) {
        pod_fault f[3];
        const pod_job_sim_plan p = any_plan(r, f);
        pod_nodes *a = NULL, *b = NULL;
        int n_quiet = 0, n_busy = 0;
        pod_stamp at = 0;
        quiet[n_quiet++] = busy[n_busy++] = (pod_node_event){0, 1, true};
        for (int k = 0; k < N_FAILURES; k++) {
            const pod_stamp next = at + 1 + UP_TO(90000);
            for (at += SPACE - at % SPACE; at < next && at < 1000000; at += SPACE)
                for (int up = 1; up >= 0; up--) busy[n_busy++] = (pod_node_event){at, 1, up != 0};
            at = next;
            for (int up = 1; up >= 0; up--)
                quiet[n_quiet++] = busy[n_busy++] = (pod_node_event){at, 0, up != 0};
        }
        POD_NEED_OK(pod_nodes_list(quiet, n_quiet, 2, 1, &a));
        POD_NEED_OK(pod_nodes_list(busy, n_busy, 2, 1, &b));
        const pod_job_sim x = pod_job_sim_run(&p, a, 1, 0), y = pod_job_sim_run(&p, b, 1, 0);
        POD_CHECK(memcmp(x.by_span, y.by_span, sizeof x.by_span) == 0 && x.waiting == y.waiting &&
                      x.n_kept == y.n_kept && x.n_lost == y.n_lost && x.n_saves == y.n_saves &&
                      x.n_failures == y.n_failures && x.is_finished == y.is_finished,
                  "plan %d: kept %" PRId64 " and %" PRId64 " in %" PRId64 " and %" PRId64, i,
                  x.n_kept, y.n_kept, x.allocated, y.allocated);
        n_saves += x.n_saves;
        pod_nodes_destroy(a);
        pod_nodes_destroy(b);
    }
    CU_ASSERT(n_saves > 4000);
#undef UP_TO
}

static CU_TestInfo tests[] = {{"by hand", by_hand}, {"given up", given_up}, CU_TEST_INFO_NULL};
static CU_TestInfo model_tests[] = {{"intervals", intervals},
                                    {"model without failures", model_without_failures},
                                    {"seeds agree with closed form", seeds_agree_with_closed_form},
                                    CU_TEST_INFO_NULL};
static CU_TestInfo chance_tests[] = {{"same seed, same job", same_seed_same_job},
                                     {"mean time between faults", mean_time_between_faults},
                                     {"any plan closes", any_plan_closes},
                                     {"quiet intervals pass at once", quiet_intervals_pass_at_once},
                                     CU_TEST_INFO_NULL};
CU_SuiteInfo pod_test_suites[] = {{"job", NULL, NULL, NULL, NULL, tests},
                                  {"model", NULL, NULL, NULL, NULL, model_tests},
                                  {"chance", NULL, NULL, NULL, NULL, chance_tests},
                                  CU_SUITE_INFO_NULL};
