/* minipod explain WHAT, one of explain.def: what was decided, and why. */
#include <string.h>

#include "bench/command.h"
#include "bench/common/published.h"
#include "bench/explain/explain.h"
#include "runtime/core/words.h"
#include "runtime/optim/optim.h"

/* ---- program and machine --------------------------------------------------------------------- */

pod_status pod_explain_plan(pod_explain *e)
{
    return pod_planned_of(e->config, e->arena, &e->planned);
}

pod_status pod_explain_compile(pod_explain *e)
{
    const pod_planned *p = &e->planned;
    POD_TRY(pod_explain_plan(e));
    return pod_network_compile(&p->net, &p->setup, &p->data, true, &p->target, e->arena,
                               &e->program);
}

pod_status pod_explain_program(pod_explain *e)
{
    POD_TRY(pod_explain_compile(e));
    if (pod_machine_is_virtual(&e->planned.machine))
        printf(
            "# as it goes to %s, whose compiler joins instructions and pads values: simulate costs "
            "what that leaves\n",
            e->planned.machine.name);
    pod_program_print(e->program, stdout);
    return POD_OK;
}

static pod_status print_slices(const pod_machine *m)
{
    if (!*m->slices) return POD_OK;
    printf("# --cores N picks a slice:");
    for (const char *at = m->slices; *at;) {
        char word[POD_MESH_TEXT_BYTES];
        pod_mesh mesh;
        POD_TRY(pod_word_take("slices", &at, word, sizeof word));
        POD_TRY(pod_mesh_parse(word, &mesh));
        printf(" %d (%s)", pod_mesh_size(&mesh), word);
    }
    putchar('\n');
    return POD_OK;
}

pod_status pod_explain_machine(pod_explain *e)
{
    const char *name = pod_config_text(e->config, POD_OPT_MACHINE);
    const char *text = pod_machine_known_text(name);
    pod_machine m;
    POD_TRY(pod_machine_load(name, &m));
    if (m.why_unknown[0] != '\0') printf("# %s\n", m.why_unknown);
    if (text)
        fputs(text, stdout);
    else
        pod_machine_print(&m, stdout);
    pod_machine_print_absent(&m, stdout);
    return print_slices(&m);
}

/* ---- optimizer --------------------------------------------------------------------------------- */

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
    pod_table *t;
    const pod_config *c = e->config;
    const pod_optim *optim = pod_optim_find(pod_config_text(c, POD_OPT_OPTIMIZER));
    POD_TRY(pod_table_create(POD_COLUMNS(pod_quantity_columns), &t));
    pod_table_note(t, "%s: %s", optim->name, optim->formula);
    pod_table_note(t, "%s", optim->source);
    for (const pod_optim_default *d = optim->own; d->value; d++)
        pod_table_quantity(t, pod_options[d->option].name, "",
                           source_text(pod_config_source(c, d->option)), "%s",
                           pod_optim_value(c, d->option));
    return pod_table_finish(t, stdout, "");
}

/* ---- the command ----------------------------------------------------------------------------- */

static const struct {
    const char *name, *about;
    pod_explain_fn *run;
} topics[] = {
#define POD_EXPLAIN(name, about) {#name, about, pod_explain_##name},
#include "bench/explain/explain.def"
#undef POD_EXPLAIN
};

static const char topic_names[] =
#define POD_EXPLAIN(name, about) " " #name
#include "bench/explain/explain.def"
#undef POD_EXPLAIN
    ;

/* What the environment has may be meant for other commands. */
static pod_status check_json(const pod_config *c, pod_explain_fn *topic)
{
    if (topic == pod_explain_samples || pod_config_source(c, POD_OPT_JSON) != POD_FROM_COMMAND_LINE)
        return POD_OK;
    return pod_fail(POD_E_INVALID, "json: of explain samples, not of explain %s",
                    pod_config_arg(c, 0));
}

pod_status pod_cmd_explain(pod_call *call, int *exit_code)
{
    (void)exit_code;
    const char *given = pod_config_n_args(call->config) > 0 ? pod_config_arg(call->config, 0) : "";
    for (size_t i = 0; i < sizeof topics / sizeof topics[0]; i++) {
        if (strcmp(given, topics[i].name) != 0) continue;
        POD_TRY(check_json(call->config, topics[i].run));
        pod_explain e = {.arena = call->arena};
        pod_config *settled;
        POD_TRY(pod_published_settle(call->config, false, &settled));
        e.config = settled;
        const pod_status s = topics[i].run(&e);
        pod_planned_end(&e.planned);
        pod_config_destroy(settled);
        return s;
    }
    if (!given[0]) return pod_fail(POD_E_INVALID, "say what to explain:%s", topic_names);
    return pod_fail(POD_E_INVALID, "'%s' cannot be explained; these can:%s", given, topic_names);
}
