/* The register peak of one core: multiply-adds on operands that stay in registers, no memory. It is
 * the ceiling that kernels are held to, measured by `minipod calibrate`, never inside a run. */
#ifndef MINIPOD_KERNELS_PEAK_PEAK_H
#define MINIPOD_KERNELS_PEAK_PEAK_H

#include <stdint.h>

#include "kernels/base/dtype.h"

typedef struct pod_peak_kernel {
    const char *name; /* "amx_tdpbf16ps", "avx512_fma", "avx2_fma", "scalar" */
    uint32_t needs;   /* POD_CPU_ bits */
    pod_dtype dtype;  /* of the operands: POD_F32 also serves bfloat16 that was widened */
    double (*run)(int64_t n_rounds); /* does the work, answers how many FLOPs that was */
} pod_peak_kernel;

const pod_peak_kernel *pod_peak_kernels(int *n);

#endif
