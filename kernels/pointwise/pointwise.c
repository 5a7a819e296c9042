#include "kernels/pointwise/pointwise.h"

#include "kernels/pointwise/sets.h"

static const pod_pointwise sets[] = {
#define POD_POINTWISE(name, needs, isa) \
    {name,                              \
     needs,                             \
     pod__pointwise_cast_##isa,         \
     pod__pointwise_relu_##isa,         \
     pod__pointwise_relu_grad_##isa,    \
     pod__pointwise_add_##isa,          \
     pod__pointwise_bias_add_##isa,     \
     pod__pointwise_axpby_##isa,        \
     pod__pointwise_normalize_u8_##isa},
#include "kernels/pointwise/pointwise.def"
#undef POD_POINTWISE
};

enum { N_SETS = sizeof sets / sizeof sets[0] };

const pod_pointwise *pod_pointwise_sets(int *n)
{
    *n = N_SETS;
    return sets;
}

const pod_pointwise *pod_pointwise_pick(uint32_t cpu)
{
    int i = cpu == POD_CPU_REFERENCE_ONLY ? N_SETS - 1 : 0;
    while (sets[i].needs & ~cpu) i++;
    return &sets[i];
}
