/* goodput.json while a job runs: what it tells is what an account of the job's log tells, its windows
 * are redone in comments, and rewriting it takes no memory. */
#include <cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/base/rng.h"
#include "runtime/core/file.h"
#include "runtime/goodput/goodput_live.h"
#include "tests/harness/harness.h"

/* ---- calls of the allocator by our own code; names are the linker's ---- */

static long n_calls;

#define COUNT(result, name, params, args) \
    result __real_##name params;          \
    result __wrap_##name params;          \
    result __wrap_##name params           \
    {                                     \
        n_calls++;                        \
        return __real_##name args;        \
    }

COUNT(void *, malloc, (size_t bytes), (bytes))
COUNT(void *, calloc, (size_t n, size_t bytes), (n, bytes))
COUNT(void *, realloc, (void *p, size_t bytes), (p, bytes))
COUNT(FILE *, fopen, (const char *path, const char *mode), (path, mode))

/* ---- a job that is played ---- */

static const pod_stamp start = 1700000000000000000, second = 1000000000;

typedef struct play {
    char dir[600], path[640];
    pod_job_log log;
    pod_goodput_live *live;
    pod_stamp now;
} play;

static pod_stamp ns(double s) { return (pod_stamp)(s * 1e9); }

static void begin(play *p, const char *name, int attempt, pod_stamp at, int64_t from)
{
    *p = (play){.now = at, .log = pod_job_start(at)};
    snprintf(p->dir, sizeof p->dir, "%s/%s", pod_test_dir(), name);
    snprintf(p->path, sizeof p->path, "%s/goodput.json", p->dir);
    if (attempt == 1) POD_CHECK_OK(pod_job_clear(p->dir));
    const pod_job_head head = {attempt, 0, 1, "1", "mlp", "glyphs", "node7", 1, at};
    POD_CHECK_OK(pod_job_writer_open(p->dir, &head, &p->log.writer));
    pod_job_from(&p->log, from, 0, at);
    const pod_goodput_live_plan plan = {.path = p->path,
                                        .clock = "wall",
                                        .machine = "host",
                                        .dir = p->dir,
                                        .attempt = attempt,
                                        .ideal = {6e9, 1e10, 1, 2, 1, 0}};
    POD_CHECK_OK(pod_goodput_live_open(&plan, &p->log, &p->live));
}

static void end(play *p)
{
    POD_CHECK_OK(pod_goodput_live_close(p->live));
    POD_CHECK_OK(pod_job_writer_close(p->log.writer));
}

static void step(play *p, double work_s, double input_s)
{
    pod_job_begin(&p->log, POD_JOB_STEP, p->now);
    p->now += ns(work_s) + ns(input_s);
    pod_job_end_step(&p->log, (pod_job_step){.step = p->log.last.step + 1, .input = ns(input_s)},
                     p->now);
    pod_goodput_live_at(p->live, &p->log, p->now);
}

static void span(play *p, pod_job_span s, double took_s)
{
    pod_job_begin(&p->log, s, p->now);
    p->now += ns(took_s);
    pod_job_end(&p->log, s, p->now);
}

static void end_json(void *o) { cJSON_Delete(o); }

static const cJSON *parsed(const char *text)
{
    cJSON *o = cJSON_Parse(text);
    POD_CHECK(o != NULL, "not JSON: %s", text);
    pod_test_at_end(end_json, o);
    return o;
}

static const cJSON *read_file(const play *p)
{
    char *text = NULL;
    POD_NEED_OK(pod_file_read_text(pod_test_arena(), p->path, 1 << 16, &text));
    return parsed(text);
}

static double number(const cJSON *o, const char *key)
{
    const cJSON *item = cJSON_GetObjectItem(o, key);
    POD_CHECK(cJSON_IsNumber(item), "%s is no number", key);
    return item ? item->valuedouble : (double)NAN;
}

static double window(const cJSON *o, const char *seconds)
{
    return number(cJSON_GetObjectItem(o, "interval_goodput"), seconds);
}

/* ---- tests ---- */

/* What is not saved yet is not lost: it is no 0 %. */
static void check_nothing_saved(const play *p)
{
    const cJSON *o = read_file(p);
    const cJSON *windows = cJSON_GetObjectItem(o, "interval_goodput");
    const char *note = cJSON_GetStringValue(cJSON_GetObjectItem(o, "runtime_note"));
    CU_ASSERT_TRUE(cJSON_IsNull(cJSON_GetObjectItem(o, "runtime_goodput")));
    CU_ASSERT_TRUE(cJSON_IsNull(cJSON_GetObjectItem(windows, "60")));
    POD_CHECK(note && strncmp(note, "nothing saved yet", 17) == 0, "'%s'", note ? note : "");
}

/* 200 steps of 0.75 s of work behind 0.25 s of waiting, from 0 on; a save begins behind step 190
 * and is whole behind 195. At 200 s: kept 190 x 0.75 of 200 s. The last 60 s, from 141 to 200, are
 * seconds 141 .. 200 less what has not come: 49 of them are kept, 59 s have gone. Of 300 and 900 s
 * there are the 200 of the job. */
static void windows_by_hand(void)
{
    play p;
    begin(&p, "windows", 1, start, 0);
    for (int i = 1; i <= 200; i++) {
        step(&p, 0.75, 0.25);
        if (i == 180) check_nothing_saved(&p);
        if (i == 190) pod_job_save_begin(&p.log);
        if (i == 195) pod_job_keep_step(&p.log, 190, p.now);
    }
    const cJSON *o = read_file(&p);
    CU_ASSERT_EQUAL(number(o, "total_elapsed_time_ns"), 200e9);
    CU_ASSERT_EQUAL(number(o, "goodput_time_s"), 142.5);
    CU_ASSERT_EQUAL(number(o, "runtime_goodput"), 142.5 / 200);
    CU_ASSERT_PTR_NULL(cJSON_GetObjectItem(o, "runtime_note"));
    POD_CHECK(fabs(number(o, "unsaved_time_s") - 7.5) < 1e-12, "%.15g",
              number(o, "unsaved_time_s"));
    CU_ASSERT_EQUAL(number(o, "n_steps"), 190);
    CU_ASSERT_EQUAL(number(o, "n_unsaved_steps"), 10);
    CU_ASSERT_EQUAL(number(o, "step"), 200);
    CU_ASSERT_EQUAL(number(o, "kept_step"), 190);
    CU_ASSERT_EQUAL(number(o, "max_productive_step"), 190);
    CU_ASSERT_EQUAL(number(o, "attempt"), 1);
    CU_ASSERT_EQUAL(number(o, "disruption_count"), 0);
    CU_ASSERT_TRUE(cJSON_IsTrue(cJSON_GetObjectItem(o, "running")));
    POD_CHECK(fabs(window(o, "60") - 49 * 0.75 / 59) < 1e-12, "%.15g", window(o, "60"));
    POD_CHECK(fabs(window(o, "300") - 142.5 / 200) < 1e-12, "%.15g", window(o, "300"));
    CU_ASSERT_EQUAL(window(o, "900"), window(o, "300"));
    CU_ASSERT_EQUAL(number(o, "step_time_usual_s"), 1);
    CU_ASSERT_EQUAL(number(o, "step_time_deviation"), 0);
    CU_ASSERT_EQUAL(number(o, "step_s"), 1);
    POD_CHECK(fabs(number(o, "program_goodput") - 0.6) < 1e-12, "0.6 s for 6e9 FLOP, in 1");
    end(&p);
}

/* Work goes into the seconds it was done in: a step of 10 s that ends at 70 is no more of the last
 * 60 s than what lies in them. Steps: 0 to 60, 60 to 70. From 11 to 70: 59 s, all of them work. */
static void long_steps_fill_their_seconds(void)
{
    play p;
    begin(&p, "long", 1, start, 0);
    step(&p, 60, 0);
    step(&p, 10, 0);
    pod_job_keep_step(&p.log, 2, p.now);
    p.now += second;
    pod_goodput_live_at(p.live, &p.log, p.now); /* at 71: from 12 on, 58 of 59 s */
    const cJSON *o = read_file(&p);
    POD_CHECK(fabs(window(o, "60") - 58. / 59) < 1e-12, "%.15g", window(o, "60"));
    end(&p);
}

/* 2,000 steps: of the last 1,000 the median is 1 s; 12 of the last 100 take 3 s. */
static void steps_that_stray(void)
{
    play p;
    begin(&p, "stray", 1, start, 0);
    for (int i = 0; i < 2000; i++)
        step(&p, i < 1000 ? 5 : i >= 1900 && i % 8 == 0 ? 3 : 1 + i % 2 * 0.25 - 0.125, 0);
    step(&p, 1, 0);
    const cJSON *o = read_file(&p);
    CU_ASSERT_EQUAL(number(o, "step_time_usual_s"), 1.125);
    CU_ASSERT_EQUAL(number(o, "step_time_p90_s"), 3);
    POD_CHECK(fabs(number(o, "step_time_deviation") - (3 / 1.125 - 1)) < 1e-12, "%.15g",
              number(o, "step_time_deviation"));
    end(&p);
}

/* Once a second, and each file is new: an old one that is open stays as it was. */
static void once_a_second(void)
{
    play p;
    begin(&p, "often", 1, start, 0);
    step(&p, 0.5, 0);
    const cJSON *first = read_file(&p);
    FILE *old = fopen(p.path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(old);
    step(&p, 0.5, 0);
    step(&p, 0.49, 0); /* 0.99 s later */
    const cJSON *same = read_file(&p);
    CU_ASSERT_EQUAL(number(same, "step"), 1);
    step(&p, 0.01, 0);
    const cJSON *next = read_file(&p);
    CU_ASSERT_EQUAL(number(next, "step"), 4);
    char text[4096];
    const size_t bytes = fread(text, 1, sizeof text - 1, old);
    text[bytes] = '\0';
    fclose(old);
    const cJSON *kept = parsed(text);
    CU_ASSERT_TRUE(cJSON_Compare(first, kept, true));
    snprintf(text, sizeof text, "%s" POD_FILE_PART, p.path);
    CU_ASSERT_NOT_EQUAL(access(text, F_OK), 0);
    end(&p);
}

/* What the file tells equals rank 0's account, from the job's log, at the same time. */
static void check_against_log(const play *p, const char *when)
{
    pod_job j;
    pod_account want = {0};
    POD_CHECK_OK(pod_job_read(pod_test_arena(), p->dir, &j));
    POD_CHECK_OK(pod_account_rank(&j, 0, p->now, &want));
    const cJSON *o = read_file(p);
    CU_ASSERT_EQUAL(number(o, "accounted_until_ns"), (double)p->now);
    const cJSON *by = cJSON_GetObjectItem(o, "categories_ns");
    for (int s = 0; s < POD_N_JOB_SPANS; s++)
        POD_CHECK(number(by, pod_job_span_name((pod_job_span)s)) == (double)want.by_span[s],
                  "%s: %.9g s of %s, want %.9g", when,
                  number(by, pod_job_span_name((pod_job_span)s)) * 1e-9,
                  pod_job_span_name((pod_job_span)s), pod_stamp_seconds(want.by_span[s]));
    CU_ASSERT_EQUAL(number(o, "total_elapsed_time_ns"), (double)want.wall);
    CU_ASSERT_EQUAL(number(o, "unsaved_time_s"), pod_stamp_seconds(want.unsaved));
    CU_ASSERT_EQUAL(number(o, "n_steps"), (double)want.n_steps);
    CU_ASSERT_EQUAL(number(o, "n_lost_steps"), (double)want.n_lost_steps);
    CU_ASSERT_EQUAL(number(o, "n_unsaved_steps"), (double)want.n_unsaved_steps);
    CU_ASSERT_EQUAL(number(o, "max_productive_step"), (double)want.max_productive_step);
    CU_ASSERT_EQUAL(number(o, "disruption_count"), want.n_disruptions);
    CU_ASSERT_EQUAL(number(o, "attempts"), want.n_attempts);
}

/* Each attempt dies; the next begins a while later, behind the last step that was kept. */
static void later_attempts_carry_on(void)
{
    pod_rng r = pod_rng_at(1, (pod_place){.stream = POD_STREAM_TEST});
    pod_stamp at = start;
    int64_t from = 0;
    for (int attempt = 1; attempt <= 4; attempt++) {
        play p;
        char when[64];
        begin(&p, "carried", attempt, at, from);
        span(&p, POD_JOB_BUILD, 3);
        for (int i = 0; i < 40; i++) {
            step(&p, 1 + (double)pod_rng_below(&r, 8) / 8 + 2 * (i == 0), 0.125);
            snprintf(when, sizeof when, "attempt %d, step %d", attempt, i);
            if (i > 0) check_against_log(&p, when); /* before, it does not know a usual step */
            if (i % 10 == 7) pod_job_save_begin(&p.log);
            if (i % 10 == 9) pod_job_keep_step(&p.log, p.log.last.step - 2, p.now);
            if (i % 10 == 8) span(&p, POD_JOB_EVAL, 1.5);
        }
        from = p.log.kept_step;
        at = p.now + ns(20);
        end(&p);
    }
    CU_ASSERT_EQUAL(from, 4 * 38);
}

/* The windows of a new attempt look back beyond its begin. An attempt of 100 steps of a second, 90
 * of them kept; 10 s later the next does 20. At 130 s, of the last 60, from 71 on: 19 s kept until
 * 90; 10 lost, 10 s of nothing, 20 not kept yet. */
static void windows_look_back(void)
{
    play p;
    begin(&p, "back", 1, start, 0);
    for (int i = 0; i < 100; i++) {
        step(&p, 1, 0);
        if (i == 89) pod_job_keep_step(&p.log, 90, p.now);
    }
    const pod_stamp at = p.now + ns(10);
    end(&p);
    begin(&p, "back", 2, at, 90);
    for (int i = 0; i < 20; i++) step(&p, 1, 0);
    const cJSON *o = read_file(&p);
    POD_CHECK(fabs(window(o, "60") - 19. / 59) < 1e-12, "%.15g", window(o, "60"));
    POD_CHECK(fabs(window(o, "900") - 90. / 130) < 1e-12, "%.15g", window(o, "900"));
    end(&p);
}

/* Attempt 1 does 10 steps of a second and keeps them all, but the checkpoint is damaged: attempt 2
 * goes on from 5 and does 5, kept; attempt 3 does 5 more. No time lies between. At 20 s: 5 and 5 s
 * are kept of 20. */
static void an_attempt_may_undo_what_was_kept(void)
{
    play p;
    pod_stamp at = start;
    for (int attempt = 1; attempt <= 3; attempt++) {
        static const int from[] = {0, 5, 10}, n[] = {10, 5, 5};
        begin(&p, "undone", attempt, at, from[attempt - 1]);
        for (int i = 0; i < n[attempt - 1]; i++) step(&p, 1, 0);
        if (attempt < 3) pod_job_keep_step(&p.log, 10, p.now);
        at = p.now;
        if (attempt < 3) end(&p);
    }
    const cJSON *o = read_file(&p);
    CU_ASSERT_EQUAL(number(o, "n_steps"), 10);
    CU_ASSERT_EQUAL(number(o, "n_lost_steps"), 5);
    POD_CHECK(fabs(window(o, "60") - 0.5) < 1e-12, "%.15g", window(o, "60"));
    end(&p);
}

static void no_memory_in_a_step(void)
{
    play p;
    begin(&p, "memory", 1, start, 0);
    CU_ASSERT_TRUE(n_calls > 0);
    const long before = n_calls;
    for (int i = 0; i < 2500; i++) step(&p, 0.5, 0);
    CU_ASSERT_EQUAL(n_calls, before);
    const cJSON *o = read_file(&p);
    CU_ASSERT_EQUAL(number(o, "step"), 2499);
    end(&p);
}

static void failures(void)
{
    play p;
    begin(&p, "failing", 1, start, 0);
    POD_CHECK_OK(pod_goodput_live_close(p.live));
    POD_CHECK_OK(pod_goodput_live_close(NULL));
    pod_goodput_live_at(NULL, &p.log, p.now);
    pod_goodput_live_plan plan = {
        .path = "/nowhere/goodput.json", .clock = "", .machine = "", .dir = "", .attempt = 1};
    POD_CHECK_OK(pod_goodput_live_open(&plan, &p.log, &p.live));
    step(&p, 1, 0);
    POD_CHECK_FAILS(pod_goodput_live_close(p.live), POD_E_IO,
                    "/nowhere/goodput.json: cannot write: No such file");
    p.live = NULL;
    plan.dir = "/nowhere";
    POD_CHECK_FAILS(pod_goodput_live_open(&plan, &p.log, &p.live), POD_E_IO, "/nowhere/job");
    plan.dir = p.dir;
    plan.attempt = 2;
    plan.path = p.path;
    POD_CHECK_OK(pod_goodput_live_open(&plan, &p.log, &p.live));
    step(&p, 1, 0);
    const cJSON *o = read_file(&p);
    const cJSON *note = cJSON_GetObjectItem(o, "earlier_attempts_note");
    POD_CHECK(cJSON_IsString(note) && strstr(note->valuestring, "no record of attempt 2"),
              "nothing is said of earlier attempts");
    CU_ASSERT_EQUAL(number(o, "total_elapsed_time_ns"), 2e9);
    end(&p);
}

POD_TEST_SUITE("runtime.goodput_live", {"windows by hand", windows_by_hand},
               {"long steps fill their seconds", long_steps_fill_their_seconds},
               {"steps that stray", steps_that_stray}, {"once a second", once_a_second},
               {"later attempts carry on", later_attempts_carry_on},
               {"windows look back", windows_look_back},
               {"an attempt may undo what was kept", an_attempt_may_undo_what_was_kept},
               {"no memory in a step", no_memory_in_a_step}, {"failures", failures});
