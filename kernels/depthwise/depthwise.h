/* 2-D depthwise convolution of images (each channel has its own filter), forward and both
 * gradients.
 *
 *   x  (N, H, W, C)    input           w (R, S, C)      filters
 *   y  (N, P, Q, C)    output
 *   y[n,p,q,c] = sum over r,s of x[n, p*stride - pad_h + r, q*stride - pad_w + s, c] * w[r,s,c]
 *
 * where x is 0 outside the image. pad_h and pad_w are the rows and columns of padding before the
 * image; the padding behind it follows from P and Q. x, y, w and their gradients share one element
 * type, float32 or bfloat16, except the weight gradient, which is always float32. Products
 * accumulate in float32; in the weight gradient of all sets but the reference each term is rounded
 * at most POD_DEPTHWISE_CHAIN times before it is added to a double.
 *
 *   pass            a    b    out
 *   FORWARD         x    w    y
 *   INPUT_GRAD      dy   w    dx
 *   WEIGHT_GRAD     x    dy   dw (float32)
 *
 * `fused` is a set of POD_DEPTHWISE_ bits:
 *
 *   SUMS   FORWARD only: also sum[c] and sum_sq[c], the sums of y as stored and of its square over
 *          all n, p, q, accumulated like the weight gradient
 *
 * Every dimension is at least 1, except that n may be 0. Windows may be partly or completely
 * outside the image. If an operand is not finite, it is undefined whether zeros outside the image
 * are multiplied with it (0 * infinity is NaN). The same set gives the same bits each time, at any
 * address. */
#ifndef MINIPOD_KERNELS_DEPTHWISE_DEPTHWISE_H
#define MINIPOD_KERNELS_DEPTHWISE_DEPTHWISE_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/base/bf16.h"
#include "kernels/base/cpu.h"
#include "kernels/base/dtype.h"
#include "kernels/base/status.h"

typedef struct pod_depthwise_shape {
    int64_t n, h, w, c; /* input */
    int64_t p, q;       /* output */
    int64_t r, s;       /* filter */
    int64_t stride, pad_h, pad_w;
} pod_depthwise_shape;

typedef enum pod_depthwise_pass {
    POD_DEPTHWISE_FORWARD,
    POD_DEPTHWISE_INPUT_GRAD,
    POD_DEPTHWISE_WEIGHT_GRAD,
    POD_N_DEPTHWISE_PASSES
} pod_depthwise_pass;

enum { POD_DEPTHWISE_CHAIN = 256 };

enum { POD_DEPTHWISE_SUMS = 1 << 0 };

typedef struct pod_depthwise_call {
    pod_depthwise_shape shape;
    pod_depthwise_pass pass;
    pod_dtype dtype;
    unsigned fused;
    const void *a, *b; /* see the table above */
    void *out;
    float *sum, *sum_sq; /* (C) */
} pod_depthwise_call;

typedef struct pod_depthwise {
    const char *name;
    uint32_t needs;                                          /* POD_CPU_ bits */
    size_t (*scratch_bytes)(const pod_depthwise_call *call); /* of scratch, aligned to 64 bytes */
    void (*run)(const pod_depthwise_call *call, void *scratch);
} pod_depthwise;

/* Return all sets (kernels/base/sets.h), best first, the reference last, then NULL; and the first
 * set that a CPU with these features can run. */
const pod_depthwise *const *pod_depthwise_sets(void);
const pod_depthwise *pod_depthwise_pick(uint32_t cpu);

/* Fails with E_SHAPE or E_UNSUPPORTED if the call breaks the contract above; pointers are not
 * checked. */
POD_MUST pod_status pod_depthwise_check(const pod_depthwise_call *call);

/* Returns the FLOPs of any of the three passes: two per multiply-add. */
double pod_depthwise_flops(const pod_depthwise_shape *s);

#endif
