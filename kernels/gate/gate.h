/* Sigmoid, swish and gates, for squeeze-and-excite blocks (Hu et al. 2018; Ramachandran et al.
 * 2017), and dropout.
 *
 * `t` is the element type of activations, POD_F32 or POD_BF16. Gates, results of sigmoid, and
 * arithmetic are float32. The sigmoid has an error of at most 2^-20 relative (2^-12 in a swish that
 * is stored as bf16) plus 2^-120 absolute; a NaN stays a NaN. An output may be the same memory as
 * an input of the same type. */
#ifndef MINIPOD_KERNELS_GATE_GATE_H
#define MINIPOD_KERNELS_GATE_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/cpu.h"
#include "kernels/base/dtype.h"

/* The dropout of one layer: each element, or by_sample each sample, becomes 0 with probability
 * `rate`. */
typedef struct pod_drop {
    uint32_t layer;
    float rate; /* in [0, 1) */
    bool by_sample;
} pod_drop;

typedef struct pod_gate {
    const char *name;
    uint32_t needs; /* POD_CPU_ bits */
    /* y = 1 / (1 + e^-x) */
    void (*sigmoid)(int64_t count, pod_dtype t, const void *x, float *y);
    /* dx = dy y (1 - y), where y is the result of sigmoid. */
    void (*sigmoid_grad)(int64_t count, pod_dtype t, const float *y, const float *dy, void *dx);
    /* y = x sigmoid(x) */
    void (*swish)(int64_t count, pod_dtype t, const void *x, void *y);
    /* dx = dy s (1 + x (1 - s)), s = sigmoid(x) */
    void (*swish_grad)(int64_t count, pod_dtype t, const void *x, const void *dy, void *dx);
    /* y[n,i,c] = x[n,i,c] gate[n,c], i < rows: the pixels of image n. */
    void (*scale)(int64_t n, int64_t rows, int64_t c, pod_dtype t, const void *x, const float *gate,
                  void *y);
    /* dx[n,i,c] = dy[n,i,c] gate[n,c] + d_mean[n,c] / rows: the gradient of an x that is gated and
     * also averaged over its pixels. Every operation is rounded to float32. */
    void (*mean_grad)(int64_t n, int64_t rows, int64_t c, pod_dtype t, const void *dy,
                      const float *gate, const void *d_mean, void *dx);
    /* sum[n,c] = sum over i of x[n,i,c] y[n,i,c]. Each term is rounded at most POD_SUM_CHAIN times
     * (simd/loop.h) before it is added to a double. */
    void (*sums)(int64_t n, int64_t rows, int64_t c, pod_dtype t, const void *x, const void *y,
                 float *sum);
    /* Dropout (Srivastava et al. 2014): y[n,i] = x[n,i] g for i < c. g is 0 if the random number u
     * of (n, i) is below the rate, else 1 / (1 - rate). u is the upper 24 bits, over 2^24, of word
     * i mod 4 of Philox with the key (draws[n], layer) and the counter (i / 4, 0, 0,
     * POD_STREAM_DROPOUT). by_sample: all i use the u of (n, 0) (stochastic depth, Huang et al.
     * 2016). The caller passes different draws for each sample and step. */
    void (*drop)(int64_t n, int64_t c, pod_dtype t, const pod_drop *how, const int32_t *draws,
                 const void *x, void *y);
} pod_gate;

/* Return all sets (kernels/base/sets.h), best first, the reference last, then NULL; and the first
 * set that a CPU with these features can run. */
const pod_gate *const *pod_gate_sets(void);
const pod_gate *pod_gate_pick(uint32_t cpu);

#endif
