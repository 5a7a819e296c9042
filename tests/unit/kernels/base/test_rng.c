/* kernels/base: random numbers. */
#include <limits.h>
#include <math.h>

#include "kernels/base/rng.h"
#include "tests/harness/harness.h"

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

static CU_TestInfo tests[] = {
    {"philox_known_answers", philox_known_answers},
    {"depends_on_each_field", rng_depends_on_each_field},
    {"hands_out_blocks_in_order", rng_hands_out_blocks_in_order},
    {"moments", rng_moments},
    {"below_stays_below", rng_below_stays_below},
    CU_TEST_INFO_NULL,
};

CU_SuiteInfo pod_test_suites[] = {
    {"kernels.rng", NULL, NULL, NULL, NULL, tests},
    CU_SUITE_INFO_NULL,
};
