/* The functions of every set in gate.def. For kernels/gate only. */
#ifndef MINIPOD_KERNELS_GATE_SETS_H
#define MINIPOD_KERNELS_GATE_SETS_H

#include "kernels/gate/gate.h"

#define POD_GATE(name, needs, isa)                                                                 \
    void pod__gate_sigmoid_##isa(int64_t count, pod_dtype t, const void *x, float *y);             \
    void pod__gate_sigmoid_grad_##isa(int64_t count, pod_dtype t, const float *y, const float *dy, \
                                      void *dx);                                                   \
    void pod__gate_swish_##isa(int64_t count, pod_dtype t, const void *x, void *y);                \
    void pod__gate_swish_grad_##isa(int64_t count, pod_dtype t, const void *x, const void *dy,     \
                                    void *dx);                                                     \
    void pod__gate_scale_##isa(int64_t n, int64_t rows, int64_t c, pod_dtype t, const void *x,     \
                               const float *gate, void *y);                                        \
    void pod__gate_mean_grad_##isa(int64_t n, int64_t rows, int64_t c, pod_dtype t,                \
                                   const void *dy, const float *gate, const void *d_mean,          \
                                   void *dx);                                                      \
    void pod__gate_sums_##isa(int64_t n, int64_t rows, int64_t c, pod_dtype t, const void *x,      \
                              const void *y, float *sum);
#include "kernels/gate/gate.def"
#undef POD_GATE

#endif
