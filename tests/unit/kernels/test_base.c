/* kernels/base: bf16, random numbers, arena, parsers, status and CPU features. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/base/arena.h"
#include "kernels/base/bf16.h"
#include "kernels/base/cpu.h"
#include "kernels/base/parse.h"
#include "kernels/base/rng.h"
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

/* ---- bf16 ---------------------------------------------------------------------------------- */

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

/* ---- rng ----------------------------------------------------------------------------------- */

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

/* ---- arena --------------------------------------------------------------------------------- */

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

/* ---- parse --------------------------------------------------------------------------------- */

static void parse_int(void)
{
    static const struct {
        const char *text;
        int64_t want;
    } good[] = {{"0", 0},
                {"-7", -7},
                {"100", 100},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN}};
    static const char *const bad[] = {"",    " 1", "1 ",  "1x",  "x",    "0x10",
                                      "1.0", "-",  "1e3", "--1", "1\t2", "9223372036854775808"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int64_t got = 42;
        POD_CHECK_OK(pod_parse_int("--n", good[i].text, INT64_MIN, INT64_MAX, &got));
        POD_CHECK(got == good[i].want, "'%s' is read as %lld", good[i].text, (long long)got);
    }
    int64_t untouched = 42;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        POD_CHECK_FAILS(pod_parse_int("--n", bad[i], INT64_MIN, INT64_MAX, &untouched),
                        POD_E_INVALID, "--n: ");
    POD_CHECK_FAILS(pod_parse_int("--n", "11", 1, 10, &untouched), POD_E_INVALID, "1 to 10");
    POD_CHECK_FAILS(pod_parse_int("--n", "0", 1, 10, &untouched), POD_E_INVALID, "1 to 10");
    CU_ASSERT_EQUAL(untouched, 42);
}

static void parse_double(void)
{
    static const struct {
        const char *text;
        double want;
    } good[] = {{"0", 0}, {"-1.5", -1.5}, {"1e-3", 1e-3}, {".5", .5}, {"1e308", 1e308}};
    static const char *const bad[] = {"",    " 1",   "1 ", "1x",    "nan",
                                      "inf", "-inf", "e",  "1e999", "0x10"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        double got = 42;
        POD_CHECK_OK(pod_parse_double("--lr", good[i].text, -HUGE_VAL, HUGE_VAL, &got));
        POD_CHECK(got == good[i].want, "'%s' is read as %g", good[i].text, got);
    }
    double untouched = 42;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        POD_CHECK_FAILS(pod_parse_double("--lr", bad[i], -HUGE_VAL, HUGE_VAL, &untouched),
                        POD_E_INVALID, "--lr: ");
    POD_CHECK_FAILS(pod_parse_double("--lr", "1.5", 0, 1, &untouched), POD_E_INVALID, "0 to 1");
    CU_ASSERT_EQUAL(untouched, 42);
}

static void parse_size(void)
{
    static const struct {
        const char *text;
        int64_t want;
    } good[] = {{"0", 0},
                {"4096", 4096},
                {"64K", 64 << 10},
                {"64k", 64 << 10},
                {"64KB", 64 << 10},
                {"7b", 7},
                {"1.5M", 3 << 19},
                {"0.5K", 512},
                {"4G", (int64_t)4 << 30},
                {"2T", (int64_t)2 << 40},
                {"9007199254740993", 9007199254740993},
                {"8388607T", (int64_t)8388607 << 40},
                {"9223372036854775807", INT64_MAX}};
    static const char *const bad[] = {"",
                                      "K",
                                      "-1",
                                      "+1",
                                      "1.5",
                                      "0.3K",
                                      "1KK",
                                      "1 K",
                                      "1P",
                                      "1KBB",
                                      "0x10",
                                      "1e3",
                                      "inf",
                                      "nan",
                                      "8388608T",
                                      "99999999999999999999",
                                      ".5K",
                                      "1.K",
                                      "8388607.99999999999999999999T",
                                      "0.99999999999999999999K"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int64_t got = 42;
        POD_CHECK_OK(pod_parse_size("--bytes", good[i].text, &got));
        POD_CHECK(got == good[i].want, "'%s' is read as %lld", good[i].text, (long long)got);
    }
    int64_t untouched = 42;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        POD_CHECK_FAILS(pod_parse_size("--bytes", bad[i], &untouched), POD_E_INVALID, "--bytes: ");
    CU_ASSERT_EQUAL(untouched, 42);
}

static void size_round_trip(void)
{
    pod_rng r = pod_rng_at(4, (pod_place){.stream = POD_STREAM_TEST});
    char text[32];
    for (int i = 0; i < 2000; i++) {
        int64_t bytes = (int64_t)(pod_rng_u64(&r) >> 2 >> pod_rng_below(&r, 62));
        int shift = (int)pod_rng_below(&r, 5) * 10;
        if (bytes < INT64_MAX >> (shift + 2)) bytes <<= shift;
        int64_t back = -1;
        POD_CHECK_OK(pod_parse_size("size", pod_print_size(bytes, text, sizeof text), &back));
        POD_CHECK(back == bytes, "%lld is printed '%s' and read as %lld", (long long)bytes, text,
                  (long long)back);
    }
    CU_ASSERT_STRING_EQUAL(pod_print_size(0, text, sizeof text), "0");
    CU_ASSERT_STRING_EQUAL(pod_print_size(1000, text, sizeof text), "1000");
    CU_ASSERT_STRING_EQUAL(pod_print_size(1536, text, sizeof text), "1536");
    CU_ASSERT_STRING_EQUAL(pod_print_size(65536, text, sizeof text), "64K");
    CU_ASSERT_STRING_EQUAL(pod_print_size((int64_t)1 << 50, text, sizeof text), "1024T");
}

static void print_double(void)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = {{0, "0"},         {-0.0, "-0"},         {0.1, "0.1"},     {5, "5"},
                {50, "50"},       {-1200, "-1200"},     {61604, "61604"}, {275000, "275000"},
                {1e6, "1e+06"},   {1.25e9, "1.25e+09"}, {1e-6, "1e-06"},  {999999.5, "999999.5"},
                {INFINITY, "inf"}};
    char text[32];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        CU_ASSERT_STRING_EQUAL(pod_print_double(rows[i].value, text, sizeof text), rows[i].text);
}

static void parse_bool(void)
{
    static const char *const yes[] = {"on", "true", "yes", "1", "ON", "True"};
    static const char *const no[] = {"off", "false", "no", "0", "OFF", "False"};
    static const char *const bad[] = {"", "2", "o", "onn", " on", "y"};
    bool got = false;
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++, got = false)
        POD_CHECK(pod_parse_bool("--b", yes[i], &got) == POD_OK && got, "'%s'", yes[i]);
    got = true;
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++, got = true)
        POD_CHECK(pod_parse_bool("--b", no[i], &got) == POD_OK && !got, "'%s'", no[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        POD_CHECK_FAILS(pod_parse_bool("--b", bad[i], &got), POD_E_INVALID, "--b: ");
    CU_ASSERT_TRUE(got);
}

static void parse_dims(void)
{
    static const char *const bad[] = {"",
                                      "x",
                                      "2x",
                                      "x2",
                                      "2xx2",
                                      "0x2",
                                      "-1x2",
                                      "2X2",
                                      "2x2x2x2",
                                      " 2",
                                      "2 x2",
                                      "2.5",
                                      "99999999999999999999"};
    int64_t dim[3] = {-1, -1, -1};
    int n_dims = 0;
    POD_CHECK_OK(pod_parse_dims("--data", "28x14x1", 3, dim, &n_dims));
    CU_ASSERT(n_dims == 3 && dim[0] == 28 && dim[1] == 14 && dim[2] == 1);
    POD_CHECK_OK(pod_parse_dims("--data", "7", 3, dim, &n_dims));
    CU_ASSERT(n_dims == 1 && dim[0] == 7 && dim[1] == 14);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        POD_CHECK_FAILS(pod_parse_dims("--data", bad[i], 3, dim, &n_dims), POD_E_INVALID,
                        "--data: ");
    CU_ASSERT(n_dims == 1 && dim[0] == 7 && dim[1] == 14);
}

/* ---- status -------------------------------------------------------------------------------- */

static pod_status innermost(void)
{
    return pod_fail(POD_E_SHAPE, "%s has %d channels, want %d", "conv1", 3, 4);
}

static pod_status middle(void)
{
    POD_TRY(innermost());
    return POD_OK;
}

static void status_carries_text_and_places(void)
{
    pod_error_set("");
    CU_ASSERT_EQUAL(middle(), POD_E_SHAPE);
    CU_ASSERT_STRING_EQUAL(pod_error_text(), "conv1 has 3 channels, want 4");
    const char *first = strstr(pod_error_trace(), "test_base.c:");
    CU_ASSERT_PTR_NOT_NULL(first);
    const char *second = first ? strchr(first, '\n') : NULL;
    CU_ASSERT(second && strstr(second, "test_base.c:") && !strchr(second + 1, '\n'));
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
    for (int i = 0; i < 200; i++) (void)pod__trace(__FILE__, i, POD_E_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(pod_error_trace(), "test_base.c:1\n"));
    pod_error_set("elsewhere");
    CU_ASSERT_STRING_EQUAL(pod_error_text(), "elsewhere");
    CU_ASSERT_STRING_EQUAL(pod_error_trace(), "");
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
#define POD_X(name, value, text)                                \
    CU_ASSERT_STRING_EQUAL(pod_status_name(POD_##name), #name); \
    CU_ASSERT_STRING_EQUAL(pod_status_text(POD_##name), text);
    POD_STATUS_MAP(POD_X)
#undef POD_X
    CU_ASSERT_STRING_EQUAL(pod_status_name((pod_status)-99), "E_?");
}

/* ---- cpu ----------------------------------------------------------------------------------- */

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

static CU_TestInfo bf16_tests[] = {
    {"widens_exactly", bf16_widens_exactly},
    {"comes_back", bf16_comes_back},
    {"rounds_to_nearest_even", bf16_rounds_to_nearest_even},
    {"edges", bf16_edges},
    CU_TEST_INFO_NULL,
};
static CU_TestInfo rng_tests[] = {
    {"philox_known_answers", philox_known_answers},
    {"depends_on_each_field", rng_depends_on_each_field},
    {"hands_out_blocks_in_order", rng_hands_out_blocks_in_order},
    {"moments", rng_moments},
    {"below_stays_below", rng_below_stays_below},
    CU_TEST_INFO_NULL,
};
static CU_TestInfo arena_tests[] = {
    {"survives_the_nth_failure", arena_survives_the_nth_failure},
    {"aligns_zeroes_and_keeps_apart", arena_aligns_zeroes_and_keeps_apart},
    {"refuses_what_overflows", arena_refuses_what_overflows},
    {"copies", arena_copies},
    {"alloc_count_moves_with_requests", alloc_count_moves_with_requests},
    CU_TEST_INFO_NULL,
};
static CU_TestInfo parse_tests[] = {
    {"int", parse_int},
    {"double", parse_double},
    {"size", parse_size},
    {"size_round_trip", size_round_trip},
    {"print_double", print_double},
    {"bool", parse_bool},
    {"dims", parse_dims},
    CU_TEST_INFO_NULL,
};
static CU_TestInfo status_tests[] = {
    {"carries_text_and_places", status_carries_text_and_places},
    {"keeps_one_line_and_its_own_text", status_keeps_one_line_and_its_own_text},
    {"belongs_to_its_thread", status_belongs_to_its_thread},
    {"names", status_names},
    CU_TEST_INFO_NULL,
};
static CU_TestInfo cpu_tests[] = {
    {"agrees with the system", cpu_agrees_with_the_system}, /* before cap lowers anything */
    {"cap", cpu_cap},
    {"print", cpu_print},
    {"sets", cpu_sets},
    CU_TEST_INFO_NULL,
};

CU_SuiteInfo pod_test_suites[] = {
    {"bf16", NULL, NULL, NULL, NULL, bf16_tests},
    {"rng", NULL, NULL, NULL, NULL, rng_tests},
    {"arena", NULL, NULL, NULL, NULL, arena_tests},
    {"parse", NULL, NULL, NULL, NULL, parse_tests},
    {"status", NULL, NULL, NULL, NULL, status_tests},
    {"cpu", NULL, NULL, NULL, NULL, cpu_tests},
    CU_SUITE_INFO_NULL,
};
