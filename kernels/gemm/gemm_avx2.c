/* Matrix products in AVX2 float32: tiles of 6 x 16, 12 sums in registers. A block of B takes 384 KiB,
 * for L2 caches from 512 KiB. */
#include "kernels/base/simd/avx2.h"
#include "kernels/gemm/gemm_kernels.h"

#define ISA(name) pod__gemm_avx2_##name
enum { TILE_ROWS = 6, DEPTH = 256, MAX_ROWS = 84 * TILE_ROWS, MAX_COLUMNS = 384 };
#define TILE_HEIGHTS T(6) T(4) T(2) T(1)
#include "kernels/gemm/gemm_f32_simd.inc"

const char *pod__gemm_avx2_why_not(const pod_gemm_call *call)
{
    (void)call;
    return NULL;
}
