/* Made of gate_simd.inc. */
#include "kernels/base/simd_avx2.h"

#include "kernels/gate/gate_simd.inc"
