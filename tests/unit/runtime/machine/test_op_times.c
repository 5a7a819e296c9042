/* Times of ops: text and back, and what stands between the points, by hand. */
#include <math.h>
#include <stdlib.h>

#include "runtime/machine/op_times.h"
#include "tests/harness/harness.h"

static pod_op_time point_of(const char *text)
{
    pod_op_time p = {0};
    POD_CHECK_OK(pod_op_time_parse("test", text, &p));
    return p;
}

static void print_is_the_inverse_of_parse(void)
{
    static const char *const rows[] = {
        "conv2d_dx bf16 amx 16x32 32x16 75497472 1048576 129.5",
        "fill f32 plain 1x1 1x1 0 0 0.06",
        "gate u8 avx512_bf16 96x16 96x16 1.5 0.333 1e-06",
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[256];
        const pod_op_time p = point_of(rows[i]);
        pod_op_time again = point_of(pod_op_time_print(&p, text, sizeof text));
        CU_ASSERT_STRING_EQUAL(text, rows[i]);
        CU_ASSERT_EQUAL(memcmp(&p, &again, sizeof p), 0);
    }
}

static void bad_lines(void)
{
    static const struct {
        const char *text, *part;
    } rows[] = {
        {"", "is not op, type, kernel"},
        {"add f32 ref 1x1 1x1 1 8", "is not op, type, kernel"},
        {"add f32 ref 1x1 1x1 1 8 1 1", "is not op, type, kernel"},
        {"add f128 ref 1x1 1x1 1 8 1", "there is no type 'f128'"},
        {"add f32 ref 1 1x1 1 8 1", "'1' is not columns x width"},
        {"add f32 ref 1x1 1x0 1 8 1", "1x0"},
        {"add f32 ref 1x1 1x9999999999 1 8 1", "is not columns x width"},
        {"add f32 ref 1x1 1x1 -1 8 1", "-1 is not within"},
        {"add f32 ref 1x1 1x1 1 8 fast", "'fast' is not"},
        {"an_op_whose_name_is_longer_than_any f32 ref 1x1 1x1 1 8 1", "test: "},
    };
    pod_op_time p;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        POD_CHECK_FAILS(pod_op_time_parse("test", rows[i].text, &p), POD_E_INVALID, rows[i].part);
}

static pod_op_times *times_of(const char *const lines[], int n)
{
    pod_op_times *t = calloc(1, sizeof *t);
    for (int i = 0; t && i < n; i++) {
        const pod_op_time p = point_of(lines[i]);
        POD_CHECK_OK(pod_op_times_add(t, &p));
    }
    return t;
}

static void check_estimate(const pod_op_times *t, const char *call, double want_us)
{
    const pod_op_time like = point_of(call);
    const double us = pod_op_times_estimate(t, &like);
    POD_CHECK(fabs(us - want_us) <= 1e-6 * want_us, "%s: %g us, expected %g", call, us, want_us);
}

static void looks_between(void)
{
    static const char *const lines[] = {
        "conv2d bf16 amx 16x32 16x32 1000000 10000 10",  /* 10 ps a FLOP */
        "conv2d bf16 amx 64x32 64x32 1000000 10000 2.5", /* 2.5 ps a FLOP, two doublings off */
        "add f32 avx512 16x32 16x32 1000 12000 3", /* 1 ns an operation, that is 0.25 a byte */
    };
    pod_op_times *t = times_of(lines, 3);
    if (!t) return;
    check_estimate(t, "conv2d bf16 amx 16x32 16x32 1000000 10000 0", 10);
    check_estimate(t, "conv2d bf16 amx 64x32 64x32 1000000 10000 0", 2.5);
    /* Half-way in both channels: the geometric mean, 5 ps a FLOP. */
    check_estimate(t, "conv2d bf16 amx 32x32 32x32 1000000 10000 0", 5);
    check_estimate(t, "conv2d bf16 amx 32x32 32x32 3000000 30000 0", 15);
    /* One doubling from the first and, in both, three from the second: distances squared 2 and 18,
     * weights 81 to 1. */
    check_estimate(t, "conv2d bf16 amx 8x32 8x32 1000000 10000 0",
                   exp((81 * log(10) + log(2.5)) / 82));
    check_estimate(t, "add f32 avx512 16x32 16x32 2000 24000 0", 6);
    free(t);
}

static void other_kernels_serve(void)
{
    static const char *const lines[] = {
        "add f32 avx512 16x32 16x32 1000 12000 3",
        "add bf16 ref 16x32 16x32 1000 6000 8",
    };
    pod_op_times *t = times_of(lines, 2);
    if (!t) return;
    check_estimate(t, "add f32 avx2 16x32 16x32 1000 12000 0", 3);
    check_estimate(t, "add bf16 avx512 16x32 16x32 1000 6000 0", 8);
    check_estimate(t, "add bf16 ref 16x32 16x32 1000 6000 0", 8);
    check_estimate(t, "relu f32 avx512 16x32 16x32 1000 12000 0", 0);
    const pod_op_time like = point_of("add f32 avx2 16x32 16x32 1000 12000 0");
    CU_ASSERT_EQUAL(pod_op_times_of_kernel(t, &like), 0);
    free(t);
}

static void has_room_for_so_many(void)
{
    pod_op_times *t = calloc(1, sizeof *t);
    const pod_op_time p = point_of("add f32 ref 1x1 1x1 1 8 1");
    for (int i = 0; t && i < POD_MAX_OP_TIMES; i++) POD_CHECK_OK(pod_op_times_add(t, &p));
    if (t) POD_CHECK_FAILS(pod_op_times_add(t, &p), POD_E_NOMEM, "more than 2048 times of ops");
    free(t);
}

POD_TEST_SUITE("runtime.op_times", {"print is the inverse of parse", print_is_the_inverse_of_parse},
               {"bad lines", bad_lines}, {"looks between", looks_between},
               {"other kernels serve", other_kernels_serve},
               {"has room for so many", has_room_for_so_many});
