/* The harness under test: what it must report, done on purpose. ctest runs one test of this program
 * at a time and reads its report; most of them have to fail. */
#include <math.h>
#include <stdio.h>

#include "tests/harness/harness.h"

static void passes(void)
{
    if (pod_test_rank() == 0) pod_test_skip("a thing", "it is not here");
    const double nan = (double)NAN;
    double want[8], bound[8];
    float got[8];
    pod_test_fill(1, 8, POD_F32, got);
    for (int i = 0; i < 8; i++) {
        want[i] = (double)got[i] + 0.25;
        bound[i] = 0.25;
    }
    CU_ASSERT_EQUAL(pod_test_compare("x", 8, POD_F32, got, want, bound), 0);
    CU_ASSERT_TRUE(pod_test_near(HUGE_VAL, HUGE_VAL, 0) && pod_test_near(nan, nan, 0));
    CU_ASSERT_FALSE(pod_test_near(HUGE_VAL, -HUGE_VAL, HUGE_VAL) || pod_test_near(nan, 0, 1));
    CU_ASSERT_FALSE(pod_test_near(1.0, HUGE_VAL, 1) || pod_test_near(1.0, 1.5, 0.49));

    int32_t whole[100];
    pod_test_fill_exact(2, 100, 3, POD_I32, whole);
    int seen[7] = {0};
    for (int i = 0; i < 100; i++) seen[whole[i] + 3]++;
    for (int i = 0; i < 7; i++)
        if (seen[i] == 0) CU_FAIL("a value of [-3, 3] was never drawn");

    /* All ranks see the file that rank 0 made before them; that it is the same directory on all is
     * proven by the name only, as there is no barrier here. */
    char path[512];
    snprintf(path, sizeof path, "%s/%d", pod_test_dir(), pod_test_rank());
    FILE *f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL(f);
    if (f) fclose(f);
    CU_ASSERT_PTR_NULL(pod_test_data("no/such/file"));

    unsigned char *p = pod_test_guard(5000);
    CU_ASSERT(p[0] == 0xff && p[4999] == 0xff);
    pod_test_guard_free(p, 5000);

    /* Three terms of at most 1: (3 + 1) u 3 / (1 - 4 u), by hand. */
    CU_ASSERT_DOUBLE_EQUAL(pod_test_bound_dot(3, 3.0, 1.0, POD_F32), 12 * 0x1p-24, 0x1p-40);
    CU_ASSERT_DOUBLE_EQUAL(pod_test_bound_dot(3, 3.0, 1.0, POD_BF16), 0x1p-8, 0x1p-19);
}

static void fails_on_last_rank(void)
{
    POD_CHECK(pod_test_rank() != pod_test_size() - 1, "rank %d of %d fails", pod_test_rank(),
              pod_test_size());
}

static void compare_finds_a_difference(void)
{
    const float got[4] = {1, 2, 3, 4};
    const double want[4] = {1, 2.5, 3, 4};
    CU_ASSERT_EQUAL(pod_test_compare("x", 4, POD_F32, got, want, NULL), 1);
}

static void guard_finds_an_underrun(void)
{
    unsigned char *p = pod_test_guard(10);
    volatile unsigned char *before = p - 1;
    *before = 0;
    pod_test_guard_free(p, 10);
}

static void guard_stops_an_overrun(void)
{
    unsigned char *p = pod_test_guard(10);
    volatile unsigned char *behind = p + 10;
    pod_test_doing("kernel %s of %d bytes", "far", 10);
    CU_ASSERT_EQUAL(*behind, 0);
}

static CU_TestInfo good_tests[] = {{"passes", passes}, CU_TEST_INFO_NULL};
static CU_TestInfo bad_tests[] = {
    {"last_rank", fails_on_last_rank},
    {"compare", compare_finds_a_difference},
    {"underrun", guard_finds_an_underrun},
    {"overrun", guard_stops_an_overrun},
    CU_TEST_INFO_NULL,
};

CU_SuiteInfo pod_test_suites[] = {
    {"good", NULL, NULL, NULL, NULL, good_tests},
    {"bad", NULL, NULL, NULL, NULL, bad_tests},
    CU_SUITE_INFO_NULL,
};
