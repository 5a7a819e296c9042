/* explain optimizer: the formula of --optimizer, and each hyper-parameter that it reads with its value
 * and where that comes from. */
#include "bench/explain/explain.h"
#include "runtime/optim/optim.h"

static const char *source_text(pod_source s)
{
    static const char *const texts[POD_N_SOURCES] = {
        [POD_FROM_DEFAULT] = "the optimizer's default",
        [POD_FROM_CHECKPOINT] = "from a checkpoint",
        [POD_FROM_FILE] = "from a --conf file",
        [POD_FROM_ENVIRONMENT] = "from the environment",
        [POD_FROM_COMMAND_LINE] = "from the command line"};
    return texts[s];
}

pod_status pod_explain_optimizer(pod_explain *e)
{
    int n;
    pod_table *t;
    const pod_option *options = pod_options(&n);
    const pod_config *c = e->config;
    const pod_optim *optim = pod_optim_find(pod_config_text(c, POD_OPT_OPTIMIZER));
    POD_TRY(pod_table_create(pod_quantity_columns, POD_QUANTITY_COLUMNS, &t));
    pod_table_note(t, "%s: %s", optim->name, optim->formula);
    pod_table_note(t, "%s", optim->source);
    for (const pod_optim_default *d = optim->own; d->value; d++)
        pod_table_quantity(t, options[d->option].name, "",
                           source_text(pod_config_source(c, d->option)), "%s",
                           pod_optim_value(c, d->option));
    const pod_status s = pod_table_print(t, stdout);
    pod_table_destroy(t);
    return s;
}
