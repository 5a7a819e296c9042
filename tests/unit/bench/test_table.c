/* Tables: what a person sees, and the same cells as CSV and JSON. */
#include <cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/common/table.h"
#include "kernels/base/arena.h"
#include "runtime/core/file.h"
#include "runtime/core/places.h"
#include "tests/harness/harness.h"

static const pod_column columns[] = {{"impl", "", true}, {"time", "us", false}, {"note", "", true}};

static pod_table *make(int n_rows)
{
    pod_table *t;
    POD_CHECK_OK(pod_table_create(columns, 3, &t));
    pod_table_note(t, "clock %s", "wall");
    for (int i = 0; i < n_rows; i++) {
        pod_table_add(t, "kernel_%d", i);
        pod_table_add(t, "%.1f", 1000.5 * i);
        pod_table_add(t, i ? "say \"a, b\"" : "  ok");
    }
    return t;
}

/* Of a text that stands last tabs are its own; what is no number is not known. */
static void a_row_at_once(void)
{
    pod_table *t = make(0);
    char *text = NULL;
    size_t bytes;
    pod_table_row(t, "a\t%.1f\t%s", -(double)NAN, "x\ty");
    pod_table_row(t, "%s\t%.1f\t-", "b", (double)INFINITY);
    FILE *to = open_memstream(&text, &bytes);
    POD_CHECK_OK(pod_table_finish(t, to, ""));
    fclose(to);
    POD_CHECK(text && strstr(text, "  a        -  x\ty\n  b        -  -\n"), "%s", text);
    free(text);
}

/* What `print` writes, to be freed. */
static char *printed(const pod_table *t)
{
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    POD_CHECK_OK(pod_table_print(t, to));
    fclose(to);
    return text;
}

static char *as_json(const pod_table *t, int line_depth)
{
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    pod_json j = pod_json_start(to, line_depth);
    pod_table_json(t, &j, NULL);
    fclose(to);
    return text;
}

static void aligned_for_a_person(void)
{
    pod_table *t = make(2);
    char *text = printed(t);
    CU_ASSERT_STRING_EQUAL(text, "# clock wall\n"
                                 "# impl        time  note\n"
                                 "#               us  \n"
                                 "  kernel_0     0.0    ok\n"
                                 "  kernel_1  1000.5  say \"a, b\"\n");
    free(text);
    pod_table_destroy(t);
}

/* Each line is there as soon as it is known; nothing is printed twice. */
static void streamed(void)
{
    static const int widths[] = {6, 6, 0};
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    pod_log log = {.out = to, .err = to, .level = POD_LOG_RESULT};
    pod_table *t;
    POD_CHECK_OK(pod_table_create(columns, 3, &t));
    pod_table_stream(t, &log, widths);
    pod_table_note(t, "clock wall");
    fflush(to);
    CU_ASSERT_STRING_EQUAL(text, "# clock wall\n");
    pod_table_add(t, "ring");
    pod_table_add(t, "12.5");
    fflush(to);
    CU_ASSERT_STRING_EQUAL(text, "# clock wall\n");
    pod_table_add(t, "a");
    fflush(to);
    const char *const rows = "# clock wall\n"
                             "# impl      time  note\n"
                             "#             us  \n"
                             "  ring      12.5  a\n";
    CU_ASSERT_STRING_EQUAL(text, rows);
    pod_table_footer(t);
    pod_table_note(t, "all well");
    POD_CHECK_OK(pod_table_print(t, to));
    fflush(to);
    CU_ASSERT_EQUAL(strncmp(text, rows, strlen(rows)), 0);
    CU_ASSERT_STRING_EQUAL(text + strlen(rows), "# all well\n");
    fclose(to);
    free(text);
    pod_table_destroy(t);
}

static void csv_and_json(void)
{
    pod_table *t = make(2);
    char path[600], *text;
    pod_arena *a = pod_test_arena();
    snprintf(path, sizeof path, "%s/t.csv", pod_test_dir());
    POD_CHECK_OK(pod_table_write_csv(t, path));
    POD_CHECK_OK(pod_file_read_text(a, path, 1 << 16, &text));
    CU_ASSERT_STRING_EQUAL(text, "# clock wall\nimpl,time_us,note\nkernel_0,0.0,ok\n"
                                 "kernel_1,1000.5,\"say \"\"a, b\"\"\"\n");
    POD_CHECK_FAILS(pod_table_write_csv(t, "/nowhere/t.csv"), POD_E_IO, "/nowhere/t.csv");

    char *json = as_json(t, 1);
    cJSON *rows = cJSON_Parse(json);
    CU_ASSERT_EQUAL(cJSON_GetArraySize(rows), 2);
    const cJSON *row = cJSON_GetArrayItem(rows, 1);
    CU_ASSERT_EQUAL(cJSON_GetObjectItem(row, "time")->valuedouble, 1000.5);
    CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(row, "note")->valuestring, "say \"a, b\"");
    cJSON_Delete(rows);
    free(json);
    pod_table_destroy(t);
}

/* Each can be typed as an attribute, and ends with its unit, which is there once. */
static void keys_of_columns(void)
{
    static const struct {
        pod_column column;
        const char *prefix, *want;
    } cases[] = {
        {{"#wrong", "", false}, "", "wrong"},
        {{"#wrong", "", false}, "in_place_", "in_place_wrong"},
        {{"time", "(us)", false}, "", "time_us"},
        {{"size", "(B)", false}, "", "size_bytes"},
        {{"count", "(elements)", false}, "", "count"},
        {{"i_cv%", "", false}, "", "i_cv_pct"},
        {{"peak%", "", false}, "", "peak_pct"},
        {{"err/bound", "", false}, "", "err_over_bound"},
        {{"events/s", "", false}, "", "events_per_s"},
        {{"busbw", "(GB/s)", false}, "", "busbw_gb_per_s"},
        {{"gflops", "(1e9/s)", false}, "", "gflops"},
        {{"samples", "1/s", false}, "", "samples_per_s"},
        {{"time_s", "s", false}, "", "time_s"},
        {{"wall", "rank-s", false}, "", "wall_rank_s"},
        {{"all-reduce published", "%", false}, "", "all_reduce_published_pct"},
        {{"row is", "", true}, "", "row_is"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char key[POD_TABLE_KEY_BYTES];
        const char *got = pod_table_key(&cases[i].column, cases[i].prefix, key, sizeof key);
        POD_CHECK(strcmp(got, cases[i].want) == 0, "%s is %s", cases[i].want, got);
    }
}

/* Titles stand over their columns; what is for the CSV alone, and what is not known. */
static void groups_and_unknowns(void)
{
    static const pod_column names[] = {{"n", "", false},
                                       {"time", "us", false},
                                       {"time", "us", false},
                                       {"hidden", "", true},
                                       {"note", "", true}};
    static const char *const cells[] = {"1", "-", "2.5", "-", "a # b", "N/A", "0.5", "-", "x", "c"};
    pod_table *t;
    char path[600], *text, *csv;
    pod_arena *a = pod_test_arena();
    POD_CHECK_OK(pod_table_create(names, 5, &t));
    pod_table_group(t, 1, 1, "out", "");
    pod_table_group(t, 2, 1, "in", "in_");
    pod_table_csv_only(t, 3, 1);
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) pod_table_add(t, "%s", cells[i]);
    text = printed(t);
    CU_ASSERT_STRING_EQUAL(text, "#      out    in\n"
                                 "#   n  time  time  note\n"
                                 "#        us    us  \n"
                                 "    1     -   2.5  a # b\n"
                                 "  N/A   0.5     -  c\n");
    snprintf(path, sizeof path, "%s/g.csv", pod_test_dir());
    POD_CHECK_OK(pod_table_write_csv(t, path));
    POD_CHECK_OK(pod_file_read_text(a, path, 1 << 16, &csv));
    CU_ASSERT_STRING_EQUAL(csv, "n,time_us,in_time_us,hidden,note\n1,,2.5,,\"a # b\"\n,0.5,,x,c\n");
    free(text);
    pod_table_destroy(t);
}

static void numbers_as_they_are(void)
{
    static const pod_column one[] = {{"n", "", false}};
    static const char *const cells[][2] = {
        {"10000", "{\"n\": 10000}"},
        {"-3", "{\"n\": -3}"},
        {"9007199254740993", "{\"n\": 9007199254740993}"}, /* no double */
        {"0.50", "{\"n\": 0.5}"},
        {"-", "{\"n\": null}"},
    };
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        pod_table *t;
        POD_CHECK_OK(pod_table_create(one, 1, &t));
        pod_table_add(t, "%s", cells[i][0]);
        char *json = as_json(t, 0);
        POD_CHECK(strstr(json, cells[i][1]), "%s became %s", cells[i][0], json);
        free(json);
        pod_table_destroy(t);
    }
}

static void many_rows_and_none(void)
{
    static const char *const want[] = {"# impl  time  note\n", "\n  kernel_199  199099.5  say"};
    for (int i = 0; i < 2; i++) {
        pod_table *t = make(200 * i);
        char *text = printed(t);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, want[i]));
        free(text);
        pod_table_destroy(t);
    }
}

/* Four digits without an exponent; what is not finite is not known; cells of a row at once. */
static void rows_and_numbers(void)
{
    static const pod_column names[] = {{"a", "", false}, {"b", "", false}, {"c", "", true}};
    pod_table *t;
    POD_CHECK_OK(pod_table_create(names, 3, &t));
    pod_table_row(t, "%.1f\t%d\t%s", (double)NAN, 7, "x\ty");
    pod_table_number(t, 12345.6);
    pod_table_number(t, (double)INFINITY);
    pod_table_add(t, "z");
    char *text = printed(t);
    CU_ASSERT_STRING_EQUAL(text, "#     a  b  c\n      -  7  x\ty\n  12346  -  z\n");
    free(text);
    pod_table_destroy(t);
}

/* `goodput --jobs` prints a row for each of 100,000 jobs: a row costs the same however many there are. */
static void rows_by_the_thousand(void)
{
    enum { MANY = 30000 };
    pod_table *t = make(MANY);
    const clock_t begin = clock();
    free(printed(t));
    const double took_s = (double)(clock() - begin) / CLOCKS_PER_SEC;
    POD_CHECK(took_s < 2, "%d rows take %g s", MANY, took_s);
    pod_table_destroy(t);
}

static void decimals_tell_accuracy_from_target(void)
{
    static const struct {
        double accuracy, target;
        int places;
    } cases[] = {{0.5, 0, 4},          {0.92, 0.92, 4},   {2.0 / 3, 0.6667, 5},
                 {0.91999, 0.92, 5},   {0.9199, 0.92, 4}, {0.33333333, 0.33333334, 8},
                 {(double)NAN, 0.9, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CU_ASSERT_EQUAL(pod_places_apart(cases[i].accuracy, cases[i].target), cases[i].places);
}

POD_TEST_SUITE(
    "bench.table", {"decimals tell accuracy from target", decimals_tell_accuracy_from_target},
    {"aligned for a person", aligned_for_a_person}, {"a row at once", a_row_at_once},
    {"streamed", streamed}, {"csv and json", csv_and_json}, {"keys of columns", keys_of_columns},
    {"groups, and what is not known", groups_and_unknowns},
    {"numbers as they are", numbers_as_they_are}, {"many rows and none", many_rows_and_none},
    {"rows by the thousand", rows_by_the_thousand}, {"rows and numbers", rows_and_numbers});
