/* Made of pool_simd.inc. */
#include "kernels/base/simd/avx512.h"

#include "kernels/pool/pool_simd.inc"
