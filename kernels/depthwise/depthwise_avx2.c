/* Made of depthwise_simd.inc. */
#include "kernels/base/simd_avx2.h"

#include "kernels/depthwise/depthwise_simd.inc"
