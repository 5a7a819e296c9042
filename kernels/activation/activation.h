/* GELU and tanh, the activations of BERT and similar models, and the softmax of attention's scores.
 *
 *   gelu   y = x Phi(x), where Phi is the distribution function of the normal distribution
 *          (Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016), in two forms:
 *            POD_GELU_ERF    Phi(x) = (1 + erf(x / sqrt 2)) / 2
 *            POD_GELU_TANH   Phi(x) is replaced by (1 + tanh(u)) / 2 = sigmoid(2 u),
 *                            u = sqrt(2 / pi) (x + 0.044715 x^3); differs by less than 1e-3
 *   tanh   y = tanh x
 *   softmax   y[j] = e^(scale x[j]) / sum_i e^(scale x[i]) over a span of each row (C), 0 outside
 *
 * BERT's code and MLPerf's reference use POD_GELU_TANH, in the encoder and in the head of the
 * masked language model; BERT's first release of 2018 used POD_GELU_ERF. The pooler uses tanh.
 *
 * `t` is the element type of all arrays, POD_F32 or POD_BF16; arithmetic is float32, and double in
 * the reference. The errors before a result is rounded to t are at most 2^-110 plus these relative
 * errors:
 *
 *   tanh                  2^-20
 *   Phi, POD_GELU_ERF     2^-20 + x^2 2^-24, the second term from rounding x^2
 *   Phi, POD_GELU_TANH    e + |2 u| 2^-22; e is 2^-12 in gelu with t = POD_BF16, else 2^-20
 *   softmax               2^-19 + 2^-22 scale (max x - min x), both over the span
 *
 * The slope of gelu, Phi(x) + x Phi'(x), is a sum of two terms with these errors. tanh_grad has the
 * same bits in every set. softmax and its gradient sum as kernels/reduce does. A NaN stays a NaN.
 * An output may be the same memory as an input. */
#ifndef MINIPOD_KERNELS_ACTIVATION_ACTIVATION_H
#define MINIPOD_KERNELS_ACTIVATION_ACTIVATION_H

#include <stdint.h>

#include "kernels/base/cpu.h"
#include "kernels/base/dtype.h"

typedef enum pod_gelu_form { POD_GELU_TANH, POD_GELU_ERF, POD_N_GELU_FORMS } pod_gelu_form;

/* Elements first to end - 1 of a row. */
typedef struct pod_row_span {
    int64_t first, end;
} pod_row_span;

typedef struct pod_activation {
    const char *name;
    uint32_t needs; /* POD_CPU_ bits */
    void (*gelu)(int64_t count, pod_dtype t, pod_gelu_form form, const void *x, void *y);
    /* dx = dy (Phi(x) + x Phi'(x)) */
    void (*gelu_grad)(int64_t count, pod_dtype t, pod_gelu_form form, const void *x, const void *dy,
                      void *dx);
    void (*tanh)(int64_t count, pod_dtype t, const void *x, void *y);
    /* dx = dy ((1 - y) (1 + y)), where y is the result of tanh; every operation is rounded to
     * float32. */
    void (*tanh_grad)(int64_t count, pod_dtype t, const void *y, const void *dy, void *dx);
    /* spans: one a row; NULL: whole rows. scale > 0. What is outside of a span is not read. */
    void (*softmax)(int64_t rows, int64_t c, pod_dtype t, float scale, const pod_row_span *spans,
                    const void *x, void *y);
    /* dx[j] = scale y[j] (dy[j] - sum_i y[i] dy[i]), where y is the result of softmax; 0 outside */
    void (*softmax_grad)(int64_t rows, int64_t c, pod_dtype t, float scale,
                         const pod_row_span *spans, const void *y, const void *dy, void *dx);
} pod_activation;

/* Return all sets (kernels/base/sets.h), best first, the reference last, then NULL; and the first
 * set that a CPU with these features can run. */
const pod_activation *const *pod_activation_sets(void);
const pod_activation *pod_activation_pick(uint32_t cpu);

#endif
