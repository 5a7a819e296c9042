/* Wide sums: the exact sum, rounded once; whatever the order, the parts and the range. */
#include <float.h>
#include <math.h>

#include "kernels/base/rng.h"
#include "kernels/base/wide_sum.h"
#include "tests/harness/harness.h"

enum { MAX_ADDENDS = 300, QUIET_NAN = 0x7fc00000 };

static pod_rng random_at(uint64_t seed)
{
    return pod_rng_at(seed, (pod_place){.stream = POD_STREAM_TEST});
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static pod_wide_sum sum_of(int n, const float *x)
{
    pod_wide_sum s = {{0}, 0};
    for (int i = 0; i < n; i++) pod_wide_sum_add(&s, (double)x[i]);
    return s;
}

/* Cut anywhere, each part as it travels, added up by halves or one by one. */
static float rounded_in_parts(pod_rng *rng, int n, const float *x)
{
    pod_binned all[POD_WIDE_DIGITS];
    pod_wide_sum nothing = {{0}, 0};
    pod_wide_sum_to_binned(&nothing, all);
    for (int at = 0; at < n;) {
        const int count = 1 + (int)pod_rng_below(rng, (uint64_t)(n - at));
        const pod_wide_sum part = sum_of(count, x + at);
        pod_binned travels[POD_WIDE_DIGITS];
        pod_wide_sum_to_binned(&part, travels);
        const bool turned = pod_rng_below(rng, 2);
        for (int k = 0; k < POD_WIDE_DIGITS; k++)
            all[k] =
                turned ? pod_binned_add(travels[k], all[k]) : pod_binned_add(all[k], travels[k]);
        at += count;
    }
    return pod_wide_sum_from_binned(all);
}

static void check(pod_rng *rng, int n, const float *x, float want)
{
    for (int i = 0; i < 4; i++) {
        const float got = rounded_in_parts(rng, n, x);
        POD_CHECK(bits_of(got) == bits_of(want), "%d addends from %a on: %a, want %a", n,
                  (double)x[0], (double)got, (double)want);
    }
}

static void test_one(void)
{
    const uint32_t fractions[] = {0, 1, 2, 0x2aaaaa, 0x3fffff, 0x400000, 0x7ffffe, 0x7fffff};
    pod_rng rng = random_at(1);
    for (uint32_t exponent = 0; exponent < 255; exponent++)
        for (size_t i = 0; i < sizeof fractions / sizeof fractions[0]; i++) {
            const float x = from_bits(exponent << 23 | fractions[i]);
            check(&rng, 1, &x, x);
        }
}

/* Whole numbers of one unit, whose sum 64 bits hold. */
static void test_correctly_rounded(void)
{
    pod_rng rng = random_at(2);
    for (int unit = -149; unit < 128 - 24; unit++)
        for (int i = 0; i < 60; i++) {
            const int n = 1 + (int)pod_rng_below(&rng, i < 50 ? 4 : MAX_ADDENDS);
            float x[MAX_ADDENDS];
            int64_t sum = 0;
            for (int j = 0; j < n; j++) {
                int up = (int)pod_rng_below(&rng, 30);
                if (unit + up > 128 - 24) up = 128 - 24 - unit; /* no infinities */
                const int32_t whole = (int32_t)pod_rng_below(&rng, 0x1000000);
                x[j] = ldexpf((float)whole, unit + up);
                sum += (int64_t)whole << up;
            }
            check(&rng, n, x, ldexpf((float)sum, unit));
        }
}

static void test_any_range(void)
{
    const uint32_t widths[] = {60, 80, 100, 150, 240};
    pod_rng rng = random_at(3);
    float x[MAX_ADDENDS];
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
        for (int i = 0; i < 1000; i++) {
            const int n = 2 + (int)pod_rng_below(&rng, i < 900 ? 6 : MAX_ADDENDS - 1);
            const uint32_t low = (uint32_t)pod_rng_below(&rng, 246 - widths[w]);
            long double want = 0;
            for (int j = 0; j < n; j++) {
                const uint32_t exponent = low + (uint32_t)pod_rng_below(&rng, widths[w]);
                x[j] = from_bits((pod_rng_u32(&rng) & 0x7fffff) | exponent << 23);
                want += (long double)x[j];
            }
            const float got = rounded_in_parts(&rng, n, x);
            POD_CHECK(fabsl((long double)got - want) <=
                          0x1p-24L * want * (1 + 0x1p-30L) + 0x1p-150L,
                      "%d addends: %a, want %La", n, (double)got, want);
            check(&rng, n, x, got);
        }
}

static void test_ends(void)
{
    const float inf = INFINITY, tiny = 0x1p-149f;
    const struct {
        float x[4];
        float want;
    } cases[] = {
        {{0, 0, 0, 0}, 0},
        {{tiny, tiny, tiny, 0}, 3 * tiny},
        {{0x1p24f, 1, 0, 0}, 0x1p24f},
        {{0x1p24f, 1, tiny, 0}, 0x1p24f + 2}, /* a tie that is none, 173 bits below */
        {{0x1p24f, 2, 1, 0}, 0x1p24f + 4},
        {{0x1p24f, 2, 1, tiny}, 0x1p24f + 4},
        {{0x1p127f, 0x1p103f, 0, 0}, 0x1p127f},
        {{0x1p127f, 0x1p103f, tiny, 0}, 0x1.000002p127f},
        {{FLT_MAX, 0x1p102f, 0, 0}, FLT_MAX},
        {{FLT_MAX, 0x1p102f, 0x1p102f, 0}, inf},
        {{FLT_MAX, FLT_MAX, FLT_MAX, tiny}, inf},
        {{inf, 1, FLT_MAX, tiny}, inf},
        {{inf, inf, 0, 0}, inf},
    };
    pod_rng rng = random_at(4);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check(&rng, 4, cases[i].x, cases[i].want);
    const float nan = from_bits(QUIET_NAN);
    check(&rng, 3, (const float[]){1, nan, FLT_MAX}, nan);
    check(&rng, 3, (const float[]){inf, nan, inf}, nan);
}

/* As many as there may be between carries, all bits set; and sums of as many cores. */
static void test_most_addends(void)
{
    for (int exponent = -149; exponent <= 104; exponent += 11) {
        const float x = ldexpf((float)0xffffff, exponent);
        pod_wide_sum s = {{0}, 0};
        for (int i = 0; i < POD_WIDE_MAX_UNCARRIED; i++) pod_wide_sum_add(&s, (double)x);
        pod_binned sum[POD_WIDE_DIGITS];
        pod_wide_sum_to_binned(&s, sum);
        CU_ASSERT_EQUAL(pod_wide_sum_from_binned(sum), ldexpf(x, 22));
        for (int n = 1; n < POD_BINNED_MAX_ADDENDS; n *= 2)
            for (int k = 0; k < POD_WIDE_DIGITS; k++) sum[k] = pod_binned_add(sum[k], sum[k]);
        const float got = pod_wide_sum_from_binned(sum), want = ldexpf(x, 42);
        POD_CHECK(got == want, "2^42 times %a is %a", (double)x, (double)got);
    }
}

static CU_TestInfo tests[] = {{"one", test_one},
                              {"correctly_rounded", test_correctly_rounded},
                              {"any_range", test_any_range},
                              {"ends", test_ends},
                              {"most_addends", test_most_addends},
                              CU_TEST_INFO_NULL};

CU_SuiteInfo pod_test_suites[] = {{"wide_sum", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};
