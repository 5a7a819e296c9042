/* Tables: what a person sees, and the same cells as CSV and JSON. */
#include <cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/table.h"
#include "kernels/base/arena.h"
#include "runtime/core/file.h"
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

static void aligned_for_a_person(void)
{
    pod_table *t = make(2);
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    POD_CHECK_OK(pod_table_print(t, to));
    fclose(to);
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
    pod_arena *a;
    POD_CHECK_OK(pod_arena_create(NULL, &a));
    snprintf(path, sizeof path, "%s/t.csv", pod_test_dir());
    POD_CHECK_OK(pod_table_write_csv(t, path));
    POD_CHECK_OK(pod_file_read_text(a, path, 1 << 16, &text));
    CU_ASSERT_STRING_EQUAL(text, "# clock wall\n# units: time us\nimpl,time,note\nkernel_0,0.0,ok\n"
                                 "kernel_1,1000.5,\"say \"\"a, b\"\"\"\n");
    POD_CHECK_FAILS(pod_table_write_csv(t, "/nowhere/t.csv"), POD_E_IO, "/nowhere/t.csv");

    char *json = NULL;
    size_t bytes;
    FILE *to = open_memstream(&json, &bytes);
    pod_json j = pod_json_start(to, 1);
    pod_table_json(t, &j, NULL);
    fclose(to);
    cJSON *rows = cJSON_Parse(json);
    CU_ASSERT_EQUAL(cJSON_GetArraySize(rows), 2);
    const cJSON *row = cJSON_GetArrayItem(rows, 1);
    CU_ASSERT_EQUAL(cJSON_GetObjectItem(row, "time")->valuedouble, 1000.5);
    CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(row, "note")->valuestring, "say \"a, b\"");
    cJSON_Delete(rows);
    free(json);
    pod_arena_destroy(a);
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
        char *json = NULL;
        size_t bytes;
        FILE *to = open_memstream(&json, &bytes);
        pod_json j = pod_json_start(to, 0);
        pod_table_json(t, &j, NULL);
        fclose(to);
        POD_CHECK(strstr(json, cells[i][1]), "%s became %s", cells[i][0], json);
        free(json);
        pod_table_destroy(t);
    }
}

static void many_rows_and_none(void)
{
    pod_table *t = make(200);
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    POD_CHECK_OK(pod_table_print(t, to));
    fclose(to);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n  kernel_199  199099.5  say"));
    free(text);
    pod_table_destroy(t);
    t = make(0);
    to = open_memstream(&text, &bytes);
    POD_CHECK_OK(pod_table_print(t, to));
    fclose(to);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "# impl  time  note\n"));
    free(text);
    pod_table_destroy(t);
}

static CU_TestInfo tests[] = {
    {"aligned for a person", aligned_for_a_person},
    {"streamed", streamed},
    {"csv and json", csv_and_json},
    {"numbers as they are", numbers_as_they_are},
    {"many rows and none", many_rows_and_none},
    CU_TEST_INFO_NULL,
};

CU_SuiteInfo pod_test_suites[] = {
    {"bench.table", NULL, NULL, NULL, NULL, tests},
    CU_SUITE_INFO_NULL,
};
