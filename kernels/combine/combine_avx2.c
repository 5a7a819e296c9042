/* Made of combine_simd.inc. */
#include "kernels/base/simd_avx2.h"

#include "kernels/combine/binned_plain.h"

#include "kernels/combine/combine_simd.inc"
