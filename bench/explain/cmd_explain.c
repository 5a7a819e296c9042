/* minipod explain WHAT, one of explain.def: what was decided, and why. */
#include <string.h>

#include "bench/command.h"
#include "bench/common/published.h"
#include "bench/explain/explain.h"

/* ---- program and machine --------------------------------------------------------------------- */

pod_status pod_explain_program(pod_explain *e)
{
    pod_planned r;
    const pod_program *program;
    POD_TRY(pod_planned_of(e->config, e->arena, &r));
    pod_status s =
        pod_network_compile(&r.net, &r.setup, &r.data, true, &r.target, e->arena, &program);
    if (s == POD_OK && pod_machine_is_virtual(&r.machine))
        printf(
            "# as it goes to %s, whose compiler joins instructions and pads values: simulate costs "
            "what that leaves\n",
            r.machine.name);
    if (s == POD_OK) pod_program_print(program, stdout);
    pod_planned_end(&r);
    POD_TRY(s);
    return POD_OK;
}

static pod_status print_slices(const pod_machine *m)
{
    if (!*m->slices) return POD_OK;
    printf("# --cores N picks a slice:");
    for (const char *at = m->slices; at; at = strchr(at, ',')) {
        char word[POD_MESH_TEXT_BYTES];
        pod_mesh mesh;
        at += *at == ',';
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ","), at);
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

pod_status pod_cmd_explain(pod_call *call, int *exit_code)
{
    (void)exit_code;
    const char *given = pod_config_n_args(call->config) > 0 ? pod_config_arg(call->config, 0) : "";
    for (size_t i = 0; i < sizeof topics / sizeof topics[0]; i++) {
        if (strcmp(given, topics[i].name) != 0) continue;
        pod_explain e = {0};
        pod_config *settled = NULL;
        pod_status s;
        POD_TRY(pod_arena_create(NULL, &e.arena));
        POD_TRY_GOTO(s, pod_published_settle(call->config, false, &settled), done);
        e.config = settled;
        s = topics[i].run(&e);
    done:
        pod_config_destroy(settled);
        pod_arena_destroy(e.arena);
        return s;
    }
    if (!given[0]) return pod_fail(POD_E_INVALID, "say what to explain:%s", topic_names);
    return pod_fail(POD_E_INVALID, "'%s' cannot be explained; these can:%s", given, topic_names);
}
