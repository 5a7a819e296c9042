/* kernels/base: a status and its text. */
#include <pthread.h>
#include <stdio.h>

#include "kernels/base/status.h"
#include "tests/harness/harness.h"

static pod_status innermost(void)
{
    return pod_fail(POD_E_SHAPE, "%s has %d channels, want %d", "conv1", 3, 4);
}

static pod_status middle(void)
{
    POD_TRY(innermost());
    return POD_OK;
}

static void status_carries_text(void)
{
    pod_error_set("");
    CU_ASSERT_EQUAL(middle(), POD_E_SHAPE);
    CU_ASSERT_STRING_EQUAL(pod_error_text(), "conv1 has 3 channels, want 4");
}

static void status_keeps_one_line_and_its_own_text(void)
{
    (void)pod_fail(POD_E_IO, "file 'a\nb\tc': no");
    CU_ASSERT_STRING_EQUAL(pod_error_text(), "file 'a b c': no");
    (void)pod_fail(POD_E_IO, "epoch 3: %s", pod_error_text());
    CU_ASSERT_STRING_EQUAL(pod_error_text(), "epoch 3: file 'a b c': no");
    char text[4096];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    (void)pod_fail(POD_E_IO, "%s", text);
    CU_ASSERT(strlen(pod_error_text()) < sizeof text - 1);
    pod_error_set("elsewhere");
    CU_ASSERT_STRING_EQUAL(pod_error_text(), "elsewhere");
}

static void *fail_in_thread(void *text)
{
    snprintf(text, 32, "%s", pod_error_text());
    (void)pod_fail(POD_E_IO, "of the thread");
    return NULL;
}

static void status_belongs_to_its_thread(void)
{
    pthread_t thread;
    char seen[32] = "?";
    (void)pod_fail(POD_E_IO, "of main");
    CU_ASSERT_EQUAL(pthread_create(&thread, NULL, fail_in_thread, seen), 0);
    pthread_join(thread, NULL);
    CU_ASSERT_STRING_EQUAL(seen, "");
    CU_ASSERT_STRING_EQUAL(pod_error_text(), "of main");
}

static void status_names(void)
{
#define POD_X(name, value) CU_ASSERT_STRING_EQUAL(pod_status_name(POD_##name), #name);
    POD_STATUS_MAP(POD_X)
#undef POD_X
    CU_ASSERT_STRING_EQUAL(pod_status_name((pod_status)-99), "E_?");
}

static CU_TestInfo tests[] = {
    {"carries_text", status_carries_text},
    {"keeps_one_line_and_its_own_text", status_keeps_one_line_and_its_own_text},
    {"belongs_to_its_thread", status_belongs_to_its_thread},
    {"names", status_names},
    CU_TEST_INFO_NULL,
};

CU_SuiteInfo pod_test_suites[] = {
    {"kernels.status", NULL, NULL, NULL, NULL, tests},
    CU_SUITE_INFO_NULL,
};
