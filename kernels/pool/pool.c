#include "kernels/pool/pool.h"

#include "kernels/pool/sets.h"

static const pod_pool sets[] = {
#define POD_POOL(name, needs, isa) \
    {name,                         \
     needs,                        \
     pod__pool_max_##isa,          \
     pod__pool_max_grad_##isa,     \
     pod__pool_mean_##isa,         \
     pod__pool_mean_grad_##isa},
#include "kernels/pool/pool.def"
#undef POD_POOL
};

enum { N_SETS = sizeof sets / sizeof sets[0] };

const pod_pool *pod_pool_sets(int *n)
{
    *n = N_SETS;
    return sets;
}

const pod_pool *pod_pool_pick(uint32_t cpu)
{
    int i = cpu == POD_CPU_REFERENCE_ONLY ? N_SETS - 1 : 0;
    while (sets[i].needs & ~cpu) i++;
    return &sets[i];
}
