/* kernels/base: features of the CPU, and sets of its cores. */
#include <stdio.h>

#include "kernels/base/cpu.h"
#include "tests/harness/harness.h"

static void cpu_cap(void)
{
    static const struct {
        const char *name;
        uint32_t allowed;
    } caps[] = {
        {"ref", 0},
        {"avx2", POD_CPU_AVX2},
        {"avx512", POD_CPU_AVX2 | POD_CPU_AVX512},
        {"avx512_bf16", POD_CPU_AVX2 | POD_CPU_AVX512 | POD_CPU_AVX512_BF16},
        {"amx", POD_CPU_AVX2 | POD_CPU_AVX512 | POD_CPU_AVX512_BF16 | POD_CPU_AMX_BF16},
    };
    POD_CHECK_OK(pod_cpu_cap("amx"));
    const uint32_t all = pod_cpu_features();
    for (size_t i = 0; i < sizeof caps / sizeof caps[0]; i++) {
        POD_CHECK_OK(pod_cpu_cap(caps[i].name));
        POD_CHECK(pod_cpu_features() == (all & caps[i].allowed), "%s leaves 0x%x of 0x%x",
                  caps[i].name, pod_cpu_features(), all);
        POD_CHECK_FAILS(pod_cpu_cap("sse9"), POD_E_INVALID, "'sse9'");
        CU_ASSERT_EQUAL(pod_cpu_features(), all & caps[i].allowed);
    }
    CU_ASSERT_EQUAL(pod_cpu_features(), all);
    pod_test_cap();
}

/* The flags line of /proc/cpuinfo holds " name ". */
static bool system_lists(const char *flags, const char *name)
{
    char word[32];
    snprintf(word, sizeof word, " %s ", name);
    return strstr(flags, word) != NULL;
}

/* Else every fast kernel could be skipped and nothing would fail. AMX is left out: the system may
 * refuse it to a process. */
static void cpu_agrees_with_the_system(void)
{
    char flags[8192] = "", line[8192];
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "flags", 5) == 0) {
            line[strcspn(line, "\n")] = ' ';
            memcpy(flags, line, sizeof flags);
        }
    if (f) fclose(f);
    if (!flags[0]) {
        pod_test_skip("the CPU's features", "the operating system does not list them");
        return;
    }
    bool avx2 = system_lists(flags, "avx2") && system_lists(flags, "fma");
    bool avx512 = avx2 && system_lists(flags, "avx512f") && system_lists(flags, "avx512bw") &&
                  system_lists(flags, "avx512dq") && system_lists(flags, "avx512vl");
    bool bf16 = avx512 && system_lists(flags, "avx512_bf16");
    POD_CHECK_OK(pod_cpu_cap("amx"));
    const uint32_t found = pod_cpu_features();
    pod_test_cap();
    CU_ASSERT_EQUAL(!!(found & POD_CPU_AVX2), avx2);
    CU_ASSERT_EQUAL(!!(found & POD_CPU_AVX512), avx512);
    CU_ASSERT_EQUAL(!!(found & POD_CPU_AVX512_BF16), bf16);
}

static void cpu_print(void)
{
    char text[64], tiny[4];
    CU_ASSERT_STRING_EQUAL(pod_cpu_print(0, text, sizeof text), "");
    CU_ASSERT_STRING_EQUAL(pod_cpu_print(POD_CPU_AVX2 | POD_CPU_AMX_BF16, text, sizeof text),
                           "avx2 amx_bf16");
    CU_ASSERT_STRING_EQUAL(pod_cpu_print(POD_CPU_AVX2 | POD_CPU_AMX_BF16, tiny, sizeof tiny),
                           "avx");
    CU_ASSERT(strlen(pod_cpu_model()) > 0);
    CU_ASSERT(pod_cpu_physical_cores() >= 1);
}

/* A core is counted once, with one of its hardware threads or with all. */
static void cpu_sets(void)
{
    pod_cpu_set allowed, none = {{0}}, one = {{0}};
    pod_cpu_allowed(&allowed);
    const int n = pod_cpu_set_count(&allowed), cores = pod_cpu_set_cores(&allowed);
    POD_CHECK(n >= 1 && cores >= 1 && cores <= n && cores <= pod_cpu_physical_cores(),
              "%d CPUs of %d cores", n, cores);
    int first = 0;
    while (!(allowed.bits[first / 64] >> (first % 64) & 1)) first++;
    one.bits[first / 64] = (uint64_t)1 << (first % 64);
    CU_ASSERT_EQUAL(pod_cpu_set_count(&one), 1);
    CU_ASSERT_EQUAL(pod_cpu_set_cores(&one), 1);
    CU_ASSERT_EQUAL(pod_cpu_set_count(&none), 0);
    CU_ASSERT_EQUAL(pod_cpu_set_cores(&none), pod_cpu_physical_cores());
}

static CU_TestInfo tests[] = {
    {"agrees with the system", cpu_agrees_with_the_system}, /* before cap lowers anything */
    {"cap", cpu_cap},
    {"print", cpu_print},
    {"sets", cpu_sets},
    CU_TEST_INFO_NULL,
};

CU_SuiteInfo pod_test_suites[] = {
    {"kernels.cpu", NULL, NULL, NULL, NULL, tests},
    CU_SUITE_INFO_NULL,
};
