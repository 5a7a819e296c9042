/* The peak of vdpbf16ps: each of 16 float32 sums gains two products of bfloat16. */
#include <immintrin.h>

#include "kernels/peak/peak_kernels.h"

enum { N_SUMS = 16 };

double pod__peak_avx512bf16(int64_t n_rounds)
{
    volatile float half = 0.5f;
    const __m512 halves = _mm512_set1_ps(half);
    const __m512bh x = _mm512_cvtne2ps_pbh(halves, halves);
    __m512 sum[N_SUMS];
    for (int i = 0; i < N_SUMS; i++) sum[i] = _mm512_set1_ps((float)i);
    for (int64_t round = 0; round < n_rounds; round++)
        for (int i = 0; i < N_SUMS; i++) sum[i] = _mm512_dpbf16_ps(sum[i], x, x);
    for (int i = 0; i < N_SUMS; i++) pod__peak_keep(_mm512_cvtss_f32(sum[i]));
    return (double)n_rounds * N_SUMS * 16 * 2 * 2.0;
}
