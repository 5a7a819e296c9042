/* Made of gate_simd.inc. */
#include "kernels/base/simd_avx512.h"

#include "kernels/gate/gate_simd.inc"
