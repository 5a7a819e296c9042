/* Machine files and the JSON writer: print against parse, errors, and cJSON as the judge. */
#include <cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/cpu.h"
#include "runtime/core/file.h"
#include "runtime/core/json.h"
#include "runtime/core/machine.h"
#include "tests/harness/harness.h"

static const char *write_text(const char *text)
{
    static char path[600];
    snprintf(path, sizeof path, "%s/m.conf", pod_test_dir());
    POD_CHECK_OK(pod_file_write_atomic(path, text, strlen(text)));
    return path;
}

static void print_is_the_inverse_of_read(void)
{
    pod_machine m, again;
    pod_machine_describe_host(&m);
    CU_ASSERT_STRING_EQUAL(m.clock, "wall");
    CU_ASSERT_EQUAL(m.physical_cores, pod_cpu_physical_cores());
    m.peak_f32_gflop_per_s = 1.0 / 3;
    m.peak_bf16_gflop_per_s = 2900.5;
    snprintf(m.peak_bf16_kernel, sizeof m.peak_bf16_kernel, "amx");
    char path[600];
    snprintf(path, sizeof path, "%s/host.conf", pod_test_dir());
    POD_CHECK_OK(pod_machine_write(path, &m));
    POD_CHECK_OK(pod_machine_read(path, &again));
    CU_ASSERT_EQUAL(memcmp(&m, &again, sizeof m), 0);
    CU_ASSERT_EQUAL(pod_machine_peak_flop_per_s(&again, POD_BF16), 2900.5e9);
    CU_ASSERT_EQUAL(pod_machine_peak_flop_per_s(&again, POD_F32), 1e9 * (1.0 / 3));
}

static void bad_files(void)
{
    static const struct {
        const char *text, *part;
    } rows[] = {
        {"clock = wall\nspeed = 3\n", "m.conf:2: speed: a machine file has no such key"},
        {"clock = wall\nclock = wall\n", "m.conf:2: clock: stands twice"},
        {"clock = sun\n", "clock is wall or virtual, found 'sun'"},
        {"name = x\n", "clock is wall or virtual, found ''"},
        {"clock = wall\nphysical_cores = 0\n", "m.conf:2: physical_cores: 0 is not within"},
        {"clock = wall\npeak_f32_gflop_per_s = -1\n", "-1 is not within 0"},
        {"clock = wall\npeak_f32_gflop_per_s = fast\n", "'fast' is not a finite number"},
        {"[a]\nclock = wall\n", "no [section], found [a]"},
        {"clock\n", "m.conf:1: neither"},
        {"name = 12345678901234567890123456789012345678901234567890"
         "12345678901234567890123456789012345678901234567890\n",
         "more than 95 bytes"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pod_machine m;
        pod_status s = pod_machine_read(write_text(rows[i].text), &m);
        POD_CHECK(s != POD_OK && strstr(pod_error_text(), rows[i].part), "row %zu: '%s'", i,
                  pod_error_text());
    }
    pod_machine m;
    POD_CHECK_FAILS(pod_machine_load("/nowhere.conf", &m), POD_E_IO, "/nowhere.conf: cannot read");
}

static void host_may_be_unknown(void)
{
    char dir[600], path[700];
    snprintf(dir, sizeof dir, "%s/config", pod_test_dir());
    setenv("XDG_CONFIG_HOME", dir, 1);
    POD_CHECK_OK(pod_machine_host_path(path, sizeof path));
    CU_ASSERT_PTR_NOT_NULL(strstr(path, "/config/minipod/host.conf"));
    pod_machine m;
    POD_CHECK_OK(pod_machine_load("host", &m));
    POD_CHECK(strstr(m.why_unknown, "run minipod calibrate"), "'%s'", m.why_unknown);
    CU_ASSERT_EQUAL(pod_machine_peak_flop_per_s(&m, POD_F32), 0.0);

    m.why_unknown[0] = '\0';
    m.peak_f32_gflop_per_s = 100;
    POD_CHECK_OK(pod_dir_make_for(path));
    POD_CHECK_OK(pod_machine_write(path, &m));
    POD_CHECK_OK(pod_machine_load("host", &m));
    CU_ASSERT_EQUAL(pod_machine_peak_flop_per_s(&m, POD_F32), 100e9);
    CU_ASSERT_STRING_EQUAL(m.why_unknown, "");

    snprintf(m.cpu_model, sizeof m.cpu_model, "Abacus");
    POD_CHECK_OK(pod_machine_write(path, &m));
    POD_CHECK_OK(pod_machine_load("host", &m));
    POD_CHECK(strstr(m.why_unknown, "of a Abacus"), "'%s'", m.why_unknown);
    CU_ASSERT_EQUAL(pod_machine_peak_flop_per_s(&m, POD_F32), 0.0);

    unsetenv("XDG_CONFIG_HOME");
    setenv("HOME", "/h", 1);
    POD_CHECK_OK(pod_machine_host_path(path, sizeof path));
    CU_ASSERT_STRING_EQUAL(path, "/h/.config/minipod/host.conf");
    POD_CHECK_FAILS(pod_machine_host_path(path, 10), POD_E_IO, "more than 9 bytes");
    unsetenv("HOME");
    POD_CHECK_FAILS(pod_machine_host_path(path, sizeof path), POD_E_IO, "HOME");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static const double doubles[] = {0, -0.1, 1.0 / 3, 1e-300, 123456789.123456789, 5e-324, 1e300};

static char *write_json(int line_depth)
{
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    pod_json j = pod_json_start(to, line_depth);
    pod_json_open_object(&j, NULL);
    pod_json_text(&j, "text", "a\"b\\c\n\x01\x7f \xc3\xa9 \xff \xc3 \xed\xa0\x80");
    pod_json_open_array(&j, "doubles");
    for (size_t i = 0; i < sizeof doubles / sizeof doubles[0]; i++)
        pod_json_double(&j, NULL, doubles[i]);
    pod_json_double(&j, NULL, (double)NAN);
    pod_json_double(&j, NULL, (double)-INFINITY);
    pod_json_close(&j);
    pod_json_int(&j, "int", INT64_MIN);
    pod_json_decimal(&j, "decimal", -1000002, 6);
    pod_json_open_object(&j, "empty");
    pod_json_close(&j);
    pod_json_bool(&j, "yes", true);
    pod_json_text(&j, "none", NULL);
    pod_json_close(&j);
    fclose(to);
    return text;
}

static void json_reads_back(void)
{
    for (int line_depth = 0; line_depth < 4; line_depth++) {
        char *text = write_json(line_depth);
        cJSON *root = cJSON_Parse(text);
        POD_CHECK(root != NULL, "not JSON: %s", text);
        const cJSON *array = cJSON_GetObjectItem(root, "doubles");
        const int n = sizeof doubles / sizeof doubles[0];
        CU_ASSERT_EQUAL(cJSON_GetArraySize(array), n + 2);
        for (int i = 0; i < n; i++)
            POD_CHECK(cJSON_GetArrayItem(array, i)->valuedouble == doubles[i], "%g", doubles[i]);
        CU_ASSERT_TRUE(cJSON_IsNull(cJSON_GetArrayItem(array, n)));
        CU_ASSERT_TRUE(cJSON_IsNull(cJSON_GetArrayItem(array, n + 1)));
        CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(root, "text")->valuestring,
                               "a\"b\\c\n\x01\x7f \xc3\xa9 \xef\xbf\xbd \xef\xbf\xbd "
                               "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* a surrogate */
        CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"int\": -9223372036854775808"));
        CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"decimal\": -1.000002"));
        CU_ASSERT_TRUE(cJSON_IsTrue(cJSON_GetObjectItem(root, "yes")));
        CU_ASSERT_TRUE(cJSON_IsNull(cJSON_GetObjectItem(root, "none")));
        CU_ASSERT_EQUAL(strchr(text, '\n') == NULL, line_depth == 0);
        cJSON_Delete(root);
        free(text);
    }
}

static CU_TestInfo tests[] = {
    {"print is the inverse of read", print_is_the_inverse_of_read},
    {"bad files", bad_files},
    {"host may be unknown", host_may_be_unknown},
    {"json reads back", json_reads_back},
    CU_TEST_INFO_NULL,
};

CU_SuiteInfo pod_test_suites[] = {
    {"runtime.machine", NULL, NULL, NULL, NULL, tests},
    CU_SUITE_INFO_NULL,
};
