/* Matrix products in AVX-512 float32: tiles of 14 x 32, 28 sums in registers. */
#include "kernels/base/cpu.h"
#include "kernels/base/simd/avx512.h"
#include "kernels/gemm/blas.h"
#include "kernels/gemm/gemm_kernels.h"

#define ISA(name) pod__gemm_avx512_##name
enum { TILE_ROWS = 14, DEPTH = 384, MAX_ROWS = 36 * TILE_ROWS, MAX_COLUMNS = 1024 };
#define TILE_HEIGHTS T(14) T(8) T(4) T(1)
#include "kernels/gemm/gemm_f32_simd.inc"

const char *pod__gemm_avx512_why_not(const pod_gemm_call *call)
{
    (void)call;
    return NULL;
}

/* Where OpenBLAS's AVX-512 kernels were measured to be faster: few rows, small products,
 * which it multiplies without packing, and products so large that its blocks pay off. */
const char *pod__gemm_avx512_slow(const pod_gemm_call *call)
{
    if (!(pod_blas_features() & POD_CPU_AVX512)) return NULL;
    const pod_gemm_shape s = call->shape;
    const double m = (double)s.m, n = (double)s.n, k = (double)s.k;
    const double short_product = 1 << 14, large_product = 1 << 28;
    if (call->trans_a) return "A is transposed";
    if (call->trans_b && !(call->fused & POD_GEMM_PACKED_B))
        return "B is transposed and not packed";
    if (s.m < 128 || s.n < 64 || s.k < 64) return "fewer than 128 rows, or n or k below 64";
    if (m * n < short_product || m * k < short_product || n * k < short_product)
        return "two dimensions make less than 2^14";
    return m * n * k > large_product ? "more than 2^28 multiply-adds" : NULL;
}
