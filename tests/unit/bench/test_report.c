/* What a report takes of a run's files: results, and curves of steps with few enough points. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/report/report.h"
#include "tests/harness/harness.h"

static const char record[] =
    "{\"schema\": \"minipod.run\", \"model\": \"mlp\", \"ranks\": 2, \"target\": 0.9,"
    " \"step_s\": 0.00125, \"time_to_target_s\": null, \"host\": {\"cpu_model\": \"a CPU\"},"
    " \"cautions\": [\"ranks share 1 core\", 3], \"date\": \"2026-01-02T03:04:05Z\","
    " \"settings\": {\"batch\": \"64\", \"lr\": \"0.1\"},"
    " \"evaluations\": [{\"epochs\": 1, \"accuracy\": 0.5, \"time_s\": 2},"
    " {\"epochs\": 2, \"accuracy\": null, \"time_s\": 3}, {\"epochs\": 3, \"accuracy\": 0.7,"
    " \"time_s\": 4}], \"phase_share\": {\"input\": 0, \"forward\": 0.25, \"backward\": 0.75}}";

static bool has(pod_arena *a, const pod_report_run *r, const char *name, const char *want)
{
    int i = 0;
    while (pod_report_result_name(i) && strcmp(pod_report_result_name(i), name) != 0) i++;
    return pod_report_result_name(i) && strcmp(pod_report_result(a, r, i), want) == 0;
}

static void test_record(void)
{
    pod_arena *a = pod_test_arena();
    pod_report_run r;
    POD_CHECK_OK(pod_report_parse(a, "runs/a", record, NULL, NULL, &r));
    CU_ASSERT(has(a, &r, "model", "mlp"));
    CU_ASSERT(has(a, &r, "CPU", "a CPU"));
    CU_ASSERT(has(a, &r, "step, median, ms", "1.250"));
    CU_ASSERT(has(a, &r, "time to target, s", "-"));
    CU_ASSERT(has(a, &r, "minipod, git", "-"));
    CU_ASSERT(has(a, &r, "ended", "2026-01-02T03:04:05Z"));
    CU_ASSERT_STRING_EQUAL(pod_report_setting(a, &r, "lr"), "0.1");
    CU_ASSERT_STRING_EQUAL(pod_report_setting(a, &r, "seed"), "-");
    CU_ASSERT_EQUAL(r.by_epoch.n, 2);
    CU_ASSERT(r.by_time.x[1] == 4 && r.by_epoch.x[1] == 3 && r.by_epoch.y[1] == 0.7);
    CU_ASSERT_EQUAL(r.n_phases, 2);
    CU_ASSERT(r.phase[1].share == 0.75);
    CU_ASSERT(r.step.n == 0 && r.n_categories == 0);
    pod_report_close(&r);
}

static void test_categories(void)
{
    pod_arena *a = pod_test_arena();
    pod_report_run r;
    POD_CHECK_OK(pod_report_parse(a, "runs/a", record, NULL,
                                  "{\"categories_ns\": {\"A\": 3000, \"B\": 0, \"C\": 1000},"
                                  " \"runtime_goodput\": 0.435}",
                                  &r));
    CU_ASSERT(has(a, &r, "runtime goodput, %", "43.50"));
    CU_ASSERT_EQUAL(r.n_categories, 2);
    CU_ASSERT(r.category[0].share == 0.75 && r.category[1].share == 0.25);
    pod_report_close(&r);
}

/* 1,203 steps of 1, 2, 3, ... ms and a loss of 2 each: three make a point, whose time is the middle
 * one's and which stands at the last. */
static void test_steps(void)
{
    enum { N = 1203, EACH = 3 };
    char *text;
    size_t bytes;
    pod_arena *a = pod_test_arena();
    pod_report_run r;
    FILE *to = open_memstream(&text, &bytes);
    fputs("# clock wall\nstep,loss,total_s\n# attempt 1\n", to);
    for (int i = 1; i <= N; i++) fprintf(to, "%d,2,%.3f\n", i, i / 1000.0);
    fclose(to);
    POD_CHECK_OK(pod_report_parse(a, "runs/a", record, text, NULL, &r));
    CU_ASSERT_EQUAL(r.step.n, N / EACH);
    for (int i = 0; i < r.step.n; i++)
        POD_CHECK(r.step.x[i] == EACH * (i + 1) && fabs(r.step.y[i] - (EACH * i + 2)) < 1e-9 &&
                      r.loss.y[i] == 2,
                  "point %d: step %g, %g ms, loss %g", i, r.step.x[i], r.step.y[i], r.loss.y[i]);
    pod_report_close(&r);
    free(text);
}

/* An empty cell is none, and not the number that the next line begins with. */
static void test_empty_cell(void)
{
    pod_arena *a = pod_test_arena();
    pod_report_run r;
    POD_CHECK_OK(
        pod_report_parse(a, "runs/a", record, "step,total,loss\n1,0.1,\n2,0.1,3\n", NULL, &r));
    CU_ASSERT(r.loss.n == 2 && isnan(r.loss.y[0]) && r.loss.y[1] == 3);
    pod_report_close(&r);
}

static void test_refused(void)
{
    pod_arena *a = pod_test_arena();
    pod_report_run r;
    POD_CHECK_FAILS(pod_report_parse(a, "runs/a", "{}", NULL, NULL, &r), POD_E_FORMAT,
                    "runs/a/run.json: is no record of a run");
    POD_CHECK_FAILS(pod_report_parse(a, "runs/a", record, "a,b\n1,2\n", NULL, &r), POD_E_FORMAT,
                    "runs/a/steps.csv: has no columns");
    POD_CHECK_FAILS(pod_report_parse(a, "runs/a", record, NULL, "{", &r), POD_E_FORMAT,
                    "runs/a/goodput.json: is no JSON");
}

POD_TEST_SUITE("bench.report", {"a record", test_record}, {"categories", test_categories},
               {"steps become points", test_steps}, {"an empty cell", test_empty_cell},
               {"what is refused", test_refused});
