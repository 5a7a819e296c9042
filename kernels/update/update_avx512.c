/* Made of update_simd.inc. */
#include "kernels/base/simd/avx512.h"

#include "kernels/update/update_simd.inc"
