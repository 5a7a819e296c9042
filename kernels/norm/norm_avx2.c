/* Made of norm_simd.inc. */
#include "kernels/base/simd/avx2.h"

#include "kernels/norm/norm_simd.inc"
