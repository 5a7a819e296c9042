/* Binned sums: the same bits in any order and grouping; against whole numbers, correctly rounded
 * where nothing is dropped and within the header's bound elsewhere. */
#include <float.h>
#include <math.h>

#include "kernels/base/binned.h"
#include "kernels/base/rng.h"
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

static void check_round_trip(uint32_t bits)
{
    const float x = from_bits(bits);
    const uint32_t want = isnan(x) ? QUIET_NAN : bits;
    const uint32_t got = bits_of(pod_binned_to_f32(pod_binned_from_f32(x)));
    POD_CHECK(got == want, "%08x comes back as %08x", bits, got);
}

static void test_round_trip(void)
{
    const uint32_t fractions[] = {0,        1,        2,        0x2aaaaa, 0x3fffff,
                                  0x400000, 0x555555, 0x7ffffe, 0x7fffff};
    for (uint32_t upper = 0; upper < 512; upper++) /* sign and exponent */
        for (size_t i = 0; i < sizeof fractions / sizeof fractions[0]; i++)
            check_round_trip(upper << 23 | fractions[i]);
    pod_rng rng = random_at(1);
    for (int i = 0; i < 100000; i++) check_round_trip(pod_rng_u32(&rng));
}

/* ---- order ----------------------------------------------------------------------------------- */

/* Numbers whose exponents lie in [low, low + width), now and then with a neighbour that cancels. */
static void draw(pod_rng *rng, int n, uint32_t low, uint32_t width, float *x)
{
    for (int i = 0; i < n; i++) {
        const uint32_t exponent = low + (uint32_t)pod_rng_below(rng, width);
        x[i] = from_bits((pod_rng_u32(rng) & 0x807fffff) | exponent << 23);
        if (i > 0 && pod_rng_below(rng, 4) == 0) x[i] = -x[i - 1];
    }
}

static pod_binned sum_in_order(int n, const float *x)
{
    pod_binned sum = pod_binned_from_f32(x[0]);
    for (int i = 1; i < n; i++) sum = pod_binned_add(sum, pod_binned_from_f32(x[i]));
    return sum;
}

/* Adds any two, again and again, until one is left. */
static pod_binned sum_in_any_order(pod_rng *rng, int n, const float *x)
{
    pod_binned part[MAX_ADDENDS];
    for (int i = 0; i < n; i++) part[i] = pod_binned_from_f32(x[i]);
    for (; n > 1; n--) {
        const uint64_t a = pod_rng_below(rng, (uint64_t)n);
        const pod_binned one = part[a];
        part[a] = part[n - 1];
        const uint64_t b = pod_rng_below(rng, (uint64_t)n - 1);
        part[b] = pod_binned_add(one, part[b]);
    }
    return part[0];
}

static void check_order(pod_rng *rng, int n, const float *x)
{
    const pod_binned want = sum_in_order(n, x);
    for (int i = 0; i < 8; i++) {
        const pod_binned got = sum_in_any_order(rng, n, x);
        POD_CHECK(got.high == want.high && got.low == want.low,
                  "%d addends: (%llx, %llx) and (%llx, %llx)", n, (unsigned long long)got.high,
                  (unsigned long long)got.low, (unsigned long long)want.high,
                  (unsigned long long)want.low);
    }
}

static void test_any_order(void)
{
    const uint32_t widths[] = {1, 2, 20, 41, 42, 81, 130, 256}; /* 256: NaNs and infinities too */
    pod_rng rng = random_at(2);
    float x[MAX_ADDENDS];
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
        for (int i = 0; i < 300; i++) {
            const int n = 2 + (int)pod_rng_below(&rng, i < 290 ? 9 : MAX_ADDENDS - 1);
            const uint32_t low = (uint32_t)pod_rng_below(&rng, 257 - widths[w]);
            draw(&rng, n, low, widths[w], x);
            check_order(&rng, n, x);
        }
}

/* ---- against whole numbers ------------------------------------------------------------------- */

/* Digits within 41 bits lie in two bins wherever the bins are cut: nothing is dropped, so the sum
 * is the whole number rounded once. */
static void test_correctly_rounded(void)
{
    pod_rng rng = random_at(3);
    for (int unit = -149; unit < 128 - 24; unit++)
        for (int i = 0; i < 60; i++) {
            const int n = 1 + (int)pod_rng_below(&rng, i < 50 ? 4 : MAX_ADDENDS);
            float x[MAX_ADDENDS];
            int64_t sum = 0;
            for (int j = 0; j < n; j++) {
                int up = (int)pod_rng_below(&rng, 18);
                if (unit + up > 128 - 24) up = 128 - 24 - unit; /* no infinities */
                const int32_t whole = (int32_t)pod_rng_below(&rng, 0x1ffffff) - 0xffffff;
                x[j] = ldexpf((float)whole, unit + up);
                sum += (int64_t)whole * (1 << up);
            }
            const float want = ldexpf((float)sum, unit);
            const float got = pod_binned_to_f32(sum_in_any_order(&rng, n, x));
            POD_CHECK(got == want, "%d addends of unit 2^%d: %a, want %a", n, unit, (double)got,
                      (double)want);
        }
}

/* The exact sum in units of 2^-149, in places of 32 bits. */
static long double exact_sum(int n, const float *x)
{
    int64_t place[10] = {0};
    for (int i = 0; i < n; i++) {
        const uint32_t bits = bits_of(x[i]), exponent = bits >> 23 & 0xff;
        const uint32_t shift = exponent ? exponent - 1 : 0;
        const uint64_t whole = (uint64_t)((bits & 0x7fffff) | (exponent ? 0x800000u : 0))
                               << shift % 32;
        const int64_t sign = bits >> 31 ? -1 : 1;
        place[shift / 32] += sign * (int64_t)(whole & 0xffffffff);
        place[shift / 32 + 1] += sign * (int64_t)(whole >> 32);
    }
    for (int i = 0; i < 9; i++) { /* carries, so that the upper places carry the leading bits */
        const int64_t carry = place[i] >= 0 ? place[i] >> 32 : -((-place[i] + 0xffffffff) >> 32);
        place[i] -= carry * (INT64_C(1) << 32);
        place[i + 1] += carry;
    }
    long double sum = 0;
    for (int i = 9; i >= 0; i--) sum += ldexpl((long double)place[i], 32 * i - 149);
    return sum;
}

static void test_bound(void)
{
    const uint32_t widths[] = {60, 80, 100, 150, 250};
    pod_rng rng = random_at(4);
    float x[MAX_ADDENDS];
    int n_dropped = 0;
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
        for (int i = 0; i < 2000; i++) {
            const int n = 2 + (int)pod_rng_below(&rng, i < 1900 ? 6 : MAX_ADDENDS - 1);
            draw(&rng, n, (uint32_t)pod_rng_below(&rng, 254 - widths[w]), widths[w], x);
            long double most = 0;
            for (int j = 0; j < n; j++) most = fmaxl(most, fabsl((long double)x[j]));
            const long double want = exact_sum(n, x);
            const long double bound = 0x1p-24L * fabsl(want) + 0x1p-40L * n * most;
            const float got = pod_binned_to_f32(sum_in_order(n, x));
            const long double error = fabsl((long double)got - want);
            POD_CHECK(error <= bound * (1 + 0x1p-50L), "%d addends: %a, want %La, bound %La", n,
                      (double)got, want, bound);
            n_dropped += error > 0x1p-24L * fabsl(want);
        }
    CU_ASSERT(n_dropped > 100); /* else the test is too easy to say anything of dropping */
}

/* ---- by hand --------------------------------------------------------------------------------- */

typedef struct by_hand {
    float x[4]; /* the rest are -0 */
    float want;
} by_hand;

static void check_by_hand(const by_hand *c, int scale)
{
    pod_rng rng = random_at(5);
    float x[4];
    for (int i = 0; i < 4; i++) x[i] = ldexpf(c->x[i], scale);
    const float want = ldexpf(c->want, scale);
    for (int i = 0; i < 12; i++) {
        const float got = pod_binned_to_f32(sum_in_any_order(&rng, 4, x));
        POD_CHECK(bits_of(got) == bits_of(want), "%a + %a + %a + %a = %a, want %a", (double)x[0],
                  (double)x[1], (double)x[2], (double)x[3], (double)got, (double)want);
    }
}

/* Ties go to even and what lies below a tie breaks it, wherever the bins are cut. */
static void test_ties(void)
{
    static const by_hand cases[] = {
        {{0x1p24f, 1, -0.f, -0.f}, 0x1p24f},
        {{0x1p24f, 1, 0x1p-10f, -0.f}, 0x1p24f + 2},
        {{0x1p24f, 1, -0x1p-10f, -0.f}, 0x1p24f},
        {{0x1p24f, 2, 1, -0.f}, 0x1p24f + 4},
        {{-0x1p24f, -2, -1, 0x1p-14f}, -0x1p24f - 2},
        {{-0x1p24f, -2, -1, -0x1p-14f}, -0x1p24f - 4},
        {{0x1.fffffep23f, 0x1p-1f, -0.f, -0.f}, 0x1p24f},
        {{0x1.fffffep23f, 0x1p-1f, -0x1p-15f, -0.f}, 0x1.fffffep23f},
        {{0x1p24f, -0x1p24f, 0x1p-15f, -0.f}, 0x1p-15f},
    };
    for (int scale = -149 + 15; scale < 128 - 25; scale++)
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) check_by_hand(&cases[i], scale);
}

static void test_ends(void)
{
    const float inf = INFINITY, tiny = 0x1p-149f;
    const by_hand cases[] = {
        {{-0.f, -0.f, -0.f, -0.f}, -0.f},
        {{0.f, -0.f, -0.f, -0.f}, 0.f},
        {{1, -1, -0.f, -0.f}, 0.f},
        {{tiny, -tiny, -0.f, -0.f}, 0.f},
        {{tiny, tiny, tiny, 0.f}, 3 * tiny},
        {{FLT_MIN, -tiny, -0.f, -0.f}, 0x1.fffffcp-127f},
        {{FLT_MAX, FLT_MAX, -0.f, -0.f}, inf},
        {{FLT_MAX, FLT_MAX, -FLT_MAX, -1}, FLT_MAX}, /* finite, whatever comes first */
        {{FLT_MAX, 0x1p102f, -0.f, -0.f}, FLT_MAX},
        {{FLT_MAX, 0x1p103f, -0.f, -0.f}, inf},
        {{-FLT_MAX, -0x1p103f, 0x1p70f, -0.f}, -FLT_MAX},
        {{inf, 1, FLT_MAX, inf}, inf},
        {{-inf, FLT_MAX, FLT_MAX, tiny}, -inf},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) check_by_hand(&cases[i], 0);
    const float nans[][2] = {{inf, -inf}, {(float)NAN, 1}, {-(float)NAN, -inf}, {(float)NAN, -0.f}};
    for (size_t i = 0; i < sizeof nans / sizeof nans[0]; i++)
        for (int turn = 0; turn < 2; turn++) {
            const float x[] = {nans[i][turn], 3, nans[i][!turn]};
            CU_ASSERT_EQUAL(bits_of(pod_binned_to_f32(sum_in_order(3, x))), QUIET_NAN);
        }
}

/* As many addends as there may be, each with all its bits set. */
static void test_most_addends(void)
{
    for (int exponent = -149; exponent <= 104; exponent++)
        for (int sign = -1; sign <= 1; sign += 2) {
            const float x = ldexpf((float)(sign * 0xffffff), exponent);
            pod_binned sum = pod_binned_from_f32(x);
            for (int n = 1; n < POD_BINNED_MAX_ADDENDS; n *= 2) sum = pod_binned_add(sum, sum);
            const float got = pod_binned_to_f32(sum), want = ldexpf(x, 20);
            POD_CHECK(got == want, "2^20 times %a is %a", (double)x, (double)got);
        }
    const float odd_ones[] = {INFINITY, -INFINITY, (float)NAN, -0.f, 0.f};
    for (size_t i = 0; i < sizeof odd_ones / sizeof odd_ones[0]; i++) {
        pod_binned sum = pod_binned_from_f32(odd_ones[i]);
        const uint32_t want = bits_of(pod_binned_to_f32(sum));
        for (int n = 1; n < POD_BINNED_MAX_ADDENDS; n *= 2) sum = pod_binned_add(sum, sum);
        CU_ASSERT_EQUAL(bits_of(pod_binned_to_f32(sum)), want);
    }
}

static CU_TestInfo tests[] = {{"round_trip", test_round_trip},
                              {"any_order", test_any_order},
                              {"correctly_rounded", test_correctly_rounded},
                              {"bound", test_bound},
                              {"ties", test_ties},
                              {"ends", test_ends},
                              {"most_addends", test_most_addends},
                              CU_TEST_INFO_NULL};

CU_SuiteInfo pod_test_suites[] = {{"binned", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};
