/* pack.h compiled for each instruction set. */
#include "kernels/base/simd/simd.h"
#include "kernels/gemm/pack.h"
#include "kernels/gemm/pack_loops.h"

const pod_pack POD_ISA(pod__pack) = {POD_ISA_SET, widen, narrow, windows};
