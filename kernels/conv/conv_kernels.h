/* The kernels of this folder, for the table in conv.c. */
#ifndef MINIPOD_KERNELS_CONV_CONV_KERNELS_H
#define MINIPOD_KERNELS_CONV_CONV_KERNELS_H

#include "kernels/conv/conv.h"

#define POD_CONV(name, needs, id)                                     \
    const char *pod__conv_##id##_why_not(const pod_conv_call *call);  \
    size_t pod__conv_##id##_scratch_bytes(const pod_conv_call *call); \
    void pod__conv_##id##_run(const pod_conv_call *call, void *scratch);
#define POD_CONV_PACKS(name, needs, id)                                                  \
    POD_CONV(name, needs, id)                                                            \
    size_t pod__conv_##id##_packed_bytes(const pod_conv_call *call);                     \
    void pod__conv_##id##_pack(const pod_conv_call *call, pod_dtype from, const void *w, \
                               void *packed);
#include "kernels/conv/conv.def"
#undef POD_CONV
#undef POD_CONV_PACKS

#endif
