/* Matrix products C = op(A) op(B) + beta C, row-major, n_batch times.
 *
 * op(A) is (M, K), op(B) is (K, N), C is (M, N). With trans_a, A is stored (K, M); with trans_b, B
 * is stored (N, K). Leading dimensions count elements from one stored row to the next. A and B are
 * both float32 or both bfloat16; products accumulate in float32 (at least); C is float32 or
 * bfloat16. beta is 0 (C is not read, so it may hold anything) or 1 (float32 C only). Any of M, N,
 * K, n_batch may be 0; K = 0 gives beta C.
 *
 * `fused` is a set of POD_GEMM_ bits: what is done to a result before it is rounded and stored, so
 * that C = max(op(A) op(B) + beta C + bias, 0) with all of them; and whether B comes packed, as
 * the same kernel's `pack` made it for a call that differs at most in M and in the pointers.
 *
 * Kernels stand in gemm.def, best first, the reference last; tests and benchmarks walk that
 * table. */
#ifndef MINIPOD_KERNELS_GEMM_GEMM_H
#define MINIPOD_KERNELS_GEMM_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/base/bf16.h"
#include "kernels/base/choice.h"
#include "kernels/base/dtype.h"
#include "kernels/base/status.h"

typedef struct pod_gemm_shape {
    int64_t m, n, k;
} pod_gemm_shape;

enum {
    POD_GEMM_BIAS = 1 << 0,    /* + bias[n], float32 */
    POD_GEMM_RELU = 1 << 1,    /* max(., 0); a NaN stays */
    POD_GEMM_PACKED_B = 1 << 2 /* b is what `pack` made; n_batch is 1 */
};

typedef struct pod_gemm_call {
    pod_gemm_shape shape;
    int64_t n_batch, stride_a, stride_b, stride_c; /* elements from one product to the next */
    bool trans_a, trans_b;
    pod_dtype ab_dtype, c_dtype;
    int64_t lda, ldb, ldc;
    float beta;
    unsigned fused;
    const void *a, *b;
    const float *bias;
    void *c;
} pod_gemm_call;

typedef struct pod_gemm_kernel {
    const char *name; /* <isa>_<tile> or the library's name: "blas", "ref" */
    uint32_t needs;   /* POD_CPU_ bits */
    const char *(*why_not)(
        const pod_gemm_call *call); /* NULL: it applies. Pointers are not looked at. Like all
                                       below, it is code for a CPU that has the `needs`. */
    /* Why a call that it takes is left to other kernels unless --impl names it; NULL: it is not. */
    const char *(*slow)(const pod_gemm_call *call);
    size_t (*scratch_bytes)(const pod_gemm_call *call); /* of memory aligned to 64 bytes */
    /* Cannot fail: the call was checked when the program was built. */
    void (*run)(const pod_gemm_call *call, void *scratch);
    /* Bytes of packed B, aligned to 64; NULL: this kernel takes no packed B. */
    size_t (*packed_bytes)(const pod_gemm_call *call);
    /* B, of type `from` (float32 is rounded where the call is bfloat16) as the call says it lies,
     * into `packed`. */
    void (*pack)(const pod_gemm_call *call, pod_dtype from, const void *b, void *packed);
} pod_gemm_kernel;

const pod_gemm_kernel *pod_gemm_kernels(int *n); /* best first; the last one is the reference */

/* The kernel of that name, NULL when there is none. */
const pod_gemm_kernel *pod_gemm_find(const char *name);

/* As kernels/base/choice.h says. Always answers. */
const pod_gemm_kernel *pod_gemm_pick(const pod_choice *how, const pod_gemm_call *call);
/* The kind of a call, for rates; and the i-th of all kinds with a call that is typical of it, its
 * pointers left NULL. NULL behind the last. */
const char *pod_gemm_kind(const pod_gemm_call *call);
const char *pod_gemm_kind_at(int i, pod_gemm_call *typical);
/* Every kernel asked about the call, in the table's order; returns how many. */
int pod_gemm_candidates(const pod_gemm_call *call, pod_candidate out[POD_MAX_CANDIDATES]);

/* E_SHAPE or E_UNSUPPORTED when the call breaks the contract above; pointers are not looked at. */
POD_MUST pod_status pod_gemm_check(const pod_gemm_call *call);

#endif
