/* What the pack_<isa>.c files give to the table in pack.c. */
#ifndef MINIPOD_KERNELS_GEMM_PACK_KERNELS_H
#define MINIPOD_KERNELS_GEMM_PACK_KERNELS_H

#include "kernels/gemm/pack.h"

extern const pod_pack pod__pack_avx512, pod__pack_avx2, pod__pack_plain;

#endif
