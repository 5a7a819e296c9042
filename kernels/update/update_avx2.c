/* Made of update_simd.inc. */
#include "kernels/base/simd/avx2.h"

#include "kernels/update/update_simd.inc"
