/* The functions of every set in update.def. For kernels/update only. */
#ifndef MINIPOD_KERNELS_UPDATE_SETS_H
#define MINIPOD_KERNELS_UPDATE_SETS_H

#include "kernels/update/update.h"

#define POD_UPDATE(name, needs, isa)                                                              \
    void pod__update_momentum_outer_##isa(int64_t count, float rate, float momentum, float decay, \
                                          bool nesterov, const float *g, float *v, float *w);     \
    void pod__update_momentum_inner_##isa(int64_t count, float rate, float momentum, float decay, \
                                          bool nesterov, const float *g, float *v, float *w);     \
    void pod__update_rmsprop_##isa(int64_t count, const pod_rmsprop_attr *attr, float rate,       \
                                   const float *g, float *s, float *v, float *w);                 \
    void pod__update_adam_step_##isa(int64_t count, const pod_adam_attr *attr, float rate,        \
                                     const float *g, float *m, float *v, float *w);               \
    void pod__update_adam_norms_##isa(int64_t count, const pod_adam_attr *attr, const float *g,   \
                                      const float *w, float *m, float *v, float *w_sq,            \
                                      float *u_sq);                                               \
    void pod__update_adam_direction_##isa(int64_t count, const pod_adam_attr *attr,               \
                                          const float *g, const float *w, float *m, float *v,     \
                                          float *u);                                              \
    void pod__update_adam_descend_##isa(int64_t count, const pod_adam_attr *attr, float rate,     \
                                        const float *m, const float *v, float *w);
#include "kernels/update/update.def"
#undef POD_UPDATE

#endif
