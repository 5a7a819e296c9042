/* The table of minipod predict. */
#include <stdlib.h>
#include <string.h>

#include "bench/predict.h"
#include "tests/harness/harness.h"

/* What phases leave of a step may be less than nothing by a rounding error. */
static void no_sign_without_a_number(void)
{
    const pod_program p = {.n_instrs = 0};
    const pod_side measured = {.step_s = 1, .other_s = 3e-6},
                   predicted = {.step_s = 2, .other_s = -1e-19};
    pod_arena *a;
    pod_table *t;
    char *text = NULL;
    size_t bytes;
    POD_CHECK_OK(pod_arena_create(NULL, &a));
    POD_CHECK_OK(pod_table_create(pod_predict_columns, pod_n_predict_columns, &t));
    POD_CHECK_OK(pod_predict_table(&p, &measured, &predicted, 1, a, t));
    FILE *to = open_memstream(&text, &bytes);
    POD_CHECK_OK(pod_table_print(t, to));
    fclose(to);
    POD_CHECK(strstr(text, "1000.0000  2000.0000  +1000.0000  2.000"), "%s", text);
    POD_CHECK(strstr(text, "0.0030     0.0000     -0.0030  0.000"), "%s", text);
    POD_CHECK(!strstr(text, "-0.000 ") && !strstr(text, "-0.000\n") && !strstr(text, "-0.0000"),
              "%s", text);
    free(text);
    pod_table_destroy(t);
    pod_arena_destroy(a);
}

static CU_TestInfo tests[] = {
    {"no sign without a number", no_sign_without_a_number},
    CU_TEST_INFO_NULL,
};

CU_SuiteInfo pod_test_suites[] = {
    {"bench.predict", NULL, NULL, NULL, NULL, tests},
    CU_SUITE_INFO_NULL,
};
