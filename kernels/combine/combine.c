#include "kernels/combine/combine.h"

#include "kernels/combine/sets.h"

static const pod_combine sets[] = {
#define POD_COMBINE(name, needs, isa) \
    {name, needs, pod__combine_add_##isa, pod__combine_add_all_##isa, pod__combine_convert_##isa},
#include "kernels/combine/combine.def"
#undef POD_COMBINE
};

enum { N_SETS = sizeof sets / sizeof sets[0] };

const pod_combine *pod_combine_sets(int *n)
{
    *n = N_SETS;
    return sets;
}

const pod_combine *pod_combine_pick(uint32_t cpu)
{
    int i = cpu == POD_CPU_REFERENCE_ONLY ? N_SETS - 1 : 0;
    while (sets[i].needs & ~cpu) i++;
    return &sets[i];
}
