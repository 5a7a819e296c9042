/* Made of layernorm_simd.inc. */
#include "kernels/base/simd/avx512.h"

#include "kernels/layernorm/layernorm_simd.inc"
