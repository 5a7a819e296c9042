/* The kernels of this folder, for the table in gemm.c. */
#ifndef MINIPOD_KERNELS_GEMM_GEMM_KERNELS_H
#define MINIPOD_KERNELS_GEMM_GEMM_KERNELS_H

#include "kernels/gemm/gemm.h"

#define POD_GEMM(name, needs, id)                                     \
    const char *pod__gemm_##id##_why_not(const pod_gemm_call *call);  \
    size_t pod__gemm_##id##_scratch_bytes(const pod_gemm_call *call); \
    void pod__gemm_##id##_run(const pod_gemm_call *call, void *scratch);
#define POD_GEMM_PACKS(name, needs, id)                                                  \
    POD_GEMM(name, needs, id)                                                            \
    size_t pod__gemm_##id##_packed_bytes(const pod_gemm_call *call);                     \
    void pod__gemm_##id##_pack(const pod_gemm_call *call, pod_dtype from, const void *b, \
                               void *packed);
#define POD_GEMM_ADVISED(name, needs, id) \
    POD_GEMM_PACKS(name, needs, id)       \
    const char *pod__gemm_##id##_slow(const pod_gemm_call *call);
#include "kernels/gemm/gemm.def"
#undef POD_GEMM
#undef POD_GEMM_PACKS
#undef POD_GEMM_ADVISED

#endif
