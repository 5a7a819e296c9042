/* Binned sums where there are no vectors for them: the reference's. For combine_simd.inc. */
#ifndef MINIPOD_KERNELS_COMBINE_BINNED_PLAIN_H
#define MINIPOD_KERNELS_COMBINE_BINNED_PLAIN_H

#include "kernels/combine/sets.h"

static inline void binned_add(int64_t count, const void *from, const void *own, void *sum)
{
    pod__combine_add_ref(count, POD_BINNED, from, POD_BINNED, own, sum);
}

static inline void binned_add_all(int64_t count, int n_in, const void *const in[], int n_out,
                                  void *const out[])
{
    pod__combine_add_all_ref(count, POD_BINNED, n_in, in, n_out, out);
}

static inline void binned_from_f32(int64_t count, const void *from, void *to)
{
    pod__combine_convert_ref(count, POD_F32, from, POD_BINNED, to);
}

static inline void binned_to_f32(int64_t count, const void *from, void *to)
{
    pod__combine_convert_ref(count, POD_BINNED, from, POD_F32, to);
}

#endif
