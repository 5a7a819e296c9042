/* The functions of every set in pointwise.def. For kernels/pointwise only. */
#ifndef MINIPOD_KERNELS_POINTWISE_SETS_H
#define MINIPOD_KERNELS_POINTWISE_SETS_H

#include "kernels/pointwise/pointwise.h"

#define POD_POINTWISE(name, needs, isa)                                                            \
    void pod__pointwise_cast_##isa(int64_t count, pod_dtype from, const void *x, pod_dtype to,     \
                                   void *y);                                                       \
    void pod__pointwise_relu_##isa(int64_t count, pod_dtype t, const void *x, void *y);            \
    void pod__pointwise_relu_grad_##isa(int64_t count, pod_dtype t, const void *y, const void *dy, \
                                        void *dx);                                                 \
    void pod__pointwise_add_##isa(int64_t count, pod_dtype t, const void *a, const void *b,        \
                                  void *y);                                                        \
    void pod__pointwise_bias_add_##isa(int64_t rows, int64_t c, pod_dtype t, const void *x,        \
                                       const float *bias, void *y);                                \
    void pod__pointwise_axpby_##isa(int64_t count, float alpha, const float *x, float beta,        \
                                    const float *z, float *y);                                     \
    void pod__pointwise_normalize_u8_##isa(int64_t rows, int64_t c, const uint8_t *x,              \
                                           const float *scale, const float *shift, pod_dtype t,    \
                                           void *y);
#include "kernels/pointwise/pointwise.def"
#undef POD_POINTWISE

#endif
