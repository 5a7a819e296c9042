/* Sums, plainly: in double from end to end, rounded once. */
#include "kernels/base/element.h"
#include "kernels/reduce/sets.h"

float pod__reduce_sum_sq_ref(int64_t count, const float *x)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += (double)x[i] * (double)x[i];
    return (float)sum;
}

void pod__reduce_col_sum_ref(int64_t rows, int64_t c, pod_dtype t, const void *x, float *sum)
{
    for (int64_t j = 0; j < c; j++) {
        double s = 0;
        for (int64_t row = 0; row < rows; row++) s += (double)pod_element_get(t, x, row * c + j);
        sum[j] = (float)s;
    }
}
