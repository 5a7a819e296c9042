/* Softmax cross entropy with label smoothing, float32 logits (rows, C), int32 labels (rows).
 *
 * The target of a row is (1 - smoothing) at its label plus smoothing/C everywhere. A row with a
 * negative label is padding: it is in no sum, and its gradient is 0.
 *
 *   loss     *loss = scale * sum over rows of -sum_c target[c] log softmax(logits)[c]
 *   grad     dlogits[row,c] = scale * (softmax(logits)[c] - target[c])
 *   loss_grad  both, with grad_scale instead of scale in the gradient; reads the logits from memory
 *            once
 *   correct  *n = rows whose label's logit is greater than all before it and not less than any
 *            after (the first maximum is the answer); a NaN row is never correct
 *
 * The reference computes in double and rounds its results once. The other sets compute x - max of a
 * row, its exponential (relative error 2^-22; 0 below e^-87) and the probabilities in float32, sums
 * as in kernels/reduce, and the logarithm and the loss in double. loss_grad gives the bits of loss
 * and of grad. correct gives the same number in every set. */
#ifndef MINIPOD_KERNELS_SOFTMAX_SOFTMAX_H
#define MINIPOD_KERNELS_SOFTMAX_SOFTMAX_H

#include <stdint.h>

#include "kernels/base/cpu.h"

typedef struct pod_softmax {
    const char *name;
    uint32_t needs; /* POD_CPU_ bits */
    void (*loss)(int64_t rows, int64_t c, const float *logits, const int32_t *labels,
                 float smoothing, float scale, float *loss);
    void (*grad)(int64_t rows, int64_t c, const float *logits, const int32_t *labels,
                 float smoothing, float scale, float *dlogits); /* may be in place */
    void (*loss_grad)(int64_t rows, int64_t c, const float *logits, const int32_t *labels,
                      float smoothing, float scale, float grad_scale, float *loss,
                      float *dlogits); /* may be in place */
    void (*correct)(int64_t rows, int64_t c, const float *logits, const int32_t *labels, float *n);
} pod_softmax;

/* Return all sets (kernels/base/sets.h), best first, the reference last, then NULL; and the first
 * set that a CPU with these features can run. */
const pod_softmax *const *pod_softmax_sets(void);
const pod_softmax *pod_softmax_pick(uint32_t cpu);

#endif
