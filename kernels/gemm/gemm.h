/* Matrix products C = op(A) op(B) + beta C, row-major, n_batch times.
 *
 * op(A) is (M, K), op(B) is (K, N), C is (M, N). With trans_a, A is stored (K, M); with trans_b, B
 * is stored (N, K). Leading dimensions are the number of elements from one stored row to the next.
 * A and B are both float32 or both bfloat16; sums are in float32 or wider; C is float32 or
 * bfloat16. beta is 0 (C is not read and may be uninitialized) or 1 (float32 C only). Any of M, N,
 * K, n_batch may be 0; K = 0 gives beta C.
 *
 * `fused` is a set of POD_GEMM_ bits: BIAS and RELU apply before a result is rounded and stored, so
 * that with both C = max(op(A) op(B) + beta C + bias, 0). PACKED_B says that b was written by the
 * same kernel's `pack` for a call that differs at most in M and in the pointers.
 *
 * Kernels are listed in gemm.def, best first, the reference last; tests and benchmarks walk that
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
    POD_GEMM_PACKED_B = 1 << 2 /* b was written by `pack`; n_batch is 1 */
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
        const pod_gemm_call *call); /* NULL: the kernel takes the call. Pointers are not read. Call
                                       this and all below only on a CPU that has `needs`. */
    /* Returns why another kernel is faster for a call that this one takes; then this one is used
     * only if --impl names it. Returns NULL, or is NULL, if none is known to be faster. */
    const char *(*slow)(const pod_gemm_call *call);
    size_t (*scratch_bytes)(const pod_gemm_call *call); /* of scratch, aligned to 64 bytes */
    /* Cannot fail: the call was checked when the program was built. */
    void (*run)(const pod_gemm_call *call, void *scratch);
    /* Returns the bytes of packed B, which is aligned to 64; NULL: this kernel takes no packed
     * B. */
    size_t (*packed_bytes)(const pod_gemm_call *call);
    /* Packs B, of type `from` (float32 is rounded if the call is bfloat16) and with the layout of
     * the call, into `packed`. */
    void (*pack)(const pod_gemm_call *call, pod_dtype from, const void *b, void *packed);
} pod_gemm_kernel;

const pod_gemm_kernel *pod_gemm_kernels(int *n); /* best first; the last one is the reference */

/* Returns the kernel of that name, NULL if there is none. */
const pod_gemm_kernel *pod_gemm_find(const char *name);

/* Chooses a kernel (kernels/base/choice.h); never NULL. */
const pod_gemm_kernel *pod_gemm_pick(const pod_choice *how, const pod_gemm_call *call);
/* pod_gemm_kind returns the kind of a call, for which rates are measured (kernels/base/choice.h).
 * pod_gemm_kind_at returns the i-th kind, with a typical call whose pointers are NULL; NULL after
 * the last. */
const char *pod_gemm_kind(const pod_gemm_call *call);
const char *pod_gemm_kind_at(int i, pod_gemm_call *typical);
/* Asks every kernel about the call, in the order of the table; returns their number. */
int pod_gemm_candidates(const pod_gemm_call *call, pod_candidate out[POD_MAX_CANDIDATES]);

/* Fails with E_SHAPE or E_UNSUPPORTED if the call breaks the contract above; pointers are not
 * checked. */
POD_MUST pod_status pod_gemm_check(const pod_gemm_call *call);

#endif
