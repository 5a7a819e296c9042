#include "runtime/optim/optim.h"

#include <string.h>

#include "runtime/optim/rules.h"

static const pod_optim optims[] = {
#define POD_OPTIM(name, n_states, n_ones, traits, update, formula, source) \
    {name, formula, source, n_states, n_ones, traits, update},
#include "runtime/optim/optims.def"
#undef POD_OPTIM
};

const pod_optim *pod_optims(int *n)
{
    *n = (int)(sizeof optims / sizeof optims[0]);
    return optims;
}

const pod_optim *pod_optim_find(const char *name)
{
    int n;
    const pod_optim *all = pod_optims(&n);
    for (int i = 0; i < n; i++)
        if (strcmp(all[i].name, name) == 0) return &all[i];
    return NULL;
}
