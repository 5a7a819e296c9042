/* kernels/base: bf16 to and from float32; binned sums, the same bits in any order and grouping, against
 * whole numbers, correctly rounded where nothing is dropped and within the header's bound elsewhere;
 * wide sums, the exact sum, rounded once, whatever the order, the parts and the range. */
#include <float.h>
#include <math.h>

#include "kernels/base/bf16.h"
#include "kernels/base/binned.h"
#include "kernels/base/rng.h"
#include "kernels/base/wide_sum.h"
#include "tests/harness/harness.h"

/* ---- bf16 ------------------------------------------------------------------------------------ */

enum { N_BF16 = 1 << 16, BF16_INF = 0x7f80, BF16_MIN_NORMAL = 0x0080, BF16_SIGN = 0x8000 };

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static pod_rng random_at(uint64_t seed)
{
    return pod_rng_at(seed, (pod_place){.stream = POD_STREAM_TEST});
}

static void bf16_widens_exactly(void)
{
    for (uint32_t bits = 0; bits < N_BF16; bits++) {
        uint32_t wide = bits_of(pod_bf16_to_f32((pod_bf16){(uint16_t)bits}));
        POD_CHECK(wide == bits << 16, "0x%04x widens to 0x%08x", bits, wide);
    }
}

static void bf16_comes_back(void)
{
    for (uint32_t bits = 0; bits < N_BF16; bits++) {
        uint32_t magnitude = bits & 0x7fffu;
        uint32_t want = magnitude > BF16_INF          ? bits | 0x40u
                        : magnitude < BF16_MIN_NORMAL ? bits & BF16_SIGN
                                                      : bits;
        uint32_t got = pod_bf16_from_f32(pod_bf16_to_f32((pod_bf16){(uint16_t)bits})).bits;
        POD_CHECK(got == want, "0x%04x comes back as 0x%04x, want 0x%04x", bits, got, want);
    }
}

/* The nearer of two neighbours by distance in double, where both distances are exact; infinity
 * stands where the next number would, at 2^128. */
static uint32_t nearest(uint32_t low, uint32_t f32_bits)
{
    double x = (double)from_bits(f32_bits), a = (double)from_bits(low << 16);
    double b = low + 1 == BF16_INF ? 0x1p128 : (double)from_bits((low + 1) << 16);
    if (x - a == b - x) return low % 2 == 0 ? low : low + 1;
    return x - a < b - x ? low : low + 1;
}

static void bf16_rounds_to_nearest_even(void)
{
    static const uint32_t tails[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
    for (uint32_t low = BF16_MIN_NORMAL; low < BF16_INF; low++) {
        for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
            uint32_t x = low << 16 | tails[i], want = nearest(low, x);
            uint32_t got = pod_bf16_from_f32(from_bits(x)).bits;
            POD_CHECK(got == want, "0x%08x rounds to 0x%04x, want 0x%04x", x, got, want);
            got = pod_bf16_from_f32(from_bits(x | 0x80000000u)).bits;
            POD_CHECK(got == (want | BF16_SIGN), "-0x%08x rounds to 0x%04x, want -0x%04x", x, got,
                      want);
        }
    }
}

static void bf16_edges(void)
{
    static const struct {
        const char *what;
        uint32_t from, to;
    } cases[] = {
        {"the largest float32 overflows", 0x7f7fffff, 0x7f80},
        {"the last that does not overflow", 0x7f7f7fff, 0x7f7f},
        {"a tie at the top goes to infinity", 0x7f7f8000, 0x7f80},
        {"infinity", 0x7f800000, 0x7f80},
        {"minus infinity", 0xff800000, 0xff80},
        {"NaN with a payload in the lower half only", 0x7f800001, 0x7fc0},
        {"signalling NaN becomes quiet", 0x7fa00000, 0x7fe0},
        {"NaN with all bits", 0x7fffffff, 0x7fff},
        {"negative NaN keeps its sign", 0xff800001, 0xffc0},
        {"negative NaN with all bits", 0xffffffff, 0xffff},
        {"zero", 0x00000000, 0x0000},
        {"minus zero", 0x80000000, 0x8000},
        {"the smallest subnormal", 0x00000001, 0x0000},
        {"the largest subnormal", 0x007fffff, 0x0000},
        {"the largest subnormal, negative", 0x807fffff, 0x8000},
        {"the smallest normal number", 0x00800000, 0x0080},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t got = pod_bf16_from_f32(from_bits(cases[i].from)).bits;
        POD_CHECK(got == cases[i].to, "%s: 0x%08x gives 0x%04x, want 0x%04x", cases[i].what,
                  cases[i].from, got, cases[i].to);
    }
}

/* ---- binned ---------------------------------------------------------------------------------- */

enum { MAX_ADDENDS = 300, QUIET_NAN = 0x7fc00000 };

static void check_round_trip(uint32_t bits)
{
    const float x = from_bits(bits);
    const uint32_t want = isnan(x) ? QUIET_NAN : bits;
    const uint32_t got = bits_of(pod_binned_to_f32(pod_binned_from_f32(x)));
    POD_CHECK(got == want, "%08x comes back as %08x", bits, got);
}

static void binned_round_trip(void)
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

static void binned_any_order(void)
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
static void binned_correctly_rounded(void)
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

static void binned_bound(void)
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
static void binned_ties(void)
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

static void binned_ends(void)
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
static void binned_most_addends(void)
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

/* ---- wide_sum -------------------------------------------------------------------------------- */

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

static void check_wide(pod_rng *rng, int n, const float *x, float want)
{
    for (int i = 0; i < 4; i++) {
        const float got = rounded_in_parts(rng, n, x);
        POD_CHECK(bits_of(got) == bits_of(want), "%d addends from %a on: %a, want %a", n,
                  (double)x[0], (double)got, (double)want);
    }
}

static void wide_one(void)
{
    const uint32_t fractions[] = {0, 1, 2, 0x2aaaaa, 0x3fffff, 0x400000, 0x7ffffe, 0x7fffff};
    pod_rng rng = random_at(1);
    for (uint32_t exponent = 0; exponent < 255; exponent++)
        for (size_t i = 0; i < sizeof fractions / sizeof fractions[0]; i++) {
            const float x = from_bits(exponent << 23 | fractions[i]);
            check_wide(&rng, 1, &x, x);
        }
}

/* Whole numbers of one unit, whose sum 64 bits hold. */
static void wide_correctly_rounded(void)
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
            check_wide(&rng, n, x, ldexpf((float)sum, unit));
        }
}

static void wide_any_range(void)
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
            check_wide(&rng, n, x, got);
        }
}

static void wide_ends(void)
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
        check_wide(&rng, 4, cases[i].x, cases[i].want);
    const float nan = from_bits(QUIET_NAN);
    check_wide(&rng, 3, (const float[]){1, nan, FLT_MAX}, nan);
    check_wide(&rng, 3, (const float[]){inf, nan, inf}, nan);
}

/* As many as there may be between carries, all bits set; and sums of as many cores. */
static void wide_most_addends(void)
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

POD_TEST_SUITE("numbers", {"bf16 widens exactly", bf16_widens_exactly},
               {"bf16 comes back", bf16_comes_back},
               {"bf16 rounds to nearest even", bf16_rounds_to_nearest_even},
               {"bf16 edges", bf16_edges}, {"binned round trip", binned_round_trip},
               {"binned any order", binned_any_order},
               {"binned correctly rounded", binned_correctly_rounded},
               {"binned bound", binned_bound}, {"binned ties", binned_ties},
               {"binned ends", binned_ends}, {"binned most addends", binned_most_addends},
               {"wide_sum one", wide_one}, {"wide_sum correctly rounded", wide_correctly_rounded},
               {"wide_sum any range", wide_any_range}, {"wide_sum ends", wide_ends},
               {"wide_sum most addends", wide_most_addends});
