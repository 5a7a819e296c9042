#include "kernels/softmax/softmax.h"

#include "kernels/softmax/sets.h"

static const pod_softmax sets[] = {
#define POD_SOFTMAX(name, needs, isa) \
    {name,                            \
     needs,                           \
     pod__softmax_loss_##isa,         \
     pod__softmax_grad_##isa,         \
     pod__softmax_loss_grad_##isa,    \
     pod__softmax_correct_##isa},
#include "kernels/softmax/softmax.def"
#undef POD_SOFTMAX
};

enum { N_SETS = sizeof sets / sizeof sets[0] };

const pod_softmax *pod_softmax_sets(int *n)
{
    *n = N_SETS;
    return sets;
}

const pod_softmax *pod_softmax_pick(uint32_t cpu)
{
    int i = cpu == POD_CPU_REFERENCE_ONLY ? N_SETS - 1 : 0;
    while (sets[i].needs & ~cpu) i++;
    return &sets[i];
}
