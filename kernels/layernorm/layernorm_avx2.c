/* Made of layernorm_simd.inc. */
#include "kernels/base/simd/avx2.h"

#include "kernels/layernorm/layernorm_simd.inc"
