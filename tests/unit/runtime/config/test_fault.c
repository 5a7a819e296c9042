/* Faults as a person writes them. */
#include <string.h>

#include "runtime/config/fault.h"
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
    POD_CHECK_OK(
        pod_faults_parse("slow:rank=1,factor=2,until=4;slow:rank=1,factor=3,from=5,until=6;"
                         "slow:rank=2,factor=2;slow:rank=1,factor=2,from=7",
                         f, &n));
    CU_ASSERT_EQUAL(n, 4);
    POD_CHECK_OK(pod_faults_parse("slow:factor=2,rank=0;slow:rank=7,factor=0.5;", f, &n));
    CU_ASSERT_EQUAL(n, 2);
    CU_ASSERT_EQUAL(f[0].rank, 0);
    CU_ASSERT_EQUAL(f[1].rank, 7);
    CU_ASSERT_EQUAL(f[1].factor, 0.5);
}

static void test_all_kinds(void)
{
    pod_fault f[POD_MAX_FAULTS];
    int n = -1;
    POD_CHECK_OK(
        pod_faults_parse("kill:rank=3,step=120;kill:rank=0,step=9,write=2;hang:rank=1,step=5;"
                         "slow:rank=2,factor=1.5,from=50,until=60;nan:rank=0,step=7;"
                         "diskfull:rank=1,step=20,write=3;link:dim=2,rank=17;"
                         "corrupt-checkpoint:step=40,rank=2,byte=1234567890123",
                         f, &n));
    CU_ASSERT_EQUAL_FATAL(n, 8);
    const pod_fault want[] = {
        {.kind = POD_FAULT_KILL, .rank = 3, .step = 120},
        {.kind = POD_FAULT_KILL, .step = 9, .write = 2},
        {.kind = POD_FAULT_HANG, .rank = 1, .step = 5},
        {.kind = POD_FAULT_SLOW, .rank = 2, .factor = 1.5, .from = 50, .until = 60},
        {.kind = POD_FAULT_NAN, .step = 7},
        {.kind = POD_FAULT_DISKFULL, .rank = 1, .step = 20, .write = 3},
        {.kind = POD_FAULT_LINK, .rank = 17, .dim = 2},
        {.kind = POD_FAULT_CORRUPT, .rank = 2, .step = 40, .byte = 1234567890123},
    };
    for (int i = 0; i < n; i++) {
        CU_ASSERT_EQUAL(f[i].kind, want[i].kind);
        CU_ASSERT_EQUAL(f[i].rank, want[i].rank);
        CU_ASSERT_EQUAL(f[i].dim, want[i].dim);
        CU_ASSERT_EQUAL(f[i].step, want[i].step);
        CU_ASSERT_EQUAL(f[i].factor, want[i].factor);
        CU_ASSERT_EQUAL(f[i].from, want[i].from);
        CU_ASSERT_EQUAL(f[i].until, want[i].until);
        CU_ASSERT_EQUAL(f[i].write, want[i].write);
        CU_ASSERT_EQUAL(f[i].byte, want[i].byte);
    }
}

static void test_print(void)
{
    static const char *const texts[] = {"kill:rank=3,step=120",
                                        "kill:rank=0,step=9,write=2",
                                        "slow:rank=2,factor=0.1,from=50,until=4503599627370496",
                                        "link:rank=17,dim=0",
                                        "corrupt-checkpoint:step=40",
                                        "corrupt-checkpoint:rank=2,step=40,byte=1234567890123"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        pod_fault f[POD_MAX_FAULTS];
        char text[POD_FAULT_TEXT_BYTES];
        int n;
        POD_CHECK_OK(pod_faults_parse(texts[i], f, &n));
        CU_ASSERT_STRING_EQUAL(pod_fault_print(&f[0], text), texts[i]);
    }
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
    check_bad("fast:rank=2", "'fast' is none of kill hang slow");
    check_bad(";", "'' is none of");
    check_bad("slow", "slow wants 'rank factor', found ''");
    check_bad("slow:rank=2", "wants 'rank factor'");
    check_bad("slow:rank=2,factor", "'factor' of slow is not key=value");
    check_bad("slow:rank=2,factor=0", "factor of slow");
    check_bad("slow:rank=-1,factor=2", "rank of slow");
    check_bad("slow:rank=2,factor=2,rank=3", "rank of slow stands twice");
    check_bad("slow:rank=2,factor=2,step=3", "takes 'rank factor from until', found 'step'");
    check_bad("kill:rank=2", "kill wants 'rank step'");
    check_bad("link:rank=2", "link wants 'rank dim'");
    check_bad("link:rank=2,dim=3", "dim of link");
    check_bad("kill:rank=2,step=0", "step of kill");
    check_bad("hang:rank=2,step=1,write=3", "takes 'rank step', found 'write'");
    check_bad("slow:rank=2,factor=2,from=9,until=8", "until 8 lies before from 9");
    check_bad("slow:rank=2x,factor=2", "rank of slow");
    char text[400] = "slow:rank=2,factor=";
    memset(text + strlen(text), '1', 300);
    check_bad(text, "more than 255 bytes");
    char many[POD_MAX_FAULTS * 24 + 64] = "";
    for (int i = 0; i <= POD_MAX_FAULTS; i++) strcat(many, "kill:rank=1,step=2;");
    check_bad(many, "more than 64");
    check_bad("slow:rank=1,factor=2;slow:rank=1,factor=3",
              "once at a step, found slow:rank=1,factor=2 and slow:rank=1,factor=3");
    check_bad("slow:rank=1,factor=2,from=5;slow:rank=0,factor=2;slow:rank=1,factor=2,until=5",
              "found slow:rank=1,factor=2,from=5 and slow:rank=1,factor=2,until=5");
}

POD_TEST_SUITE("fault", {"good ones", test_good}, {"all kinds", test_all_kinds},
               {"printed", test_print}, {"bad ones", test_bad});
