/* kernels/base: arenas, whose every request may fail; a status and its text; the limits of control
 * groups; features of the CPU; random numbers. */
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "kernels/base/cpu.h"
#include "kernels/base/limits.h"
#include "kernels/base/rng.h"
#include "kernels/base/status.h"
#include "tests/harness/harness.h"

/* ---- arena ----------------------------------------------------------------------------------- */

typedef struct failing { /* an allocator whose fail_at-th request (counted from 0) fails */
    int n_asked, fail_at, n_alive;
} failing;

static void *failing_get(void *ctx, size_t align, size_t bytes)
{
    failing *f = ctx;
    if (f->n_asked++ == f->fail_at) return NULL;
    void *p = pod_alloc_default.get(NULL, align, bytes);
    if (p) memset(p, 0xcd, bytes);
    f->n_alive += p != NULL;
    return p;
}

static void failing_put(void *ctx, void *p)
{
    failing *f = ctx;
    f->n_alive--;
    pod_alloc_default.put(NULL, p);
}

static pod_status take_much(pod_arena *a)
{
    for (int i = 0; i < 5; i++) {
        char *big = POD_ARENA_NEW(a, char, 100000);
        if (!big) return POD_E_NOMEM;
        big[99999] = 1;
        char *text = pod_arena_text(a, "%d", i);
        if (!text) return POD_E_NOMEM;
    }
    return POD_OK;
}

static void arena_survives_the_nth_failure(void)
{
    bool done = false;
    int n = 0;
    for (; !done && n < 100; n++) {
        failing f = {.fail_at = n};
        const pod_alloc from = {failing_get, failing_put, &f};
        pod_arena *a = NULL;
        pod_status s = pod_arena_create(&from, &a);
        if (s != POD_OK) CU_ASSERT_PTR_NULL(a);
        if (s == POD_OK) s = take_much(a);
        done = s == POD_OK;
        if (!done) {
            CU_ASSERT_EQUAL(s, POD_E_NOMEM);
            CU_ASSERT_PTR_NOT_NULL(strstr(pod_error_text(), "no memory for"));
        }
        pod_arena_destroy(a);
        POD_CHECK(f.n_alive == 0, "failing request %d: %d blocks are left", n, f.n_alive);
    }
    POD_CHECK(done && n >= 6, "done %d after %d rounds: fewer requests than big blocks", done, n);
}

static void arena_aligns_zeroes_and_keeps_apart(void)
{
    enum { N = 200 };
    failing f = {.fail_at = -1};
    const pod_alloc from = {failing_get, failing_put, &f};
    pod_arena *a = NULL;
    POD_CHECK_OK(pod_arena_create(&from, &a));
    unsigned char *p[N];
    size_t bytes[N], total = 0;
    for (size_t i = 0; i < N; i++) {
        size_t align = (size_t)1 << i % 13;
        bytes[i] = i * 37 % 1500;
        p[i] = pod_arena_get(a, align, bytes[i]);
        CU_ASSERT_EQUAL((uintptr_t)p[i] % align, 0);
        for (size_t b = 0; b < bytes[i]; b++)
            if (p[i][b] != 0) CU_FAIL("memory is not zeroed");
        memset(p[i], (int)i, bytes[i]);
        total += bytes[i];
    }
    for (size_t i = 0; i < N; i++)
        for (size_t b = 0; b < bytes[i]; b++)
            if (p[i][b] != (unsigned char)i) CU_FAIL("two pieces overlap");
    CU_ASSERT_EQUAL(pod_arena_bytes(a), total);
    pod_arena_destroy(a);
    CU_ASSERT_EQUAL(f.n_alive, 0);
    pod_arena_destroy(NULL);
}

/* The second round of requests gets the memory of the first one, zeroed. */
static void arena_reset_keeps_memory(void)
{
    static const size_t bytes[] = {100, 500000, 70000, 300000};
    pod_arena *a = NULL;
    long n_gets = 0;
    POD_CHECK_OK(pod_arena_create(NULL, &a));
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
            unsigned char *p = pod_arena_get(a, 8, bytes[i]);
            CU_ASSERT_FATAL(p != NULL);
            POD_CHECK(p[0] == 0 && p[bytes[i] - 1] == 0, "round %d: not zeroed", round);
            memset(p, 1, bytes[i]);
        }
        if (round == 0) n_gets = pod_alloc_count();
        CU_ASSERT_EQUAL(pod_arena_bytes(a), 870100);
        pod_arena_reset(a);
        CU_ASSERT_EQUAL(pod_arena_bytes(a), 0);
    }
    CU_ASSERT_EQUAL(pod_alloc_count(), n_gets);
    pod_arena_destroy(a);
}

static void arena_refuses_what_overflows(void)
{
    pod_arena *a = NULL;
    POD_CHECK_OK(pod_arena_create(NULL, &a));
    const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 8, SIZE_MAX - 64, SIZE_MAX - 128, SIZE_MAX / 2};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        POD_CHECK(!pod_arena_get(a, 16, sizes[i]), "%zu bytes were handed out", sizes[i]);
    CU_ASSERT_PTR_NOT_NULL(pod_arena_get(a, 16, 0));
    /* 4 n is 0, and 16, but for its highest bits; a count below 0. */
    const int64_t counts[] = {INT64_MAX / 2 + 1, INT64_MAX / 2 + 5, -1, INT64_MIN};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        POD_CHECK(!POD_ARENA_NEW(a, int32_t, counts[i]), "%lld numbers were handed out",
                  (long long)counts[i]);
    CU_ASSERT_PTR_NOT_NULL(strstr(pod_error_text(), "no memory for 9223372036854775808 elements"));
    CU_ASSERT_PTR_NOT_NULL(POD_ARENA_NEW(a, int32_t, 0));
    pod_arena_destroy(a);
}

static void arena_copies(void)
{
    pod_arena *a = NULL;
    POD_CHECK_OK(pod_arena_create(NULL, &a));
    const int source[] = {1, 2, 3};
    const int *copy = pod_arena_copy(a, source, _Alignof(int), sizeof source);
    CU_ASSERT(copy != source && memcmp(copy, source, sizeof source) == 0);
    CU_ASSERT_PTR_NOT_NULL(pod_arena_copy(a, NULL, 1, 0));
    CU_ASSERT_STRING_EQUAL(pod_arena_text(a, "%s/%d", "unit", 2), "unit/2");
    pod_arena_destroy(a);
}

static void alloc_count_moves_with_requests(void)
{
    pod_arena *a = NULL;
    long before = pod_alloc_count();
    POD_CHECK_OK(pod_arena_create(NULL, &a));
    CU_ASSERT_EQUAL(pod_alloc_count(), before + 1);
    (void)pod_arena_get(a, 8, 8);
    CU_ASSERT_EQUAL(pod_alloc_count(), before + 2);
    (void)pod_arena_get(a, 8, 8);
    CU_ASSERT_EQUAL(pod_alloc_count(), before + 2);
    pod_arena_destroy(a);
}

/* ---- status ---------------------------------------------------------------------------------- */

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

/* ---- limits ---------------------------------------------------------------------------------- */

static const char v1_mounts[] =
    "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
static const char v1_groups[] = "9:name=systemd:/\n4:memory:/docker/abc/job\n1:cpu,cpuacct:/q/r\n"
                                "0::/elsewhere\n";
static const char v2_mounts[] = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";

static void check_found(const char *mounts, const char *groups, const char *controller,
                        const char *folder, const char *mount)
{
    pod_limit_group g;
    const bool found = pod_limit_find_group(mounts, groups, controller, &g);
    POD_CHECK(found == (folder != NULL), "%s: found %d", controller, found);
    if (!found || !folder) return;
    POD_CHECK(strcmp(g.folder, folder) == 0 && g.mount_bytes == strlen(mount), "%s: %s, mount %zu",
              controller, g.folder, g.mount_bytes);
}

static void groups_are_found(void)
{
    check_found(v1_mounts, v1_groups, "cpu", "/sys/fs/cgroup/cpu,cpuacct/q/r",
                "/sys/fs/cgroup/cpu,cpuacct");
    check_found(v1_mounts, v1_groups, "memory", "/sys/fs/cgroup/memory/job",
                "/sys/fs/cgroup/memory");
    check_found(v2_mounts, "0::/user.slice/job.scope\n", "cpu",
                "/sys/fs/cgroup/user.slice/job.scope", "/sys/fs/cgroup");
    check_found(v2_mounts, "0::/\n", "memory", "/sys/fs/cgroup", "/sys/fs/cgroup");
    check_found(v2_mounts, "0::/../other\n", "memory", "/sys/fs/cgroup", "/sys/fs/cgroup");
    check_found("", "", "cpu", NULL, "");
    check_found("- cgroup", ":::", "cpu", NULL, "");
    check_found(v2_mounts, "1:cpu:/q", "cpu", NULL, "");
}

static void limits_are_positive(void)
{
    const double cpus = pod_limit_cpus(), bytes = pod_limit_memory();
    POD_CHECK(cpus > 0, "%g CPUs", cpus);
    POD_CHECK(bytes > 0 && isfinite(bytes), "%g bytes", bytes);
    CU_ASSERT(pod_limit_memory_kills() >= 0);
    CU_ASSERT(pod_limit_cores() >= 1);
}

/* ---- cpu ------------------------------------------------------------------------------------- */

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

/* ---- rng ------------------------------------------------------------------------------------- */

/* The known answers of Random123 (kat_vectors, philox4x32 with 10 rounds). */
static void philox_known_answers(void)
{
    static const struct {
        uint32_t counter[4], key[2], want[4];
    } cases[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t got[4];
        pod_philox(cases[i].key, cases[i].counter, got);
        for (int w = 0; w < 4; w++)
            POD_CHECK(got[w] == cases[i].want[w], "vector %zu word %d: 0x%08x, want 0x%08x", i, w,
                      got[w], cases[i].want[w]);
    }
}

/* Places that differ in one field draw different numbers, the same place the same ones. */
static void rng_depends_on_each_field(void)
{
    const pod_place base = {POD_STREAM_AUGMENT, 3, 5, 7};
    const pod_place others[] = {
        {POD_STREAM_DROPOUT, 3, 5, 7},
        {POD_STREAM_AUGMENT, 4, 5, 7},
        {POD_STREAM_AUGMENT, 0x103, 5, 7},
        {POD_STREAM_AUGMENT, 3, 6, 7},
        {POD_STREAM_AUGMENT, 3, 0x80000005u, 7},
        {POD_STREAM_AUGMENT, 3, 5, 8},
        {POD_STREAM_AUGMENT, 3, 5, 7 + (1ull << 32)},
    };
    pod_rng r = pod_rng_at(11, base), same = pod_rng_at(11, base), seed = pod_rng_at(12, base),
            high_seed = pod_rng_at(11 + (1ull << 32), base);
    uint64_t want = pod_rng_u64(&r);
    CU_ASSERT_EQUAL(pod_rng_u64(&same), want);
    CU_ASSERT_NOT_EQUAL(pod_rng_u64(&seed), want);
    CU_ASSERT_NOT_EQUAL(pod_rng_u64(&high_seed), want);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        pod_rng other = pod_rng_at(11, others[i]);
        POD_CHECK(pod_rng_u64(&other) != want, "place %zu draws what the base draws", i);
    }
}

/* The words of consecutive blocks come out in order, none twice and none left out. */
static void rng_hands_out_blocks_in_order(void)
{
    pod_rng r = pod_rng_at(1, (pod_place){.stream = POD_STREAM_TEST});
    uint32_t counter[4] = {r.counter[0], r.counter[1], r.counter[2], r.counter[3]};
    for (int b = 0; b < 3; b++, counter[0]++) {
        uint32_t want[4];
        pod_philox(r.key, counter, want);
        for (int w = 0; w < 4; w++) CU_ASSERT_EQUAL(pod_rng_u32(&r), want[w]);
    }
}

/* Bounds are six standard deviations of the estimate; the seed is fixed. */
static void rng_moments(void)
{
    enum { N = 100000 };
    const double six_sigma = 6.0 / sqrt((double)N);
    pod_rng r = pod_rng_at(2, (pod_place){.stream = POD_STREAM_TEST});
    double sum = 0, sum_normal = 0, sum_square = 0;
    for (int i = 0; i < N; i++) {
        double u = (double)pod_rng_uniform(&r), z = (double)pod_rng_normal(&r);
        if (u < 0 || u >= 1) CU_FAIL("uniform outside [0, 1)");
        sum += u;
        sum_normal += z;
        sum_square += z * z;
    }
    CU_ASSERT_DOUBLE_EQUAL(sum / N, 0.5, six_sigma * sqrt(1.0 / 12.0));
    CU_ASSERT_DOUBLE_EQUAL(sum_normal / N, 0.0, six_sigma);
    CU_ASSERT_DOUBLE_EQUAL(sum_square / N, 1.0, six_sigma * sqrt(2.0));
}

static void rng_below_stays_below(void)
{
    static const uint64_t limits[] = {1, 2, 3, 10, 1ull << 32, (1ull << 63) + 1, UINT64_MAX};
    pod_rng r = pod_rng_at(3, (pod_place){.stream = POD_STREAM_TEST});
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        for (int draw = 0; draw < 100; draw++) CU_ASSERT(pod_rng_below(&r, limits[i]) < limits[i]);
    enum { N = 30000, FACES = 3 };
    int seen[FACES] = {0};
    for (int draw = 0; draw < N; draw++) seen[pod_rng_below(&r, FACES)]++;
    const double p = 1.0 / FACES;
    for (int face = 0; face < FACES; face++)
        CU_ASSERT_DOUBLE_EQUAL(seen[face], N * p, 6.0 * sqrt(N * p * (1.0 - p)));
}

POD_TEST_SUITE("base", {"arena survives the nth failure", arena_survives_the_nth_failure},
               {"arena aligns zeroes and keeps apart", arena_aligns_zeroes_and_keeps_apart},
               {"arena reset keeps memory", arena_reset_keeps_memory},
               {"arena refuses what overflows", arena_refuses_what_overflows},
               {"arena copies", arena_copies},
               {"arena alloc count moves with requests", alloc_count_moves_with_requests},
               {"status carries text", status_carries_text},
               {"status keeps one line and its own text", status_keeps_one_line_and_its_own_text},
               {"status belongs to its thread", status_belongs_to_its_thread},
               {"status names", status_names}, {"limits groups are found", groups_are_found},
               {"limits limits are positive", limits_are_positive},
               {"cpu agrees with the system", cpu_agrees_with_the_system}, {"cpu cap", cpu_cap},
               {"cpu print", cpu_print}, {"cpu sets", cpu_sets},
               {"rng philox known answers", philox_known_answers},
               {"rng depends on each field", rng_depends_on_each_field},
               {"rng hands out blocks in order", rng_hands_out_blocks_in_order},
               {"rng moments", rng_moments}, {"rng below stays below", rng_below_stays_below});
