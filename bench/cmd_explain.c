/* minipod explain WHAT, one of explain.def: what was decided, and why. */
#include <string.h>

#include "bench/command.h"
#include "bench/explain.h"
#include "runtime/core/machine.h"

/* ---- the run that is explained --------------------------------------------------------------- */

static pod_status published(pod_explain *e, const pod_model *m, pod_dataset_info *out)
{
    double *mean = POD_ARENA_NEW(e->arena, double, m->c),
           *std = POD_ARENA_NEW(e->arena, double, m->c);
    if (!mean || !std) return POD_E_NOMEM;
    for (int64_t c = 0; c < m->c; c++) std[c] = 1;
    *out = (pod_dataset_info){.name = "",
                              .height = m->h,
                              .width = m->w,
                              .channels = m->c,
                              .n_classes = (int)m->n_classes,
                              .mean = mean,
                              .std = std};
    return POD_OK;
}

static pod_status find_data(pod_explain *e, pod_explain_run *r)
{
    if (!pod_config_is_set(e->config, POD_OPT_DATA)) {
        POD_TRY(published(e, r->choice.model, &r->data));
        return POD_OK;
    }
    const pod_dataset_options only_the_labels = {.cache_bytes = 0};
    POD_TRY(pod_dataset_open_with(r->setup.data, r->setup.seed, &only_the_labels, &r->dataset));
    r->data = r->dataset->info;
    return POD_OK;
}

static pod_status see_data(pod_explain *e, pod_explain_run *r)
{
    POD_TRY(find_data(e, r));
    r->data = pod_setup_seen(&r->setup, &r->data);
    return POD_OK;
}

int pod_explain_node_size(const pod_explain *e, int n_ranks)
{
    const int64_t given = pod_config_int(e->config, POD_OPT_NODE);
    return given == 0 || given > n_ranks ? n_ranks : (int)given;
}

pod_status pod_explain_run_of(pod_explain *e, pod_explain_run *out)
{
    const char *text = pod_config_text(e->config, POD_OPT_MESH);
    int n_ranks = 1;
    if (strcmp(text, "auto") != 0) {
        pod_mesh mesh;
        POD_TRY(pod_mesh_parse(text, &mesh));
        n_ranks = pod_mesh_size(&mesh);
    }
    const int node = pod_explain_node_size(e, n_ranks);
    pod_setup setup;
    POD_TRY(pod_setup_from(e->config, n_ranks, node, e->arena, &setup));
    *out = (pod_explain_run){.setup = setup};
    POD_TRY(pod_network_choose(&out->setup, &out->choice, &out->net));
    POD_TRY(pod_machine_load(pod_config_text(e->config, POD_OPT_MACHINE), &out->machine));
    POD_TRY(pod_target_from(e->config, &out->machine, &out->target));
    POD_TRY(see_data(e, out));
    return POD_OK;
}

void pod_explain_run_end(pod_explain_run *r) { pod_dataset_close(r->dataset); }

const char *pod_explain_source(const pod_explain_run *r)
{
    if (r->dataset) return r->data.name;
    return r->setup.image_height ? "the size of --image-size"
                                 : "the size it was published for; --data gives others";
}

/* ---- program and machine --------------------------------------------------------------------- */

pod_status pod_explain_program(pod_explain *e)
{
    pod_explain_run r;
    const pod_program *program;
    POD_TRY(pod_explain_run_of(e, &r));
    pod_status s =
        pod_network_compile(&r.net, &r.setup, &r.data, true, &r.target, e->arena, &program);
    if (s == POD_OK) pod_program_print(program, stdout);
    pod_explain_run_end(&r);
    POD_TRY(s);
    return POD_OK;
}

pod_status pod_explain_machine(pod_explain *e)
{
    pod_machine m;
    POD_TRY(pod_machine_load(pod_config_text(e->config, POD_OPT_MACHINE), &m));
    if (m.why_unknown[0] != '\0') printf("# %s\n", m.why_unknown);
    pod_machine_print(&m, stdout);
    return POD_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

static const struct {
    const char *name, *about;
    pod_explain_fn *run;
} topics[] = {
#define POD_EXPLAIN(name, about) {#name, about, pod_explain_##name},
#include "bench/explain.def"
#undef POD_EXPLAIN
};

static const char topic_names[] =
#define POD_EXPLAIN(name, about) " " #name
#include "bench/explain.def"
#undef POD_EXPLAIN
    ;

pod_status pod_cmd_explain(pod_call *call, int *exit_code)
{
    (void)exit_code;
    const char *given = pod_config_n_args(call->config) > 0 ? pod_config_arg(call->config, 0) : "";
    for (size_t i = 0; i < sizeof topics / sizeof topics[0]; i++) {
        if (strcmp(given, topics[i].name) != 0) continue;
        pod_explain e = {.config = call->config};
        POD_TRY(pod_arena_create(NULL, &e.arena));
        pod_status s = topics[i].run(&e);
        pod_arena_destroy(e.arena);
        POD_TRY(s);
        return POD_OK;
    }
    if (!given[0]) return pod_fail(POD_E_INVALID, "say what to explain:%s", topic_names);
    return pod_fail(POD_E_INVALID, "'%s' cannot be explained; these can:%s", given, topic_names);
}
