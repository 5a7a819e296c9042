#include "kernels/layernorm/layernorm.h"

#include "kernels/layernorm/sets.h"

static const pod_layernorm sets[] = {
#define POD_LAYERNORM(name, needs, isa)                                    \
    {name, needs, pod__layernorm_apply_##isa, pod__layernorm_grad_x_##isa, \
     pod__layernorm_grad_params_##isa},
#include "kernels/layernorm/layernorm.def"
#undef POD_LAYERNORM
};

enum { N_SETS = sizeof sets / sizeof sets[0] };

const pod_layernorm *pod_layernorm_sets(int *n)
{
    *n = N_SETS;
    return sets;
}

const pod_layernorm *pod_layernorm_pick(uint32_t cpu)
{
    int i = cpu == POD_CPU_REFERENCE_ONLY ? N_SETS - 1 : 0;
    while (sets[i].needs & ~cpu) i++;
    return &sets[i];
}
