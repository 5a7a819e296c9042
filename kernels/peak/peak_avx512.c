/* The peak of AVX-512's float32 multiply-add. */
#include <immintrin.h>

#include "kernels/peak/peak_kernels.h"

enum { N_SUMS = 16 }; /* two a cycle, four or five cycles each */

double pod__peak_avx512(int64_t n_rounds)
{
    volatile float half = 0.5f;
    const __m512 x = _mm512_set1_ps(half), y = _mm512_set1_ps(1.0f);
    __m512 sum[N_SUMS];
    for (int i = 0; i < N_SUMS; i++) sum[i] = _mm512_set1_ps((float)i);
    for (int64_t round = 0; round < n_rounds; round++)
        for (int i = 0; i < N_SUMS; i++) sum[i] = _mm512_fmadd_ps(sum[i], x, y);
    for (int i = 0; i < N_SUMS; i++) pod__peak_keep(_mm512_cvtss_f32(sum[i]));
    return (double)n_rounds * N_SUMS * 16 * 2.0;
}
