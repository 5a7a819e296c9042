#include "kernels/reduce/reduce.h"

#include "kernels/reduce/sets.h"

static const pod_reduce sets[] = {
#define POD_REDUCE(name, needs, isa)                                       \
    {name, needs, pod__reduce_sum_sq_##isa, pod__reduce_sum_sq_wide_##isa, \
     pod__reduce_col_sum_##isa},
#include "kernels/reduce/reduce.def"
#undef POD_REDUCE
};

enum { N_SETS = sizeof sets / sizeof sets[0] };

const pod_reduce *pod_reduce_sets(int *n)
{
    *n = N_SETS;
    return sets;
}

const pod_reduce *pod_reduce_pick(uint32_t cpu)
{
    int i = cpu == POD_CPU_REFERENCE_ONLY ? N_SETS - 1 : 0;
    while (sets[i].needs & ~cpu) i++;
    return &sets[i];
}
