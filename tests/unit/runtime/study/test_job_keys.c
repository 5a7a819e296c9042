/* What a person says of a job. */
#include "bench/job/keys.h"

#include <stdlib.h>

#include "tests/harness/harness.h"

static void good(void)
{
    pod_job_keys k;
    POD_CHECK_OK(pod_job_keys_parse("", &k));
    CU_ASSERT_EQUAL(k.given, 0);
    CU_ASSERT_EQUAL(k.days, 30);
    CU_ASSERT_EQUAL(k.seeds, 100);
    CU_ASSERT_EQUAL(k.shape, 1);
    POD_CHECK_OK(pod_job_keys_parse("days=0.5,bytes=1.5G,trace-nodes=400,spares=3,save=0,", &k));
    CU_ASSERT_EQUAL(k.days, 0.5);
    CU_ASSERT_EQUAL(k.bytes, 3 << 29);
    CU_ASSERT_EQUAL(k.trace_nodes, 400);
    CU_ASSERT_EQUAL(k.spares, 3);
    CU_ASSERT(pod_job_keys_has(&k, POD_JOB_KEY_save_s));
    CU_ASSERT(!pod_job_keys_has(&k, POD_JOB_KEY_write_s));
    CU_ASSERT_EQUAL(k.save_s, 0);
}

static void bad(void)
{
    static const struct {
        const char *text, *says;
    } cases[] = {{"dais=3", "there is no key 'dais'; did you mean days?"},
                 {"mtbf=3", "there is no key 'mtbf'"},
                 {"days", "'days' is not key=value"},
                 {"days=", "job: days"},
                 {"days=-1", "job: days"},
                 {"days=1e9", "job: days"},
                 {"step=0", "job: step"},
                 {"save=-1", "job: save"},
                 {"save=nan", "job: save"},
                 {"days=3,spares=1,days=4", "job: days stands twice"},
                 {"spares=1.5", "job: spares"},
                 {"seeds=0", "job: seeds"},
                 {"bytes=1x", "job: bytes"},
                 {"bytes=9999T", "job: bytes"},
                 {"shape=0", "job: shape"},
                 {",", "'' is not key=value"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pod_job_keys k;
        POD_CHECK_FAILS(pod_job_keys_parse(cases[i].text, &k), POD_E_INVALID, cases[i].says);
    }
    char text[300] = "days=";
    memset(text + 5, '1', 200);
    pod_job_keys k;
    POD_CHECK_FAILS(pod_job_keys_parse(text, &k), POD_E_INVALID, "more than 127 bytes");
}

static void help_lines_fit(void)
{
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(to);
    pod_job_keys_help(to);
    fclose(to);
    int n = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), n++)
        POD_CHECK(strlen(line) <= 120, "%zu columns: %s", strlen(line), line);
    CU_ASSERT_EQUAL(n, POD_N_JOB_KEYS);
    free(text);
}

POD_TEST_SUITE("job keys", {"good", good}, {"bad", bad}, {"help lines fit", help_lines_fit});
