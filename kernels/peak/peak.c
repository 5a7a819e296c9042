#include "kernels/peak/peak.h"

#include "kernels/base/cpu.h"
#include "kernels/peak/peak_kernels.h"

/* The peak of plain C as the compiler makes it for any CPU of this architecture. */
static double peak_scalar(int64_t n_rounds)
{
    enum { N_SUMS = 16 }; /* independent, so that one multiply-add need not wait for another */
    volatile float half = 0.5f;
    const float x = half;
    float sum[N_SUMS];
    for (int i = 0; i < N_SUMS; i++) sum[i] = (float)i;
    for (int64_t round = 0; round < n_rounds; round++)
        for (int i = 0; i < N_SUMS; i++) sum[i] = sum[i] * x + 1.0f;
    for (int i = 0; i < N_SUMS; i++) pod__peak_keep(sum[i]);
    return (double)n_rounds * N_SUMS * 2.0;
}

static const pod_peak_kernel kernels[] = {
#if defined(__x86_64__)
    {"amx_tdpbf16ps", POD_CPU_AMX_BF16, POD_BF16, pod__peak_amx},
    {"avx512_vdpbf16ps", POD_CPU_AVX512_BF16, POD_BF16, pod__peak_avx512_bf16},
    {"avx512_fma", POD_CPU_AVX512, POD_F32, pod__peak_avx512},
    {"avx2_fma", POD_CPU_AVX2, POD_F32, pod__peak_avx2},
#endif
    {"scalar", 0, POD_F32, peak_scalar},
};

const pod_peak_kernel *pod_peak_kernels(int *n)
{
    *n = (int)(sizeof kernels / sizeof kernels[0]);
    return kernels;
}
