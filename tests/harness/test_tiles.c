/* Tiles in C: a product bit for bit against the loop of Intel's manual, value by value; and what
 * ends the program where a CPU raises #UD or #GP. */
#include <float.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/base/bf16.h"
#include "kernels/base/rng.h"
#include "tests/harness/harness.h"
#include "tests/harness/tile_amx_emulated.h"

enum { ROWS = 16, COLUMNS = 16, PAIRS = 16, ROW_BYTES = 64 };
enum { SUMS, A, B, NONE }; /* tiles */

typedef struct config {
    uint8_t palette, unused[15];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} config;

/* (16, 2 n_pairs) by (2 n_pairs, 16) */
static config config_of(int n_pairs)
{
    return (config){.palette = 1,
                    .row_bytes = {[SUMS] = ROW_BYTES,
                                  [A] = (uint16_t)(n_pairs * 2 * (int)sizeof(pod_bf16)),
                                  [B] = ROW_BYTES},
                    .rows = {[SUMS] = ROWS, [A] = ROWS, [B] = (uint8_t)n_pairs}};
}

static void configure(config c) { pod_test_tiles_configure(&c); }

typedef struct operands {
    pod_bf16 a[ROWS][2 * PAIRS], b[PAIRS][2 * COLUMNS];
    float sums[ROWS][COLUMNS];
} operands;

/* Any sign and fraction; subnormal and zero where the exponent is 0. */
static uint32_t float_bits(pod_rng *r, uint64_t n_exponents)
{
    return (uint32_t)pod_rng_below(r, n_exponents) << 23 | (pod_rng_u32(r) & 0x807fffffu);
}

/* About half of the products, and some sums, are subnormal. */
static operands draw(uint64_t seed)
{
    pod_rng r = pod_rng_at(seed, (pod_place){.stream = POD_STREAM_TEST});
    operands of;
    for (int i = 0; i < ROWS * 2 * PAIRS; i++)
        (&of.a[0][0])[i].bits = (uint16_t)(float_bits(&r, 128) >> 16);
    for (int i = 0; i < PAIRS * 2 * COLUMNS; i++)
        (&of.b[0][0])[i].bits = (uint16_t)(float_bits(&r, 128) >> 16);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        const uint32_t bits = float_bits(&r, 100);
        memcpy(&of.sums[0][0] + i, &bits, sizeof bits);
    }
    return of;
}

static float flush(float v) { return fabsf(v) < FLT_MIN ? copysignf(0.0f, v) : v; }

static float value(pod_bf16 v) { return flush(pod_bf16_to_f32(v)); }

static float plain_sum(const operands *of, int m, int n, int n_pairs)
{
    float sum[2] = {0};
    for (int k = 0; k < n_pairs; k++)
        for (int i = 0; i < 2; i++)
            sum[i] = flush(fmaf(value(of->a[m][2 * k + i]), value(of->b[k][2 * n + i]), sum[i]));
    return flush(flush(of->sums[m][n]) + flush(sum[0] + sum[1]));
}

static void products_have_the_bits_of_the_manual(void)
{
    static const int n_pairs[] = {PAIRS, PAIRS / 2, 1};
    for (int i = 0; i < 300; i++) {
        const int n = n_pairs[i % 3];
        operands of = draw((uint64_t)i);
        float got[ROWS][COLUMNS];
        configure(config_of(n));
        pod_test_tile_load(SUMS, of.sums, ROW_BYTES);
        pod_test_tile_load(A, of.a, ROW_BYTES);
        pod_test_tile_load(B, of.b, ROW_BYTES);
        pod_test_tile_multiply(SUMS, A, B, __FILE__);
        pod_test_tile_store(SUMS, got, ROW_BYTES);
        pod_test_tiles_release();
        int n_wrong = 0;
        for (int at = 0; at < ROWS * COLUMNS; at++) {
            const float want = plain_sum(&of, at / COLUMNS, at % COLUMNS, n);
            n_wrong += memcmp(&got[0][0] + at, &want, sizeof want) != 0;
        }
        POD_CHECK(n_wrong == 0, "%d pairs, draw %d: %d sums differ", n, i, n_wrong);
    }
}

/* A narrow tile writes its own bytes only, and is zero after its configuration. */
static void stores_keep_to_the_rows(void)
{
    unsigned char to[ROWS + 1][ROW_BYTES];
    memset(to, 0xff, sizeof to);
    configure(config_of(3));
    pod_test_tile_store(A, to, ROW_BYTES);
    pod_test_tiles_release();
    int n_wrong = 0;
    for (int r = 0; r <= ROWS; r++)
        for (int i = 0; i < ROW_BYTES; i++) n_wrong += to[r][i] != (r < ROWS && i < 12 ? 0 : 0xff);
    POD_CHECK(n_wrong == 0, "%d bytes", n_wrong);
}

static void before_configuration(void) { pod_test_tile_zero(SUMS); }

static void behind_release(void)
{
    configure(config_of(PAIRS));
    pod_test_tiles_release();
    pod_test_tile_zero(SUMS);
}

static void tile_left_out(void)
{
    configure(config_of(PAIRS));
    pod_test_tile_zero(NONE);
}

static void depths_differ(void)
{
    config c = config_of(PAIRS);
    c.rows[B] = PAIRS / 2;
    configure(c);
    pod_test_tile_multiply(SUMS, A, B, __FILE__);
}

static void one_tile_twice(void)
{
    configure(config_of(PAIRS));
    pod_test_tile_multiply(SUMS, A, A, __FILE__);
}

static void too_many_rows(void)
{
    config c = config_of(PAIRS);
    c.rows[A] = ROWS + 1;
    configure(c);
}

static void half_a_pair(void)
{
    config c = config_of(PAIRS);
    c.row_bytes[SUMS] = c.row_bytes[B] = ROW_BYTES - 2;
    configure(c);
    pod_test_tile_multiply(SUMS, A, B, __FILE__);
}

static void no_such_palette(void)
{
    config c = config_of(PAIRS);
    c.palette = 2;
    configure(c);
}

static void never_released(void)
{
    configure(config_of(PAIRS));
    pod_test_tiles_report();
}

static void misuse_ends_the_program(void)
{
    static void (*const misuses[])(void) = {
        before_configuration, behind_release, tile_left_out,   depths_differ,  one_tile_twice,
        too_many_rows,        half_a_pair,    no_such_palette, never_released,
    };
    for (size_t i = 0; i < sizeof misuses / sizeof misuses[0]; i++) {
        fflush(NULL);
        const pid_t child = fork();
        if (child == 0) {
            if (freopen("/dev/null", "w", stderr)) misuses[i]();
            _exit(0);
        }
        int how = 0;
        CU_ASSERT(child > 0 && waitpid(child, &how, 0) == child);
        POD_CHECK(WIFSIGNALED(how) && WTERMSIG(how) == SIGABRT, "misuse %zu goes on", i);
    }
}

POD_TEST_SUITE("tiles",
               {"products_have_the_bits_of_the_manual", products_have_the_bits_of_the_manual},
               {"stores_keep_to_the_rows", stores_keep_to_the_rows},
               {"misuse_ends_the_program", misuse_ends_the_program});
