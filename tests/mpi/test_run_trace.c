/* timeline.json of several ranks whose clocks are apart by a quarter of an hour each: all stand on
 * the clock of rank 0, and who was waited for is found across ranks. */
#include <cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/train/run_trace.h"
#include "runtime/core/file.h"
#include "tests/harness/harness.h"
#include "tests/mpi/ranks.h"
#include "tests/tools/trace_check.h"

enum { N_STEPS = 5, KEPT = 3, APART_S = 900 };

static const pod_slot slot[] = {{.bytes = 4096}};
static pod_program_coll coll[1];
static const pod_instr instr[] = {
    {.label = "grad", .op = "allreduce", .impl = "flat", .kind = POD_I_COLL_START},
    {.label = "grad", .op = "allreduce", .impl = "flat", .kind = POD_I_COLL_WAIT},
};
static pod_program program = {
    .instr = instr, .n_instrs = 2, .coll = coll, .n_colls = 1, .slot = slot, .n_slots = 1};

static pod_clock clock_of_rank(void)
{
    pod_clock c = pod_clock_start();
    c.monotonic_ns -= (int64_t)rank * APART_S * 1000000000;
    return c;
}

static void nap(int ms)
{
    const struct timespec t = {.tv_nsec = 1000000L * ms};
    nanosleep(&t, NULL);
}

/* All begin together; the last rank starts the collective late, and it takes a while. */
static void run_step(pod_timeline *tl, const pod_clock *c, int64_t step)
{
    const bool is_late = rank == size - 1;
    pod_comm_barrier(comm);
    const pod_time begin = pod_clock_now(c);
    pod_timeline_begin_step(tl, step, begin);
    if (is_late) nap(60);
    const pod_time started = pod_clock_now(c);
    pod_timeline_add(tl, POD_LANE_COMPUTE, POD_PHASE_REDUCE, 0, begin, started);
    if (is_late) nap(40);
    pod_comm_barrier(comm);
    const pod_time end = pod_clock_now(c);
    pod_timeline_add(tl, POD_LANE_COMPUTE, POD_PHASE_REDUCE, 1, started, end);
    pod_timeline_add(tl, POD_LANE_COMM, POD_PHASE_REDUCE, 1, started, end);
    pod_timeline_mark(tl, POD_LANE_FILE, POD_DEED_SAVE_COPY, step + 1, begin, end);
    pod_timeline_end_step(tl, end);
}

static double number(const cJSON *e, const char *key)
{
    const cJSON *item = cJSON_GetObjectItem(e, key);
    return cJSON_IsNumber(item) ? item->valuedouble : -1;
}

/* The number of the step that the event is, 0 for any other. */
static int step_of(const cJSON *e)
{
    int step;
    const char *name = cJSON_GetObjectItem(e, "name")->valuestring;
    return sscanf(name, "step %d", &step) == 1 && step >= 1 && step <= N_STEPS ? step : 0;
}

/* Steps of one number begin together on all ranks: behind a barrier, so before any rank ends it.
 * Arrows come from the last rank. */
static void check_events(const char *path)
{
    char *text;
    pod_arena *a;
    POD_CHECK_OK(pod_arena_create(NULL, &a));
    POD_CHECK_OK(pod_file_read_text(a, path, 1 << 20, &text));
    cJSON *root = cJSON_Parse(text);
    double first_end[N_STEPS + 1];
    for (int i = 0; i <= N_STEPS; i++) first_end[i] = HUGE_VAL;
    int n_steps = 0;
    const cJSON *e;
    cJSON_ArrayForEach(e, cJSON_GetObjectItem(root, "traceEvents"))
    {
        const int step = step_of(e);
        if (strcmp(cJSON_GetObjectItem(e, "ph")->valuestring, "s") == 0)
            CU_ASSERT_EQUAL(number(e, "pid"), size - 1);
        if (step > 0) first_end[step] = fmin(first_end[step], number(e, "ts") + number(e, "dur"));
    }
    cJSON_ArrayForEach(e, cJSON_GetObjectItem(root, "traceEvents"))
    {
        const int step = step_of(e);
        n_steps += step > 0;
        POD_CHECK(step == 0 || (number(e, "ts") < first_end[step] &&
                                (step == 1 || first_end[step - 1] == HUGE_VAL ||
                                 number(e, "ts") >= first_end[step - 1])),
                  "rank %g begins step %d at %g us, the first to end it does at %g",
                  number(e, "pid"), step, number(e, "ts"), first_end[step]);
    }
    CU_ASSERT_EQUAL(n_steps, KEPT * size);
    cJSON_Delete(root);
    pod_arena_destroy(a);
}

static void test_clocks_apart(void)
{
    const pod_clock c = clock_of_rank();
    const pod_timeline_plan plan = {
        .rank = rank, .max_steps = N_STEPS, .max_events = 8, .kept_steps = KEPT};
    pod_timeline *tl = NULL;
    pod_clock_offset early;
    char path[600];
    snprintf(path, sizeof path, "%s/timeline.json", pod_test_dir());
    POD_CHECK_OK(pod_mesh_parse("1", &program.mesh));
    program.mesh.extent[0] = size;
    coll[0].args.group = pod_group_all(&program.mesh);
    POD_CHECK_OK(pod_timeline_create(&plan, &tl));
    POD_CHECK_OK(pod_run_trace_clock(comm, &c, &early));
    for (int64_t step = 0; step < N_STEPS; step++) run_step(tl, &c, step);
    const pod_run_trace run = {
        .comm = comm, .clock = &c, .timeline = tl, .program = &program, .attempt = 1};
    POD_CHECK_OK(pod_run_trace_write(&run, &early, path));
    if (rank == 0) {
        char why[256] = "";
        pod_trace_counts n;
        POD_CHECK(pod_trace_check(path, &n, why, sizeof why), "%s", why);
        CU_ASSERT(n.ranks == size && n.steps == KEPT * size && n.file == KEPT * size);
        POD_CHECK(n.arrows == KEPT * (size - 1), "%d arrows", n.arrows);
        check_events(path);
    }
    POD_CHECK_FAILS(pod_run_trace_write(&run, &early, "/nowhere/timeline.json"), POD_E_IO,
                    "/nowhere");
    pod_timeline_destroy(tl);
}

static void test_no_steps(void)
{
    const pod_clock c = clock_of_rank();
    const pod_timeline_plan plan = {.rank = rank, .max_events = 8, .kept_steps = KEPT};
    pod_timeline *tl = NULL;
    pod_clock_offset early;
    POD_CHECK_OK(pod_timeline_create(&plan, &tl));
    POD_CHECK_OK(pod_run_trace_clock(comm, &c, &early));
    const pod_run_trace run = {.comm = comm, .clock = &c, .timeline = tl, .program = &program};
    POD_CHECK_OK(pod_run_trace_write(&run, &early, "/nowhere/timeline.json")); /* nothing to say */
    pod_timeline_destroy(tl);
}

POD_TEST_SUITE_WITH("run_trace", open_comm, close_comm,
                    {"clocks a quarter of an hour apart", test_clocks_apart},
                    {"no steps", test_no_steps});
