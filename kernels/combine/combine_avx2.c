/* Made of combine_simd.inc. */
#include "kernels/base/simd/avx2.h"

#include "kernels/combine/binned_plain.h"

#include "kernels/combine/combine_simd.inc"
