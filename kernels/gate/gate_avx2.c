/* Made of gate_simd.inc. */
#include "kernels/base/simd/avx2.h"

#include "kernels/gate/gate_simd.inc"
