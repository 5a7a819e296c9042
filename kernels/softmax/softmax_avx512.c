/* Made of softmax_simd.inc. */
#include "kernels/base/simd/avx512.h"

#include "kernels/softmax/softmax_simd.inc"
