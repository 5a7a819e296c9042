/* The peak of one core: multiply-adds on operands in registers, without memory. Kernels are
 * compared with it. `minipod calibrate` measures it; a run does not. */
#ifndef MINIPOD_KERNELS_PEAK_PEAK_H
#define MINIPOD_KERNELS_PEAK_PEAK_H

#include <stdint.h>

#include "kernels/base/dtype.h"

typedef struct pod_peak_kernel {
    const char *name; /* "amx_tdpbf16ps", "avx512_fma", "avx2_fma", "scalar" */
    uint32_t needs;   /* POD_CPU_ bits */
    pod_dtype dtype;  /* of the operands; POD_F32 is also the peak for bfloat16 that is converted to
                         float32 */
    double (*run)(int64_t n_rounds); /* does the work and returns its FLOPs */
} pod_peak_kernel;

const pod_peak_kernel *pod_peak_kernels(int *n);

#endif
