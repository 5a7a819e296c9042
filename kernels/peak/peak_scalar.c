/* The peak of plain C as the compiler makes it for any CPU of this architecture. */
#include "kernels/peak/peak_kernels.h"

enum { N_SUMS = 16 }; /* independent, so that one multiply-add need not wait for another */

double pod__peak_scalar(int64_t n_rounds)
{
    volatile float half = 0.5f;
    const float x = half;
    float sum[N_SUMS];
    for (int i = 0; i < N_SUMS; i++) sum[i] = (float)i;
    for (int64_t round = 0; round < n_rounds; round++)
        for (int i = 0; i < N_SUMS; i++) sum[i] = sum[i] * x + 1.0f;
    for (int i = 0; i < N_SUMS; i++) pod__peak_keep(sum[i]);
    return (double)n_rounds * N_SUMS * 2.0;
}
