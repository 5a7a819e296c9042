/* The input gradient of stride 2 for the AMX convolution: all views in one pass over dx. */
#ifndef MINIPOD_KERNELS_CONV_AMX_STRIDED_H
#define MINIPOD_KERNELS_CONV_AMX_STRIDED_H

#include "kernels/conv/amx/window.h"

bool pod__amx_strided_takes(const pod_conv_call *call);
size_t pod__amx_strided_scratch_bytes(const pod_conv_call *call);
/* `weights`: packed, the views' one after the other. */
void pod__amx_strided_run(const pod_conv_call *call, const char *weights, void *scratch);

#endif
