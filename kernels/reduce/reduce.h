/* Sums. The error is a few roundings and does not grow with the count: partial sums over fixed
 * blocks are combined in double precision. The same set gives the same bits each time, at any
 * address. sum_sq_wide rounds only the squares. */
#ifndef MINIPOD_KERNELS_REDUCE_REDUCE_H
#define MINIPOD_KERNELS_REDUCE_REDUCE_H

#include <stdint.h>

#include "kernels/base/bf16.h"
#include "kernels/base/cpu.h"
#include "kernels/base/dtype.h"
#include "kernels/base/wide_sum.h"

typedef struct pod_reduce {
    const char *name;
    uint32_t needs;                                 /* POD_CPU_ bits */
    float (*sum_sq)(int64_t count, const float *x); /* sum of squares, float32 */
    /* Adds the squares, each rounded to float32, to *sum without rounding: the same digits in every
     * set, for any order and any split of x. *sum must be carried (pod_wide_sum_carry) before, and
     * is carried after. */
    void (*sum_sq_wide)(int64_t count, const float *x, pod_wide_sum *sum);
    /* sum[c] = sum over rows of x[row,c]; x is (rows, C) of type t, sum float32. */
    void (*col_sum)(int64_t rows, int64_t c, pod_dtype t, const void *x, float *sum);
} pod_reduce;

/* Return all sets (kernels/base/sets.h), best first, the reference last, then NULL; and the first
 * set that a CPU with these features can run. */
const pod_reduce *const *pod_reduce_sets(void);
const pod_reduce *pod_reduce_pick(uint32_t cpu);

#endif
