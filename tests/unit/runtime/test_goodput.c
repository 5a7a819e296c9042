/* Goodput of a hand-made job: categories close to the wall clock, factors redone in comments. */
#include <cJSON.h>
#include <math.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "runtime/core/file.h"
#include "runtime/measure/goodput.h"
#include "tests/harness/harness.h"

static const pod_stamp start = 1700000000000000000, second = 1000000000;

static void span(pod_job_log *l, pod_job_span s, double from_s, double to_s)
{
    pod_job_begin(l, s, start + (pod_stamp)(from_s * 1e9));
    pod_job_end(l, s, start + (pod_stamp)(to_s * 1e9));
}

/* Seconds: 0-2 init, 2-3 prep, 3.5-5 build; steps 5-10, saved 10-11; eval 11-13; steps 13-17; end
 * at 20. */
static pod_job_log make_job(bool ends_well)
{
    pod_job_log l = pod_job_start(start);
    span(&l, POD_JOB_INIT, 0, 2);
    span(&l, POD_JOB_PREP, 2, 3);
    span(&l, POD_JOB_BUILD, 3.5, 5);
    for (int i = 0; i < 5; i++) span(&l, POD_JOB_STEP, 5 + i, 6 + i);
    pod_job_move(&l, POD_JOB_STEP, POD_JOB_BUILD, second / 2); /* the first step was slow */
    span(&l, POD_JOB_SAVE, 10, 11);
    pod_job_keep(&l);
    span(&l, POD_JOB_EVAL, 11, 13);
    for (int i = 0; i < 4; i++) {
        span(&l, POD_JOB_STEP, 13 + i, 14 + i);
        pod_job_move(&l, POD_JOB_STEP, POD_JOB_INPUT_WAIT, second / 4);
    }
    if (ends_well) pod_job_keep(&l);
    pod_job_finish(&l, start + 20 * second);
    return l;
}

static void check_closes(const pod_job_log *l)
{
    pod_stamp sum = 0;
    for (int s = 0; s < POD_N_JOB_SPANS; s++) sum += l->by_span[s];
    CU_ASSERT_EQUAL(sum, l->ended - l->begun);
}

static void categories_close(void)
{
    pod_job_log l = make_job(true);
    check_closes(&l);
    CU_ASSERT_EQUAL(l.by_span[POD_JOB_INIT], 2 * second);
    CU_ASSERT_EQUAL(l.by_span[POD_JOB_BUILD], 2 * second);     /* 1.5 + 0.5 */
    CU_ASSERT_EQUAL(l.by_span[POD_JOB_STEP], 15 * second / 2); /* 5 + 4 - 0.5 - 4 x 0.25 */
    CU_ASSERT_EQUAL(l.by_span[POD_JOB_INPUT_WAIT], second);
    CU_ASSERT_EQUAL(l.by_span[POD_JOB_LOST_STEP], 0);
    CU_ASSERT_EQUAL(l.by_span[POD_JOB_OTHER], 7 * second / 2); /* 3-3.5 and 17-20 */
    CU_ASSERT_EQUAL(l.n_steps, 9);
}

static void steps_not_kept_are_lost(void)
{
    pod_job_log l = make_job(false);
    check_closes(&l);
    CU_ASSERT_EQUAL(l.by_span[POD_JOB_STEP], 9 * second / 2);  /* 5 - 0.5, saved at 11 */
    CU_ASSERT_EQUAL(l.by_span[POD_JOB_LOST_STEP], 3 * second); /* 4 - 4 x 0.25 */
    CU_ASSERT_EQUAL(l.by_span[POD_JOB_INPUT_WAIT], second);
}

static void odd_nanoseconds_close(void)
{
    pod_job_log l = pod_job_start(start);
    pod_stamp now = start;
    for (int i = 0; i < 1000; i++) {
        pod_job_begin(&l, POD_JOB_STEP, now += 3);
        pod_job_end(&l, POD_JOB_STEP, now += 1000 * i + 7);
        pod_job_move(&l, POD_JOB_STEP, POD_JOB_INPUT_WAIT, i % 13);
    }
    pod_job_move(&l, POD_JOB_STEP, POD_JOB_BUILD, INT64_MAX / 2); /* at most what there is */
    CU_ASSERT_EQUAL(l.by_span[POD_JOB_STEP], 0);
    pod_job_finish(&l, now + 1);
    check_closes(&l);
    CU_ASSERT_EQUAL(l.by_span[POD_JOB_OTHER], 3001);
}

/* 6e9 FLOPs a step, 2 cores of 1e10 FLOP/s at work (4 ranks share them): ideal 0.3 s, real 0.5. */
static const pod_ideal ideal = {6e9, 1e10, 4, 2, 0.5};

static void factors(void)
{
    pod_job_log l = make_job(true);
    pod_goodput g = pod_goodput_of(&l, &ideal);
    POD_CHECK(pod_test_near(g.ideal_step_s, 0.3, 1e-15), "%g", g.ideal_step_s);
    POD_CHECK(pod_test_near(g.program, 0.6, 1e-15), "%g", g.program);
    POD_CHECK(pod_test_near(g.runtime, 7.5 / 20, 1e-15), "%g", g.runtime);
    CU_ASSERT_TRUE(isnan(g.scheduling));
    pod_ideal fewer = ideal, unknown = ideal;
    fewer.ranks = 1;
    POD_CHECK(pod_test_near(pod_ideal_step_s(&fewer), 0.6, 1e-15), "one rank on two cores");
    unknown.peak_flop_per_s = 0;
    CU_ASSERT_TRUE(isnan(pod_goodput_of(&l, &unknown).program));
}

static double number(const cJSON *o, const char *key)
{
    const cJSON *item = cJSON_GetObjectItem(o, key);
    POD_CHECK(cJSON_IsNumber(item), "%s is no number", key);
    return item ? item->valuedouble : (double)NAN;
}

static void file_closes_too(void)
{
    char path[600];
    snprintf(path, sizeof path, "%s/goodput.json", pod_test_dir());
    pod_job_log l = make_job(false);
    POD_CHECK_OK(pod_goodput_write(path, "wall", "host", &l, &ideal));
    pod_arena *a;
    char *text;
    POD_CHECK_OK(pod_arena_create(NULL, &a));
    POD_CHECK_OK(pod_file_read_text(a, path, 1 << 20, &text));
    cJSON *o = cJSON_Parse(text);
    POD_CHECK(o != NULL, "not JSON: %s", text);
    double sum = 0;
    int n = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(o, "categories_ns"))
    {
        sum += item->valuedouble;
        n++;
    }
    CU_ASSERT_EQUAL(n, POD_N_JOB_SPANS);
    CU_ASSERT_EQUAL(sum, number(o, "total_elapsed_time_ns")); /* 2e10: exact in a double */
    CU_ASSERT_EQUAL(number(o, "program_goodput") * number(o, "step_s"), number(o, "ideal_step_s"));
    CU_ASSERT_EQUAL(number(cJSON_GetObjectItem(o, "categories_ns"), "TPU_INITIALIZATION"), 2e9);
    CU_ASSERT_TRUE(cJSON_IsNull(cJSON_GetObjectItem(o, "scheduling_goodput")));
    CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(o, "clock")->valuestring, "wall");
    CU_ASSERT_STRING_EQUAL(pod_job_span_text(POD_JOB_INIT), "ACCELERATOR_INITIALIZATION");
    cJSON_Delete(o);
    pod_arena_destroy(a);
    POD_CHECK_FAILS(pod_goodput_write("/nowhere/g", "wall", "host", &l, &ideal), POD_E_IO,
                    "/nowhere");
}

static CU_TestInfo tests[] = {
    {"categories close", categories_close},
    {"steps not kept are lost", steps_not_kept_are_lost},
    {"odd nanoseconds close", odd_nanoseconds_close},
    {"factors", factors},
    {"file closes too", file_closes_too},
    CU_TEST_INFO_NULL,
};

CU_SuiteInfo pod_test_suites[] = {
    {"runtime.goodput", NULL, NULL, NULL, NULL, tests},
    CU_SUITE_INFO_NULL,
};
