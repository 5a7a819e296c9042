/* kernels/base: arenas, whose every request may fail. */
#include <limits.h>

#include "kernels/base/arena.h"
#include "tests/harness/harness.h"

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

static CU_TestInfo tests[] = {
    {"survives_the_nth_failure", arena_survives_the_nth_failure},
    {"aligns_zeroes_and_keeps_apart", arena_aligns_zeroes_and_keeps_apart},
    {"refuses_what_overflows", arena_refuses_what_overflows},
    {"copies", arena_copies},
    {"alloc_count_moves_with_requests", alloc_count_moves_with_requests},
    CU_TEST_INFO_NULL,
};

CU_SuiteInfo pod_test_suites[] = {
    {"kernels.arena", NULL, NULL, NULL, NULL, tests},
    CU_SUITE_INFO_NULL,
};
