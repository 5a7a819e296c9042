/* The functions of every set in reduce.def. For kernels/reduce only. */
#ifndef MINIPOD_KERNELS_REDUCE_SETS_H
#define MINIPOD_KERNELS_REDUCE_SETS_H

#include "kernels/reduce/reduce.h"

#define POD_REDUCE(name, needs, isa)                                                      \
    float pod__reduce_sum_sq_##isa(int64_t count, const float *x);                        \
    void pod__reduce_sum_sq_wide_##isa(int64_t count, const float *x, pod_wide_sum *sum); \
    void pod__reduce_col_sum_##isa(int64_t rows, int64_t c, pod_dtype t, const void *x, float *sum);
#include "kernels/reduce/reduce.def"
#undef POD_REDUCE

#endif
