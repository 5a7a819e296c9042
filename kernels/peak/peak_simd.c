/* The peak of an instruction set's float32 multiply-add; under AVX512_BF16 of vdpbf16ps, by which
 * each of 16 float32 sums gains two products of bfloat16. */
#include "kernels/base/simd/simd.h"
#include "kernels/peak/peak_kernels.h"

/* Two a cycle, four or five cycles each; AVX2 has 16 registers in all. */
enum { N_SUMS = POD_VEC_LANES == 8 ? 12 : 16 };

double POD_ISA(pod__peak)(int64_t n_rounds)
{
    volatile float half = 0.5f;
    const pod_vec halves = pod_vec_all(half);
    pod_vec sum[N_SUMS];
    for (int i = 0; i < N_SUMS; i++) sum[i] = pod_vec_all((float)i);
#ifdef __AVX512BF16__
    enum { PRODUCTS = 2 };
    const __m512bh x = _mm512_cvtne2ps_pbh(halves, halves);
    for (int64_t round = 0; round < n_rounds; round++)
        for (int i = 0; i < N_SUMS; i++) sum[i] = _mm512_dpbf16_ps(sum[i], x, x);
#else
    enum { PRODUCTS = 1 };
    const pod_vec one = pod_vec_all(1);
    for (int64_t round = 0; round < n_rounds; round++)
        for (int i = 0; i < N_SUMS; i++) sum[i] = pod_vec_fma(sum[i], halves, one);
#endif
    for (int i = 0; i < N_SUMS; i++) {
        float lane[POD_VEC_LANES];
        pod_vec_store(POD_F32, lane, 0, POD_VEC_LANES, sum[i]);
        pod__peak_keep(lane[0]);
    }
    return (double)n_rounds * N_SUMS * POD_VEC_LANES * PRODUCTS * 2.0;
}
