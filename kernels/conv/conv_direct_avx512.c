/* Made of conv_direct_simd.inc. */
#include "kernels/base/simd/avx512.h"

#define POD_DIRECT(what) pod__conv_direct_avx512_##what
#include "kernels/conv/conv_direct_simd.inc"
