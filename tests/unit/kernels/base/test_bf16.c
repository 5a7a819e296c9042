/* kernels/base: bf16 to and from float32. */
#include "kernels/base/bf16.h"
#include "tests/harness/harness.h"

enum { N_BF16 = 1 << 16, BF16_INF = 0x7f80, BF16_MIN_NORMAL = 0x0080, BF16_SIGN = 0x8000 };

static float f32_of_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t bits_of_f32(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static void bf16_widens_exactly(void)
{
    for (uint32_t bits = 0; bits < N_BF16; bits++) {
        uint32_t wide = bits_of_f32(pod_bf16_to_f32((pod_bf16){(uint16_t)bits}));
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
    double x = (double)f32_of_bits(f32_bits), a = (double)f32_of_bits(low << 16);
    double b = low + 1 == BF16_INF ? 0x1p128 : (double)f32_of_bits((low + 1) << 16);
    if (x - a == b - x) return low % 2 == 0 ? low : low + 1;
    return x - a < b - x ? low : low + 1;
}

static void bf16_rounds_to_nearest_even(void)
{
    static const uint32_t tails[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
    for (uint32_t low = BF16_MIN_NORMAL; low < BF16_INF; low++) {
        for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
            uint32_t x = low << 16 | tails[i], want = nearest(low, x);
            uint32_t got = pod_bf16_from_f32(f32_of_bits(x)).bits;
            POD_CHECK(got == want, "0x%08x rounds to 0x%04x, want 0x%04x", x, got, want);
            got = pod_bf16_from_f32(f32_of_bits(x | 0x80000000u)).bits;
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
        uint32_t got = pod_bf16_from_f32(f32_of_bits(cases[i].from)).bits;
        POD_CHECK(got == cases[i].to, "%s: 0x%08x gives 0x%04x, want 0x%04x", cases[i].what,
                  cases[i].from, got, cases[i].to);
    }
}

static CU_TestInfo tests[] = {
    {"widens_exactly", bf16_widens_exactly},
    {"comes_back", bf16_comes_back},
    {"rounds_to_nearest_even", bf16_rounds_to_nearest_even},
    {"edges", bf16_edges},
    CU_TEST_INFO_NULL,
};

CU_SuiteInfo pod_test_suites[] = {
    {"kernels.bf16", NULL, NULL, NULL, NULL, tests},
    CU_SUITE_INFO_NULL,
};
