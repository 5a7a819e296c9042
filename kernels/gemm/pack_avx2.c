/* pack.h compiled for AVX2. */
#include "kernels/base/cpu.h"
#include "kernels/gemm/pack_kernels.h"
#include "kernels/gemm/pack_loops.h"

const pod_pack pod__pack_avx2 = {"avx2", POD_CPU_AVX2, widen, narrow, windows};
