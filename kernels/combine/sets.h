/* The functions of every set in combine.def. For kernels/combine only. */
#ifndef MINIPOD_KERNELS_COMBINE_SETS_H
#define MINIPOD_KERNELS_COMBINE_SETS_H

#include "kernels/combine/combine.h"

#define POD_COMBINE(name, needs, isa)                                                             \
    void pod__combine_add_##isa(int64_t count, pod_dtype t, const void *from, pod_dtype t_sum,    \
                                const void *own, void *sum);                                      \
    void pod__combine_add_all_##isa(int64_t count, pod_dtype t, int n_in, const void *const in[], \
                                    int n_out, void *const out[]);                                \
    void pod__combine_convert_##isa(int64_t count, pod_dtype t_from, const void *from,            \
                                    pod_dtype t_to, void *to);                                    \
    void pod__combine_fold_##isa(int64_t count, pod_redop op, pod_dtype t, const void *from,      \
                                 const void *own, void *out);
#include "kernels/combine/combine.def"
#undef POD_COMBINE

#endif
