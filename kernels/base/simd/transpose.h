/* Included after the header of an instruction set. */
#ifndef MINIPOD_KERNELS_BASE_SIMD_TRANSPOSE_H
#define MINIPOD_KERNELS_BASE_SIMD_TRANSPOSE_H

#include "kernels/base/arith.h"

#ifdef POD_SIMD

/* Transposes a square of LANES x LANES elements in log2(LANES) rounds, each of which interleaves the
 * first half of the rows with the second. */
POD_INLINE void pod_vec_transpose(pod_vec row[POD_VEC_LANES])
{
    for (int round = 1; round < POD_VEC_LANES; round *= 2) {
        pod_vec next[POD_VEC_LANES];
#pragma GCC unroll 8
        for (int i = 0; i < POD_VEC_LANES / 2; i++) {
            next[2 * i] = pod_vec_zip_first(row[i], row[i + POD_VEC_LANES / 2]);
            next[2 * i + 1] = pod_vec_zip_second(row[i], row[i + POD_VEC_LANES / 2]);
        }
#pragma GCC unroll 16
        for (int i = 0; i < POD_VEC_LANES; i++) row[i] = next[i];
    }
}

#endif
#endif
