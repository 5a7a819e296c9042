#include "runtime/optim/optim.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/optim/rules.h"

static const pod_optim optims[] = {
#define POD_OPTIM(name, n_states, n_ones, traits, update, formula, source, ...) \
    {name, formula, source, n_states, n_ones, traits, update, {__VA_ARGS__}},
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

const char *pod_optim_default_of(const pod_config *c, pod_opt o)
{
    const pod_optim *optim = pod_optim_find(pod_config_text(c, POD_OPT_OPTIMIZER));
    for (const pod_optim_default *d = optim ? optim->own : NULL; d && d->value; d++)
        if (d->option == o) return d->value;
    return pod_options[o].fallback;
}

const char *pod_optim_value(const pod_config *c, pod_opt o)
{
    return pod_config_is_set(c, o) ? pod_config_value(c, o) : pod_optim_default_of(c, o);
}

double pod_optim_number(const pod_config *c, pod_opt o)
{
    return strtod(pod_optim_value(c, o), NULL);
}

void pod_optim_help(FILE *to)
{
    fprintf(to, "\noptimizers with their defaults\n");
    for (size_t i = 0; i < sizeof optims / sizeof optims[0]; i++) {
        fprintf(to, "  %-20s", optims[i].name);
        for (const pod_optim_default *d = optims[i].own; d->value; d++)
            fprintf(to, " --%s %s", pod_options[d->option].name, d->value);
        fprintf(to, "\n%23s%s\n", "", optims[i].formula);
    }
}
