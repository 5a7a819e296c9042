#include "kernels/norm/norm.h"

#include "kernels/norm/sets.h"

static const pod_norm sets[] = {
#define POD_NORM(name, needs, isa)  \
    {name,                          \
     needs,                         \
     pod__norm_sums_##isa,          \
     pod__norm_moments,             \
     pod__norm_apply_##isa,         \
     pod__norm_grad_sums_##isa,     \
     pod__norm_grad_apply_##isa,    \
     pod__norm_fold,                \
     pod__norm_apply_act_##isa,     \
     pod__norm_grad_sums_act_##isa, \
     pod__norm_grad_apply_act_##isa},
#include "kernels/norm/norm.def"
#undef POD_NORM
};

enum { N_SETS = sizeof sets / sizeof sets[0] };

const pod_norm *pod_norm_sets(int *n)
{
    *n = N_SETS;
    return sets;
}

const pod_norm *pod_norm_pick(uint32_t cpu)
{
    int i = cpu == POD_CPU_REFERENCE_ONLY ? N_SETS - 1 : 0;
    while (sets[i].needs & ~cpu) i++;
    return &sets[i];
}
