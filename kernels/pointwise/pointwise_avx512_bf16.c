/* Made of pointwise_simd.inc. */
#include "kernels/base/simd/avx512.h"

#include "kernels/pointwise/pointwise_simd.inc"
