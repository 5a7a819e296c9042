/* Sums, plainly: in double from end to end, rounded once. */
#include "kernels/base/element.h"
#include "kernels/base/sets.h"
#include "kernels/reduce/reduce.h"

static float reduce_sum_sq(int64_t count, const float *x)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += (double)x[i] * (double)x[i];
    return (float)sum;
}

static void reduce_sum_sq_wide(int64_t count, const float *x, pod_wide_sum *sum)
{
    for (int64_t at = 0; at < count; at += POD_WIDE_MAX_UNCARRIED) {
        const int64_t left = count - at;
        const int64_t n = left < POD_WIDE_MAX_UNCARRIED ? left : POD_WIDE_MAX_UNCARRIED;
        for (int64_t i = 0; i < n; i++) {
            const float square = x[at + i] * x[at + i];
            pod_wide_sum_add(sum, (double)square);
        }
        pod_wide_sum_carry(sum->digit);
    }
}

static void reduce_col_sum(int64_t rows, int64_t c, pod_dtype t, const void *x, float *sum)
{
    for (int64_t j = 0; j < c; j++) {
        double s = 0;
        for (int64_t row = 0; row < rows; row++) s += (double)pod_element_get(t, x, row * c + j);
        sum[j] = (float)s;
    }
}

const pod_reduce pod__reduce_ref = {"ref", 0, reduce_sum_sq, reduce_sum_sq_wide, reduce_col_sum};

POD_SETS(reduce)
