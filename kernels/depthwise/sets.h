/* The functions of every set in depthwise.def. For kernels/depthwise only. */
#ifndef MINIPOD_KERNELS_DEPTHWISE_SETS_H
#define MINIPOD_KERNELS_DEPTHWISE_SETS_H

#include "kernels/depthwise/depthwise.h"

#define POD_DEPTHWISE(name, needs, isa)                                        \
    size_t pod__depthwise_scratch_bytes_##isa(const pod_depthwise_call *call); \
    void pod__depthwise_run_##isa(const pod_depthwise_call *call, void *scratch);
#include "kernels/depthwise/depthwise.def"
#undef POD_DEPTHWISE

#endif
