/* Sums: every set against sums in double, within the roundings that a term can pass. */
#include <stdlib.h>

#include "kernels/base/simd/loop.h"
#include "kernels/reduce/reduce.h"
#include "tests/unit/kernels/kernel_test.h"

/* Roundings to float32 of one term: its square, its way through a sum, the result. */
enum { ROUNDINGS = POD_SUM_CHAIN + 2 };

static double bound_sum(double sum_abs)
{
    return ROUNDINGS * pod_test_roundoff(POD_F32) * sum_abs * 1.001;
}

static void test_sum_sq(void)
{
    const int64_t counts[] = {0, 1, 15, 16, 17, 127, 255, 256, 257, 1000, 100003};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        TENSOR x = tensor_random(i + 1, POD_F32, counts[i]);
        double want = 0;
        for (int64_t j = 0; j < counts[i]; j++) want += tensor_get(&x, j) * tensor_get(&x, j);
        EACH_SET(reduce, set) {
            const double got = (double)set->sum_sq(counts[i], x.data);
            POD_CHECK(pod_test_near(got, want, bound_sum(want)), "%s, %lld: %.9g, want %.9g",
                      set->name, (long long)counts[i], got, want);
        }
    }
}

static float rounded(const pod_wide_sum *s)
{
    pod_binned digits[POD_WIDE_DIGITS];
    pod_wide_sum_to_binned(s, digits);
    return pod_wide_sum_from_binned(digits);
}

/* Every set has the digits of the reference, of the whole and of its parts one after the other. */
static void check_wide(const char *what, const tensor *x)
{
    pod_wide_sum want = {{0}, 0};
    pod_reduce_pick(POD_CPU_REFERENCE_ONLY)->sum_sq_wide(x->count, x->data, &want);
    EACH_SET(reduce, set) {
        for (int64_t part = x->count + 1; part > 0; part = part > 3 ? part / 3 : 0) {
            pod_wide_sum got = {{0}, 0};
            for (int64_t at = 0; at < x->count; at += part)
                set->sum_sq_wide(x->count - at < part ? x->count - at : part,
                                 (const float *)x->data + at, &got);
            POD_CHECK(memcmp(got.digit, want.digit, sizeof got.digit) == 0 &&
                          (got.not_finite == want.not_finite ||
                           (isnan(got.not_finite) && isnan(want.not_finite))),
                      "%s, %s, %lld in parts of %lld: %.9g, want %.9g", what, set->name,
                      (long long)x->count, (long long)part, (double)rounded(&got),
                      (double)rounded(&want));
        }
    }
}

static void test_sum_sq_wide(void)
{
    const int64_t counts[] = {0, 1, 15, 16, 17, 1000, 1023, 1024, 1025, 100003};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        TENSOR x = tensor_random(i + 1, POD_F32, counts[i]);
        pod_wide_sum sum = {{0}, 0};
        double want = 0;
        for (int64_t j = 0; j < counts[i]; j++) want += tensor_get(&x, j) * tensor_get(&x, j);
        pod_reduce_pick(POD_CPU_REFERENCE_ONLY)->sum_sq_wide(counts[i], x.data, &sum);
        const double bound = 2.001 * pod_test_roundoff(POD_F32) * want; /* squares, result */
        POD_CHECK(pod_test_near((double)rounded(&sum), want, bound), "%lld: %.9g, want %.9g",
                  (long long)counts[i], (double)rounded(&sum), want);
        check_wide("random", &x);
        tensor_sprinkle(&x);
        check_wide("odd ones", &x);
    }
}

/* Blocks whose numbers lie within a range, about where the fast ways end; anywhere, so that squares
 * are subnormal, nothing or infinite too. */
static void test_wide_ranges(void)
{
    const int ranges[] = {0, 8, 9, 10, 18, 19, 20, 21, 40, 150};
    const int tops[] = {-130, -75, -74, -65, -60, -55, -50, 0, 62, 63, 64};
    TENSOR x = tensor_new(POD_F32, 3000);
    for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++)
        for (size_t t = 0; t < sizeof tops / sizeof tops[0]; t++) {
            char what[64];
            pod_test_fill(10 * r + t, x.count, POD_F32, x.data);
            float *const data = x.data;
            for (int64_t i = 0; i < x.count; i++)
                data[i] = ldexpf(data[i], tops[t] - (int)(i * 7919 % (ranges[r] + 1)));
            if (t % 2) memset(data, 0, 1030 * sizeof *data); /* a block of nothing */
            snprintf(what, sizeof what, "2^%d and %d below", tops[t], ranges[r]);
            check_wide(what, &x);
        }
}

static void check_col_sum(int64_t rows, int64_t c, pod_dtype t)
{
    TENSOR x = tensor_random(3, t, rows * c), sum = tensor_new(POD_F32, c);
    double *want = calloc((size_t)c, sizeof *want), *bound = calloc((size_t)c, sizeof *bound);
    char name[96];
    for (int64_t i = 0; i < rows * c; i++) {
        want[i % c] += tensor_get(&x, i);
        bound[i % c] += bound_sum(fabs(tensor_get(&x, i)));
    }
    EACH_SET(reduce, set) {
        snprintf(name, sizeof name, "%s col_sum %s (%lld, %lld)", set->name, pod_dtype_name(t),
                 (long long)rows, (long long)c);
        memset(sum.data, 0xff, tensor_bytes(&sum));
        set->col_sum(rows, c, t, x.data, sum.data);
        tensor_check_near(name, &sum, want, bound);
    }
    free(want), free(bound);
}

static void test_col_sum(void)
{
    const int64_t columns[] = {1, 3, 10, 16, 20, 64, 100, 1024, 1030, 2100};
    const int64_t rows[] = {0, 1, 2, 7, 50, 333};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
            for (int t = 0; t < 2; t++) check_col_sum(rows[r], columns[i], t ? POD_BF16 : POD_F32);
    check_col_sum(30011, 1, POD_F32);
    check_col_sum(30011, 3, POD_BF16);
}

/* Whole numbers add up without rounding, so the sets must agree to the bit. */
static void test_exact(void)
{
    enum { ROWS = 5003, C = 20 };
    TENSOR x = tensor_new(POD_F32, ROWS * C), sum = tensor_new(POD_F32, C);
    double want[C] = {0}, want_sq = 0;
    pod_test_fill_exact(7, ROWS * C, 8, POD_F32, x.data);
    for (int i = 0; i < ROWS * C; i++) {
        want[i % C] += tensor_get(&x, i);
        want_sq += tensor_get(&x, i) * tensor_get(&x, i);
    }
    EACH_SET(reduce, set) {
        set->col_sum(ROWS, C, POD_F32, x.data, sum.data);
        tensor_check_near(set->name, &sum, want, NULL);
        CU_ASSERT_EQUAL((double)set->sum_sq(ROWS * C, x.data), want_sq);
    }
}

/* A float32 chain would be off by thousands of roundings here. */
static void test_error_does_not_grow(void)
{
    enum { N = 3000000 };
    TENSOR x = tensor_new(POD_F32, N), sum = tensor_new(POD_F32, 1);
    for (int i = 0; i < N; i++) ((float *)x.data)[i] = 0.1f;
    const double want = N * (double)0.1f, want_sq = want * (double)0.1f;
    EACH_SET(reduce, set) {
        const double bound = bound_sum(want), bound_sq = bound_sum(want_sq);
        const double got_sq = (double)set->sum_sq(N, x.data);
        set->col_sum(N, 1, POD_F32, x.data, sum.data);
        tensor_check_near(set->name, &sum, &want, &bound);
        POD_CHECK(pod_test_near(got_sq, want_sq, bound_sq), "%s: %.9g, want %.9g", set->name,
                  got_sq, want_sq);
    }
}

/* The same bits wherever the data lies. */
static void test_alignment(void)
{
    enum { ROWS = 77, C = 20, N = ROWS * C };
    static float room[N + 32], sums[2][C];
    TENSOR x = tensor_random(9, POD_F32, N);
    EACH_SET(reduce, set) {
        const float want = set->sum_sq(N, x.data);
        set->col_sum(ROWS, C, POD_F32, x.data, sums[0]);
        for (int shift = 0; shift < 32; shift++) {
            memcpy(room + shift, x.data, tensor_bytes(&x));
            CU_ASSERT_EQUAL(set->sum_sq(N, room + shift), want);
            set->col_sum(ROWS, C, POD_F32, room + shift, sums[1]);
            CU_ASSERT_EQUAL(memcmp(sums[0], sums[1], sizeof sums[0]), 0);
        }
    }
}

/* What is not a number stays in its column, and gets through. */
static void test_not_numbers(void)
{
    enum { ROWS = 70, C = 20 };
    TENSOR x = tensor_random(4, POD_F32, ROWS * C), sum = tensor_new(POD_F32, C);
    pod_test_put(POD_F32, x.data, 69 * C + 3, (double)NAN);
    pod_test_put(POD_F32, x.data, 4 * C + 5, (double)INFINITY);
    pod_test_put(POD_F32, x.data, 68 * C + 19, -(double)INFINITY);
    EACH_SET(reduce, set) {
        set->col_sum(ROWS, C, POD_F32, x.data, sum.data);
        for (int j = 0; j < C; j++) {
            const double got = tensor_get(&sum, j);
            const bool ok = j == 3    ? isnan(got)
                            : j == 5  ? got == (double)INFINITY
                            : j == 19 ? got == -(double)INFINITY
                                      : isfinite(got);
            POD_CHECK(ok, "%s: column %d is %g", set->name, j, got);
        }
        CU_ASSERT(isnan(set->sum_sq(ROWS * C, x.data)));
    }
}

POD_TEST_SUITE("reduce", {"sum_sq", test_sum_sq}, {"sum_sq_wide", test_sum_sq_wide},
               {"wide_ranges", test_wide_ranges}, {"col_sum", test_col_sum}, {"exact", test_exact},
               {"error_does_not_grow", test_error_does_not_grow}, {"alignment", test_alignment},
               {"not_numbers", test_not_numbers});
