/* Functions that pack the operands of a matmul: conversions between bfloat16 and float32, with the
 * bits of kernels/base/bf16.h, and copies of overlapping windows of an array to rows of a
 * matrix. */
#ifndef MINIPOD_KERNELS_GEMM_PACK_H
#define MINIPOD_KERNELS_GEMM_PACK_H

#include <stdint.h>

#include "kernels/base/bf16.h"
#include "kernels/base/dtype.h"

typedef struct pod_pack {
    const char *name; /* "avx512", "avx2", "plain" */
    uint32_t needs;   /* POD_CPU_ bits */
    void (*widen)(int64_t n, const pod_bf16 *src, float *dst);
    void (*narrow)(int64_t n, const float *src, pod_bf16 *dst);
    /* Copies n windows of `run` floats: from src + i step to dst + i ld. The windows may overlap
     * each other in src, never in dst. */
    void (*windows)(int64_t n, int64_t run, const float *src, int64_t step, float *dst, int64_t ld);
} pod_pack;

/* Return all sets, best first, the plain one last, then NULL; and the first set that a CPU with
 * these features can run. */
const pod_pack *const *pod_pack_sets(void);
const pod_pack *pod_pack_pick(uint32_t cpu);

/* Load n elements of type t from src[at] on as float32; store float32 to dst[at] on as type t. */
void pod_pack_load(const pod_pack *pack, pod_dtype t, const void *src, int64_t at, int64_t n,
                   float *out);
void pod_pack_store(const pod_pack *pack, pod_dtype t, const float *src, int64_t n, void *dst,
                    int64_t at);

#endif
