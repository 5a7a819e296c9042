/* Made of layernorm_simd.inc. */
#include "kernels/base/simd_avx2.h"

#include "kernels/layernorm/layernorm_simd.inc"
