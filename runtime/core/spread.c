#include "runtime/core/spread.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

pod_spread pod_spread_of(double *values, int64_t n)
{
    if (n == 0) return (pod_spread){0};
    qsort(values, (size_t)n, sizeof values[0], compare);
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += values[i];
    const int64_t rank_99 = (99 * n + 99) / 100; /* rounded up: 1 .. n */
    return (pod_spread){
        .n = n,
        .min = values[0],
        .median = (values[(n - 1) / 2] + values[n / 2]) / 2,
        .mean = sum / (double)n,
        .p99 = values[rank_99 - 1],
        .max = values[n - 1],
    };
}
