/* explain fusions: the table of patterns, how often each one applied in the model's training step
 * on this host, and how often it was refused for what reason. */
#include "bench/explain/explain.h"

static const pod_column columns[] = {
    {"pattern", "", true}, {"times", "", false}, {"verdict", "", true}};

static void add_note(pod_table *t, const char *how, const pod_program *p)
{
    const double mega = 1e6;
    pod_table_note(t, "%-5s %4d instructions, slab %.1f MB, %.1f MB read and written", how,
                   (int)p->n_instrs, (double)p->step_bytes / mega,
                   pod_program_moved_bytes(p) / mega);
}

static pod_status print(const pod_planned *r, const pod_program *plain, const pod_program *fused)
{
    pod_table *t;
    POD_TRY(pod_table_create(POD_COLUMNS(columns), &t));
    pod_table_note(t, "a training step of %s, batch %lld, on one core of mesh %s", r->net.name,
                   (long long)r->setup.batch, POD_MESH_TEXT(&fused->mesh));
    add_note(t, "plain", plain);
    add_note(t, "fused", fused);
    for (int32_t i = 0; i < fused->n_fusions; i++) {
        const pod_fusion *f = &fused->fusion[i];
        pod_table_row(t, "%s\t%d\t%s%s", f->name, f->n, f->refused ? "refused: " : "done",
                      f->refused ? f->refused : "");
    }
    pod_table_footer(t);
    for (int32_t i = 0; i < fused->n_fusions; i++) {
        const pod_fusion *f = &fused->fusion[i];
        if (!f->refused) pod_table_note(t, "%s: %s -> %s", f->name, f->matches, f->becomes);
    }
    return pod_table_finish(t, stdout, "");
}

static pod_status compile(pod_explain *e, bool fusion, const pod_program **out)
{
    pod_planned *p = &e->planned;
    p->setup.compile.fusion = fusion;
    return pod_network_compile(&p->net, &p->setup, &p->data, true, &p->target, e->arena, out);
}

pod_status pod_explain_fusions(pod_explain *e)
{
    const pod_program *plain, *fused;
    POD_TRY(pod_explain_plan(e));
    POD_TRY(compile(e, false, &plain));
    POD_TRY(compile(e, true, &fused));
    return print(&e->planned, plain, fused);
}
