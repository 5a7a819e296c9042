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

/* Hoare's FIND (CACM 4, 1961, algorithm 65): what is left of k is never greater, what is right of
 * it never smaller, when low and high have met there. */
int64_t pod_spread_nth(int64_t *values, int64_t n, int64_t k)
{
    for (int64_t low = 0, high = n - 1; low < high;) {
        const int64_t pivot = values[k];
        int64_t i = low, j = high;
        do {
            while (values[i] < pivot) i++;
            while (pivot < values[j]) j--;
            if (i > j) break;
            const int64_t other = values[i];
            values[i++] = values[j];
            values[j--] = other;
        } while (i <= j);
        if (j < k) low = i;
        if (k < i) high = j;
    }
    return values[k];
}

int64_t pod_spread_middle(int64_t *values, int64_t n)
{
    const int64_t upper = pod_spread_nth(values, n, n / 2);
    return (pod_spread_nth(values, n, (n - 1) / 2) + upper) / 2;
}
