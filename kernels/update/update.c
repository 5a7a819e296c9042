#include "kernels/update/update.h"

#include "kernels/update/sets.h"

static const pod_update sets[] = {
#define POD_UPDATE(name, needs, isa)   \
    {name,                             \
     needs,                            \
     pod__update_momentum_outer_##isa, \
     pod__update_momentum_inner_##isa, \
     pod__update_rmsprop_##isa,        \
     pod__update_adam_step_##isa,      \
     pod__update_adam_norms_##isa,     \
     pod__update_adam_direction_##isa, \
     pod__update_adam_descend_##isa},
#include "kernels/update/update.def"
#undef POD_UPDATE
};

enum { N_SETS = sizeof sets / sizeof sets[0] };

const pod_update *pod_update_sets(int *n)
{
    *n = N_SETS;
    return sets;
}

const pod_update *pod_update_pick(uint32_t cpu)
{
    int i = cpu == POD_CPU_REFERENCE_ONLY ? N_SETS - 1 : 0;
    while (sets[i].needs & ~cpu) i++;
    return &sets[i];
}
