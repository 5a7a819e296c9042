/* The summary of measured values in a result row. */
#ifndef MINIPOD_RUNTIME_CORE_SPREAD_H
#define MINIPOD_RUNTIME_CORE_SPREAD_H

#include <stdint.h>

typedef struct pod_spread { /* in the unit of the values; all 0 without values */
    int64_t n;
    double min, median, mean, p99, max;
} pod_spread;

/* Sorts `values` in place. The median of an even number is the mean of the middle two; p99 is the
 * smallest value that 99 % do not exceed (nearest rank). */
pod_spread pod_spread_of(double *values, int64_t n);

/* Returns the k-th smallest of n, 0 <= k < n. Reorders the values; takes no memory, and time linear
 * in n except for adversarial values. */
int64_t pod_spread_nth(int64_t *values, int64_t n, int64_t k);
/* Returns the median of n >= 1, likewise; the mean of the middle two is truncated. */
int64_t pod_spread_middle(int64_t *values, int64_t n);

#endif
