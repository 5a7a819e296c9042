/* Made of softmax_simd.inc. */
#include "kernels/base/simd_avx2.h"

#include "kernels/softmax/softmax_simd.inc"
