/* The input gradient of the AMX convolution with stride 2: all views (amx/window.h) in one pass
 * over dx. */
#ifndef MINIPOD_KERNELS_CONV_AMX_STRIDED_H
#define MINIPOD_KERNELS_CONV_AMX_STRIDED_H

#include "kernels/conv/amx/window.h"

bool pod__amx_strided_takes(const pod_conv_call *call);
size_t pod__amx_strided_scratch_bytes(const pod_conv_call *call);
/* `weights`: packed, one view after the other. */
void pod__amx_strided_run(const pod_conv_call *call, const char *weights, void *scratch);

#endif
