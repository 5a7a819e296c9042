/* pack.h compiled for whatever the compiler takes as given. */
#include "kernels/gemm/pack_kernels.h"
#include "kernels/gemm/pack_loops.h"

const pod_pack pod__pack_plain = {"plain", 0, widen, narrow, windows};
