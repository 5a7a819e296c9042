/* Made of norm_simd.inc. */
#include "kernels/base/simd_avx512.h"

#include "kernels/norm/norm_simd.inc"
