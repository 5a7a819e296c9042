/* Sums, plainly: in double from end to end, rounded once. */
#include "kernels/base/element.h"
#include "kernels/reduce/sets.h"

float pod__reduce_sum_sq_ref(int64_t count, const float *x)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += (double)x[i] * (double)x[i];
    return (float)sum;
}

void pod__reduce_sum_sq_wide_ref(int64_t count, const float *x, pod_wide_sum *sum)
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

void pod__reduce_col_sum_ref(int64_t rows, int64_t c, pod_dtype t, const void *x, float *sum)
{
    for (int64_t j = 0; j < c; j++) {
        double s = 0;
        for (int64_t row = 0; row < rows; row++) s += (double)pod_element_get(t, x, row * c + j);
        sum[j] = (float)s;
    }
}
