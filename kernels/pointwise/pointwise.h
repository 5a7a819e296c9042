/* Elementwise operations. Tensors are flat: `count` elements, or rows x C with C innermost.
 *
 * `t` is the element type of activations, POD_F32 or POD_BF16; arithmetic is float32. An output may
 * be the same memory as an input of the same type unless noted. Every set gives the same bits,
 * except for the payload of NaNs. */
#ifndef MINIPOD_KERNELS_POINTWISE_POINTWISE_H
#define MINIPOD_KERNELS_POINTWISE_POINTWISE_H

#include <stdint.h>

#include "kernels/base/bf16.h"
#include "kernels/base/cpu.h"
#include "kernels/base/dtype.h"

typedef struct pod_pointwise {
    const char *name;
    uint32_t needs; /* POD_CPU_ bits */
    /* y = x, converted from f32 to bf16 or back; from != to. Not in place. */
    void (*cast)(int64_t count, pod_dtype from, const void *x, pod_dtype to, void *y);
    /* y = max(x, 0); a NaN stays a NaN. */
    void (*relu)(int64_t count, pod_dtype t, const void *x, void *y);
    /* dx = y > 0 ? dy : 0, where y is the result of relu. */
    void (*relu_grad)(int64_t count, pod_dtype t, const void *y, const void *dy, void *dx);
    /* y = a + b */
    void (*add)(int64_t count, pod_dtype t, const void *a, const void *b, void *y);
    /* y[row,c] = x[row,c] + bias[c]; bias is float32 (C). */
    void (*bias_add)(int64_t rows, int64_t c, pod_dtype t, const void *x, const float *bias,
                     void *y);
    /* y = alpha x + beta z, float32. With beta = 0, z is not read. */
    void (*axpby)(int64_t count, float alpha, const float *x, float beta, const float *z, float *y);
    /* y[row,c] = x[row,c] * scale[c] + shift[c], for images of bytes. Not in place. */
    void (*normalize_u8)(int64_t rows, int64_t c, const uint8_t *x, const float *scale,
                         const float *shift, pod_dtype t, void *y);
} pod_pointwise;

/* Return all sets (kernels/base/sets.h), best first, the reference last, then NULL; and the first
 * set that a CPU with these features can run. */
const pod_pointwise *const *pod_pointwise_sets(void);
const pod_pointwise *pod_pointwise_pick(uint32_t cpu);

#endif
