/* The functions of every set in softmax.def. For kernels/softmax only. */
#ifndef MINIPOD_KERNELS_SOFTMAX_SETS_H
#define MINIPOD_KERNELS_SOFTMAX_SETS_H

#include "kernels/softmax/softmax.h"

#define POD_SOFTMAX(name, needs, isa)                                                      \
    void pod__softmax_loss_##isa(int64_t rows, int64_t c, const float *logits,             \
                                 const int32_t *labels, float smoothing, float scale,      \
                                 float *loss);                                             \
    void pod__softmax_grad_##isa(int64_t rows, int64_t c, const float *logits,             \
                                 const int32_t *labels, float smoothing, float scale,      \
                                 float *dlogits);                                          \
    void pod__softmax_loss_grad_##isa(int64_t rows, int64_t c, const float *logits,        \
                                      const int32_t *labels, float smoothing, float scale, \
                                      float grad_scale, float *loss, float *dlogits);      \
    void pod__softmax_correct_##isa(int64_t rows, int64_t c, const float *logits,          \
                                    const int32_t *labels, float *n);
#include "kernels/softmax/softmax.def"
#undef POD_SOFTMAX

#endif
