/* Made of combine_simd.inc. */
#include "kernels/base/simd/avx512.h"

#include "kernels/combine/binned_avx512.h"

#include "kernels/combine/combine_simd.inc"
