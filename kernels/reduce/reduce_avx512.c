/* Made of reduce_simd.inc. */
#include "kernels/base/simd/avx512.h"

#include "kernels/reduce/reduce_simd.inc"
