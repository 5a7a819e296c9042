/* The log of a hand-made job and its goodput: categories close to the wall clock, factors redone in
 * comments. */
#include <cJSON.h>
#include <math.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "runtime/core/file.h"
#include "runtime/goodput/goodput.h"
#include "tests/harness/harness.h"

static const pod_stamp start = 1700000000000000000, second = 1000000000;

static void span(pod_job_log *l, pod_job_span s, double from_s, double to_s)
{
    pod_job_begin(l, s, start + (pod_stamp)(from_s * 1e9));
    pod_job_end(l, s, start + (pod_stamp)(to_s * 1e9));
}

static void step(pod_job_log *l, double from_s, double to_s, double input_s)
{
    pod_job_begin(l, POD_JOB_STEP, start + (pod_stamp)(from_s * 1e9));
    pod_job_end_step(l,
                     (pod_job_step){.step = l->last.step + 1, .input = (pod_stamp)(input_s * 1e9)},
                     start + (pod_stamp)(to_s * 1e9));
}

static pod_account account_of(const pod_job_log *l)
{
    return pod_account_add(&(pod_account){0}, l, 0);
}

/* Seconds: 0-2 init, 2-3 prep, 3.5-5 build; steps 5-10, saved 10-11; eval 11-13; steps 13-17; end
 * at 20. */
static pod_job_log make_job(bool ends_well)
{
    pod_job_log l = pod_job_start(start);
    span(&l, POD_JOB_INIT, 0, 2);
    span(&l, POD_JOB_PREP, 2, 3);
    span(&l, POD_JOB_BUILD, 3.5, 5);
    for (int i = 0; i < 5; i++) step(&l, 5 + i, 6 + i, 0);
    pod_job_move(&l, POD_JOB_STEP, POD_JOB_BUILD, second / 2); /* the first step was slow */
    span(&l, POD_JOB_SAVE, 10, 11);
    pod_job_keep(&l);
    span(&l, POD_JOB_EVAL, 11, 13);
    for (int i = 0; i < 4; i++) step(&l, 13 + i, 14 + i, 0.25);
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
        pod_job_end_step(&l, (pod_job_step){.step = i + 1, .input = i % 13}, now += 1000 * i + 7);
    }
    pod_job_move(&l, POD_JOB_STEP, POD_JOB_BUILD, INT64_MAX / 2); /* at most what there is */
    CU_ASSERT_EQUAL(l.by_span[POD_JOB_STEP], 0);
    pod_job_finish(&l, now + 1);
    check_closes(&l);
    CU_ASSERT_EQUAL(l.by_span[POD_JOB_OTHER], 3001);
}

/* Ten steps of a second; saves begin behind steps 2, 4, 6, and are whole behind 4, 7, 8. */
static void a_save_keeps_what_there_was_as_it_began(void)
{
    static const int unsaved[] = {1, 2, 3, 2, 3, 4, 3, 2, 3, 4};
    static const int kept[] = {0, 0, 0, 2, 2, 2, 4, 6, 6, 6};
    pod_job_log l = pod_job_start(start);
    pod_job_from(&l, 100, 0, start);
    CU_ASSERT_EQUAL(l.kept_step, 100);
    for (int i = 0; i < 10; i++) {
        step(&l, i, i + 1, 0);
        if (i == 1 || i == 3 || i == 5) pod_job_save_begin(&l);
        if (kept[i] > (i > 0 ? kept[i - 1] : 0)) pod_job_keep_step(&l, 100 + kept[i], start);
        POD_CHECK(l.unsaved == unsaved[i] * second && l.n_unsaved == unsaved[i] &&
                      l.kept_step == 100 + kept[i] && l.kept_until == start + kept[i] * second,
                  "behind step %d: %d steps not saved, %d kept", i + 1, (int)l.n_unsaved,
                  (int)l.kept_step);
    }
    pod_job_keep_step(&l, 104, start); /* late: a later one holds more */
    CU_ASSERT_EQUAL(l.kept_step, 106);
    pod_job_keep_step(&l, 110, start); /* saved while training waited */
    CU_ASSERT_EQUAL(l.unsaved, 0);
    CU_ASSERT_EQUAL(l.kept_step, 110);
    for (int i = 10; i < 10 + 2 * POD_JOB_SAVES; i++) {
        step(&l, i, i + 1, 0);
        pod_job_save_begin(&l);
    }
    pod_job_keep_step(&l, 110 + POD_JOB_SAVES, start); /* so many began behind it: not known */
    CU_ASSERT_EQUAL(l.kept_step, 110);
    pod_job_keep_step(&l, 110 + 2 * POD_JOB_SAVES - 1, start); /* those before it have failed */
    CU_ASSERT_EQUAL(l.kept_step, 110 + 2 * POD_JOB_SAVES - 1);
    CU_ASSERT_EQUAL(l.n_unsaved, 1);
    pod_job_finish(&l, start + 100 * second);
    check_closes(&l);
    CU_ASSERT_EQUAL(l.by_span[POD_JOB_LOST_STEP], second);
}

/* Neither done nor kept, and in no file; what its parts were is cut to what it took. */
static void a_step_that_failed(void)
{
    pod_job_log l = pod_job_start(start);
    step(&l, 0, 1, 5);
    CU_ASSERT_EQUAL(l.by_span[POD_JOB_INPUT_WAIT], second);
    CU_ASSERT_EQUAL(l.by_span[POD_JOB_STEP], 0);
    span(&l, POD_JOB_STEP, 1, 3);
    CU_ASSERT_EQUAL(l.n_steps, 1);
    CU_ASSERT_EQUAL(l.unsaved, 2 * second);
    pod_job_finish(&l, start + 3 * second);
    CU_ASSERT_EQUAL(l.by_span[POD_JOB_LOST_STEP], 2 * second);
    l = pod_job_start(start);
    pod_job_begin(&l, POD_JOB_STEP, start);
    pod_job_end_step(&l, (pod_job_step){.step = 1, .input = 3, .save = 9, .reduce = 99},
                     start + 10);
    CU_ASSERT_EQUAL(l.by_span[POD_JOB_SAVE], 7);
    CU_ASSERT_EQUAL(l.last.reduce, 10);
}

/* 6e9 FLOPs a step, 2 cores of 1e10 FLOP/s at work (4 ranks share them): ideal 0.3 s, real 0.5. */
static const pod_ideal ideal = {6e9, 1e10, 4, 3, 2, 0.5};

static void factors(void)
{
    pod_job_log l = make_job(true);
    const pod_account a = account_of(&l);
    pod_goodput g = pod_goodput_of(&a, &ideal);
    POD_CHECK(pod_test_near(g.ideal_step_s, 0.3, 1e-15), "%g", g.ideal_step_s);
    POD_CHECK(pod_test_near(g.program, 0.6, 1e-15), "%g", g.program);
    POD_CHECK(pod_test_near(g.runtime, 7.5 / 20, 1e-15), "%g", g.runtime);
    CU_ASSERT_TRUE(isnan(g.scheduling));
    pod_ideal fewer = ideal, unknown = ideal;
    fewer.cores_at_work = 1;
    POD_CHECK(pod_test_near(pod_ideal_step_s(&fewer), 0.6, 1e-15), "one core at work");
    unknown.peak_flop_per_s = 0;
    CU_ASSERT_TRUE(isnan(pod_goodput_of(&a, &unknown).program));
}

static double number(const cJSON *o, const char *key)
{
    const cJSON *item = cJSON_GetObjectItem(o, key);
    POD_CHECK(cJSON_IsNumber(item), "%s is no number", key);
    return item ? item->valuedouble : (double)NAN;
}

static void file_closes_too(void)
{
    const char *path = pod_test_path("goodput.json");
    const pod_job_log l = make_job(false);
    const pod_account account = account_of(&l);
    POD_CHECK_OK(pod_goodput_write(path, "wall", "host", &account, &ideal));
    char *text;
    POD_CHECK_OK(pod_file_read_text(pod_test_arena(), path, 1 << 20, &text));
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
    CU_ASSERT_EQUAL(number(o, "version"), 2);
    CU_ASSERT_EQUAL(number(o, "accounted_ranks"), 1);
    CU_ASSERT_EQUAL(number(o, "n_steps"), 5);
    CU_ASSERT_EQUAL(number(o, "n_lost_steps"), 4);
    CU_ASSERT_EQUAL(number(o, "max_productive_step"), 5);
    CU_ASSERT_TRUE(cJSON_IsFalse(cJSON_GetObjectItem(o, "running")));
    cJSON_Delete(o);
    POD_CHECK_FAILS(pod_goodput_write("/nowhere/g", "wall", "host", &account, &ideal), POD_E_IO,
                    "/nowhere");
}

POD_TEST_SUITE("runtime.goodput", {"categories close", categories_close},
               {"steps not kept are lost", steps_not_kept_are_lost},
               {"odd nanoseconds close", odd_nanoseconds_close},
               {"a save keeps what there was as it began", a_save_keeps_what_there_was_as_it_began},
               {"a step that failed", a_step_that_failed}, {"factors", factors},
               {"file closes too", file_closes_too});
