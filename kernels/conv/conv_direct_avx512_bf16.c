/* Made of conv_direct_simd.inc, with elements of two bfloat16. */
#include "kernels/base/simd/avx512.h"

#define POD_DIRECT(what) pod__conv_direct_avx512_bf16_##what
#include "kernels/conv/conv_direct_simd.inc"
