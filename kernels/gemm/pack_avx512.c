/* pack.h compiled for AVX-512. */
#include "kernels/base/cpu.h"
#include "kernels/gemm/pack_kernels.h"
#include "kernels/gemm/pack_loops.h"

const pod_pack pod__pack_avx512 = {"avx512", POD_CPU_AVX512, widen, narrow, windows};
