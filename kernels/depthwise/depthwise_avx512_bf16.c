/* Made of depthwise_simd.inc. */
#include "kernels/base/simd/avx512.h"

#include "kernels/depthwise/depthwise_simd.inc"
