/* The Chrome trace of two ranks, read back with cJSON. */
#include <cJSON.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "runtime/core/file.h"
#include "runtime/measure/trace.h"
#include "tests/harness/harness.h"

static pod_trace_what what_is(const void *ctx, int32_t instr)
{
    const char *const *names = ctx;
    return (pod_trace_what){names[instr], "conv2d", "gemm_1x1"};
}

static const char *const labels[] = {"conv1", "say \"hi\"/\xff"};

static const pod_event first_rank[] = {
    {.begin = 0, .end = 1500000, .step = 4, .instr = -1, .phase = POD_PHASE_INPUT},
    {.begin = 1500000, .end = 2500001, .step = 4, .instr = 0, .phase = POD_PHASE_FORWARD},
};
static const pod_event second_rank[] = {
    {.begin = 7, .end = 7, .step = 4, .instr = 1, .phase = POD_PHASE_REDUCE, .lane = POD_LANE_COMM},
};

static cJSON *write_and_read(const pod_trace_rank ranks[], int n_ranks)
{
    char path[600];
    snprintf(path, sizeof path, "%s/timeline.json", pod_test_dir());
    POD_CHECK_OK(pod_trace_write(path, "wall", ranks, n_ranks, what_is, labels));
    pod_arena *a;
    char *text;
    POD_CHECK_OK(pod_arena_create(NULL, &a));
    POD_CHECK_OK(pod_file_read_text(a, path, 1 << 20, &text));
    cJSON *root = cJSON_Parse(text);
    POD_CHECK(root != NULL, "not JSON: %s", text);
    if (n_ranks == 2) { /* all digits of the picoseconds; rank 1's clock started 2 us later */
        POD_CHECK(strstr(text, "\"ts\": 1.500000, \"dur\": 1.000001"), "%s", text);
        POD_CHECK(strstr(text, "\"ts\": 2.000007, \"dur\": 0.000000"), "%s", text);
    }
    pod_arena_destroy(a);
    return root;
}

static int count_of(const cJSON *events, const char *ph)
{
    int n = 0;
    const cJSON *e;
    cJSON_ArrayForEach(e, events)
    {
        n += strcmp(cJSON_GetObjectItem(e, "ph")->valuestring, ph) == 0;
    }
    return n;
}

static void two_ranks(void)
{
    const pod_trace_rank ranks[] = {{0, first_rank, 2, 0}, {1, second_rank, 1, 2000000}};
    cJSON *root = write_and_read(ranks, 2);
    const cJSON *events = cJSON_GetObjectItem(root, "traceEvents");
    CU_ASSERT_EQUAL(count_of(events, "X"), 3);
    CU_ASSERT_EQUAL(count_of(events, "M"), 2 * (1 + POD_N_LANES));
    CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(root, "displayTimeUnit")->valuestring, "ms");
    const int at = 1 + POD_N_LANES; /* behind rank 0's names */
    const cJSON *wait = cJSON_GetArrayItem(events, at), *conv = cJSON_GetArrayItem(events, at + 1);
    const cJSON *last = cJSON_GetArrayItem(events, cJSON_GetArraySize(events) - 1);
    CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(wait, "name")->valuestring, "WAIT_FOR_DATA");
    CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(conv, "name")->valuestring, "conv1");
    CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(conv, "cat")->valuestring, "forward");
    const cJSON *args = cJSON_GetObjectItem(conv, "args");
    CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(args, "op")->valuestring, "conv2d");
    CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(args, "kernel")->valuestring, "gemm_1x1");
    CU_ASSERT_PTR_NULL(cJSON_GetObjectItem(cJSON_GetObjectItem(wait, "args"), "op"));
    CU_ASSERT_EQUAL(cJSON_GetObjectItem(last, "pid")->valueint, 1);
    CU_ASSERT_EQUAL(cJSON_GetObjectItem(last, "tid")->valueint, POD_LANE_COMM);
    CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(last, "name")->valuestring,
                           "say \"hi\"/\xef\xbf\xbd");
    cJSON_Delete(root);
}

static void no_events(void)
{
    const pod_trace_rank ranks[] = {{0, NULL, 0, 0}};
    cJSON *root = write_and_read(ranks, 1);
    CU_ASSERT_EQUAL(count_of(cJSON_GetObjectItem(root, "traceEvents"), "X"), 0);
    cJSON_Delete(root);
    POD_CHECK_FAILS(pod_trace_write("/nowhere/t", "wall", ranks, 1, what_is, labels), POD_E_IO,
                    "/nowhere/t");
}

static CU_TestInfo tests[] = {
    {"two ranks", two_ranks},
    {"no events", no_events},
    CU_TEST_INFO_NULL,
};

CU_SuiteInfo pod_test_suites[] = {
    {"runtime.trace", NULL, NULL, NULL, NULL, tests},
    CU_SUITE_INFO_NULL,
};
