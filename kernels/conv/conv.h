/* 2-D convolution of images, forward and both gradients.
 *
 *   x  (N, H, W, C)    input           w (K, R, S, C)   filters
 *   y  (N, P, Q, K)    output
 *   y[n,p,q,k] = sum over r,s,c of x[n, p*stride - pad_h + r, q*stride - pad_w + s, c] * w[k,r,s,c]
 *
 * where x is 0 outside the image. pad_h and pad_w are the rows and columns of padding before the
 * image; the padding behind it follows from P and Q. x, y, w and their gradients share one element
 * type, float32 or bfloat16, except the weight gradient, which is always float32; products
 * accumulate in float32.
 *
 *   pass            a    b    out
 *   FORWARD         x    w    y
 *   INPUT_GRAD      dy   w    dx
 *   WEIGHT_GRAD     x    dy   dw (float32)
 *
 * `fused` is a set of POD_CONV_ bits, each allowed where the table has its pass:
 *
 *   bit        FORWARD  INPUT_GRAD  WEIGHT_GRAD
 *   PACKED_W   yes      yes         -     b is w packed by the same kernel's `pack`, for a call
 *                                         that differs at most in n and in the pointers
 *   AFFINE_X   yes      -           yes   instead of x, v = x x_scale[c] + x_shift[c] inside the
 *                                         image (0 outside), in float32 with or without FMA, then
 *                                         rounded to the element type
 *   RELU_X     yes      -           yes   with AFFINE_X: max(v, 0), a NaN stays
 *   BIAS       yes      -           -     y + bias[k]
 *   RELU       yes      -           -     max(y, 0), a NaN stays
 *   SUMS       yes      -           -     sum[k] and sum_sq[k]: of y as stored and of its square,
 *                                         over all n, p, q; as in kernels/reduce
 *
 * Every dimension is at least 1, except that n may be 0. Windows may be partly or completely
 * outside the image. If an operand is not finite, it is undefined whether zeros outside the image
 * are multiplied with it (0 * infinity is NaN) and, for the weight gradient, whether zeros beside
 * dy are.
 *
 * Kernels are listed in conv.def, best first, the reference last; tests and benchmarks walk that
 * table. */
#ifndef MINIPOD_KERNELS_CONV_CONV_H
#define MINIPOD_KERNELS_CONV_CONV_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/base/bf16.h"
#include "kernels/base/choice.h"
#include "kernels/base/dtype.h"
#include "kernels/base/status.h"

typedef struct pod_conv_shape {
    int64_t n, h, w, c; /* input */
    int64_t p, q, k;    /* output */
    int64_t r, s;       /* filter */
    int64_t stride, pad_h, pad_w;
} pod_conv_shape;

typedef enum pod_conv_pass {
    POD_CONV_FORWARD,
    POD_CONV_INPUT_GRAD,
    POD_CONV_WEIGHT_GRAD,
    POD_N_CONV_PASSES
} pod_conv_pass;

enum {
    POD_CONV_PACKED_W = 1 << 0,
    POD_CONV_AFFINE_X = 1 << 1,
    POD_CONV_RELU_X = 1 << 2,
    POD_CONV_BIAS = 1 << 3,
    POD_CONV_RELU = 1 << 4,
    POD_CONV_SUMS = 1 << 5
};

typedef struct pod_conv_call {
    pod_conv_shape shape;
    pod_conv_pass pass;
    pod_dtype dtype;
    unsigned fused;
    const void *a, *b;              /* see the table above */
    const float *x_scale, *x_shift; /* (C) */
    const float *bias;              /* (K) */
    void *out;
    float *sum, *sum_sq; /* (K) */
} pod_conv_call;

typedef struct pod_conv_kernel {
    const char *name; /* "amx_dw", "gemm", "ref" */
    uint32_t needs;   /* POD_CPU_ bits */
    const char *(*why_not)(
        const pod_conv_call *call); /* NULL: the kernel takes the call. Pointers are not read. Call
                                       this and all below only on a CPU that has `needs`. */
    size_t (*scratch_bytes)(const pod_conv_call *call); /* of scratch, aligned to 64 bytes */
    void (*run)(const pod_conv_call *call, void *scratch);
    /* Returns the bytes of packed w, which is aligned to 64; NULL: this kernel takes no packed
     * w. */
    size_t (*packed_bytes)(const pod_conv_call *call);
    /* Packs w (K, R, S, C), of type `from` (float32 is rounded if the call is bfloat16), into
     * `packed`, for the pass of the call. */
    void (*pack)(const pod_conv_call *call, pod_dtype from, const void *w, void *packed);
} pod_conv_kernel;

const pod_conv_kernel *pod_conv_kernels(int *n); /* best first; the last one is the reference */

/* These do for convolutions what the functions pod_gemm_... of kernels/gemm/gemm.h do for
 * matmuls. */
const pod_conv_kernel *pod_conv_find(const char *name);
const pod_conv_kernel *pod_conv_pick(const pod_choice *how, const pod_conv_call *call);
const char *pod_conv_kind(const pod_conv_call *call);
const char *pod_conv_kind_at(int i, pod_conv_call *typical);
int pod_conv_candidates(const pod_conv_call *call, pod_candidate out[POD_MAX_CANDIDATES]);

/* Fails with E_SHAPE or E_UNSUPPORTED if the call breaks the contract above; pointers are not
 * checked. */
POD_MUST pod_status pod_conv_check(const pod_conv_call *call);

/* Returns the FLOPs of any of the three passes: two per multiply-add. */
double pod_conv_flops(const pod_conv_shape *s);

#endif
