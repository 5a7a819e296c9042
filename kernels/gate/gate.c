#include "kernels/gate/gate.h"

#include "kernels/gate/sets.h"

static const pod_gate sets[] = {
#define POD_GATE(name, needs, isa) \
    {name,                         \
     needs,                        \
     pod__gate_sigmoid_##isa,      \
     pod__gate_sigmoid_grad_##isa, \
     pod__gate_swish_##isa,        \
     pod__gate_swish_grad_##isa,   \
     pod__gate_scale_##isa,        \
     pod__gate_mean_grad_##isa,    \
     pod__gate_sums_##isa},
#include "kernels/gate/gate.def"
#undef POD_GATE
};

enum { N_SETS = sizeof sets / sizeof sets[0] };

const pod_gate *pod_gate_sets(int *n)
{
    *n = N_SETS;
    return sets;
}

const pod_gate *pod_gate_pick(uint32_t cpu)
{
    int i = cpu == POD_CPU_REFERENCE_ONLY ? N_SETS - 1 : 0;
    while (sets[i].needs & ~cpu) i++;
    return &sets[i];
}
