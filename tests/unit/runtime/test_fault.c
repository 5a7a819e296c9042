/* Faults as a person writes them. */
#include <string.h>

#include "runtime/core/fault.h"
#include "tests/harness/harness.h"

static void test_good(void)
{
    pod_fault f[POD_MAX_FAULTS];
    int n = -1;
    POD_CHECK_OK(pod_faults_parse("", f, &n));
    CU_ASSERT_EQUAL(n, 0);
    POD_CHECK_OK(pod_faults_parse("slow:rank=2,factor=1.5", f, &n));
    CU_ASSERT_EQUAL(n, 1);
    CU_ASSERT_EQUAL(f[0].kind, POD_FAULT_SLOW);
    CU_ASSERT_EQUAL(f[0].rank, 2);
    CU_ASSERT_EQUAL(f[0].factor, 1.5);
    POD_CHECK_OK(pod_faults_parse("slow:factor=2,rank=0;slow:rank=7,factor=0.5;", f, &n));
    CU_ASSERT_EQUAL(n, 2);
    CU_ASSERT_EQUAL(f[0].rank, 0);
    CU_ASSERT_EQUAL(f[1].rank, 7);
    CU_ASSERT_EQUAL(f[1].factor, 0.5);
}

static void check_bad(const char *text, const char *says)
{
    pod_fault f[POD_MAX_FAULTS];
    int n;
    CU_ASSERT_EQUAL(pod_faults_parse(text, f, &n), POD_E_INVALID);
    if (!strstr(pod_error_text(), says)) printf("%s: %s\n", text, pod_error_text());
    CU_ASSERT(strstr(pod_error_text(), says) != NULL);
}

static void test_bad(void)
{
    check_bad("fast:rank=2", "'fast' is none of slow");
    check_bad(";", "'' is none of");
    check_bad("slow", "slow wants 'rank factor', found ''");
    check_bad("slow:rank=2", "wants 'rank factor'");
    check_bad("slow:rank=2,factor", "'factor' of slow is not key=value");
    check_bad("slow:rank=2,factor=0", "factor of slow");
    check_bad("slow:rank=-1,factor=2", "rank of slow");
    check_bad("slow:rank=2,factor=2,rank=3", "rank of slow stands twice");
    check_bad("slow:rank=2,factor=2,step=3", "takes 'rank factor', found 'step'");
    check_bad("slow:rank=2x,factor=2", "rank of slow");
    char text[400] = "slow:rank=2,factor=";
    memset(text + strlen(text), '1', 300);
    check_bad(text, "more than 255 bytes");
    char many[POD_MAX_FAULTS * 24 + 64] = "";
    for (int i = 0; i <= POD_MAX_FAULTS; i++) strcat(many, "slow:rank=1,factor=2;");
    check_bad(many, "more than 64");
}

static CU_TestInfo tests[] = {{"good ones", test_good}, {"bad ones", test_bad}, CU_TEST_INFO_NULL};
CU_SuiteInfo pod_test_suites[] = {{"fault", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};
