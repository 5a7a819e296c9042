/* Made of softmax_simd.inc. */
#include "kernels/base/simd/avx2.h"

#include "kernels/softmax/softmax_simd.inc"
