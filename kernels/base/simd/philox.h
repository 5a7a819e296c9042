/* Philox4x32-10 (kernels/base/rng.h) for LANES consecutive counters at a time. */
#ifndef MINIPOD_KERNELS_BASE_SIMD_PHILOX_H
#define MINIPOD_KERNELS_BASE_SIMD_PHILOX_H

#include "kernels/base/arith.h"
#include "kernels/base/simd/simd.h"

#ifdef POD_SIMD

/* Computes the blocks under the counters (first + lane, c1, c2, c3). number[4 LANES] are the upper 24
 * bits of their words, in the order in which pod_philox gives them counter by counter. */
POD_INLINE void pod_vec_philox(const uint32_t key[2], uint32_t first, uint32_t c1, uint32_t c2,
                               uint32_t c3, pod_vec number[4])
{
    pod_vec_u32 x0 = pod_vec_u32_from(first), x1 = pod_vec_u32_all(c1);
    pod_vec_u32 x2 = pod_vec_u32_all(c2), x3 = pod_vec_u32_all(c3);
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        pod_vec_u32 high0, high1;
        const pod_vec_u32 low0 = pod_vec_u32_mul(x0, 0xD2511F53u, &high0);
        const pod_vec_u32 low1 = pod_vec_u32_mul(x2, 0xCD9E8D57u, &high1);
        x0 = pod_vec_u32_xor(pod_vec_u32_xor(high1, x1), pod_vec_u32_all(k0));
        x2 = pod_vec_u32_xor(pod_vec_u32_xor(high0, x3), pod_vec_u32_all(k1));
        x1 = low1;
        x3 = low0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    const pod_vec w0 = pod_vec_u32_upper24(x0), w1 = pod_vec_u32_upper24(x1);
    const pod_vec w2 = pod_vec_u32_upper24(x2), w3 = pod_vec_u32_upper24(x3);
    const pod_vec even = pod_vec_zip_first(w0, w2), even_end = pod_vec_zip_second(w0, w2);
    const pod_vec odd = pod_vec_zip_first(w1, w3), odd_end = pod_vec_zip_second(w1, w3);
    number[0] = pod_vec_zip_first(even, odd);
    number[1] = pod_vec_zip_second(even, odd);
    number[2] = pod_vec_zip_first(even_end, odd_end);
    number[3] = pod_vec_zip_second(even_end, odd_end);
}

#endif
#endif
