/* fuse: nodes that a kernel of the target does in one pass over memory become one node, by the
 * table of patterns fusions.def. The finished graph is looked at, gradients and updates included.
 * Without --fusion it stays as it is. */
#include "runtime/passes/fuse/fuse.h"

#include <string.h>

#include "kernels/base/assert.h"
#include "runtime/passes/rewrite.h"

static const struct {
    const char *name, *matches, *becomes;
    pod__pattern_fn *try_at;
} patterns[] = {
#define POD_FUSION(name, matches, becomes) {#name, matches, becomes, pod__fuse_##name},
#include "runtime/passes/fuse/fusions.def"
};
enum { N_PATTERNS = sizeof patterns / sizeof patterns[0] };

/* ---- what patterns ask and do ---- */

bool pod__site_is(const pod__site *s, const pod_op *op) { return s && s->node.op == op; }

pod__site *pod__maker_of(const pod__fuse *f, pod_value v) { return &f->site[f->maker[v.id]]; }

pod__readers pod__readers_of(const pod__fuse *f, pod_value v)
{
    pod__readers r = {0};
    if (f->kept[v.id]) return (pod__readers){.n = -1};
    for (int32_t i = f->maker[v.id] + 1; i < f->n_sites; i++) {
        pod__site *s = &f->site[i];
        bool reads = false;
        for (int j = 0; s->node.op && j < s->node.n_in; j++) reads = reads || s->in[j].id == v.id;
        if (!reads) continue;
        if (r.n == POD__MAX_READERS) return (pod__readers){.n = -1};
        r.site[r.n++] = s;
    }
    return r;
}

pod__site *pod__only_reader(const pod__fuse *f, pod_value v, const pod_op *op)
{
    const pod__readers r = pod__readers_of(f, v);
    return r.n == 1 && pod__site_is(r.site[0], op) ? r.site[0] : NULL;
}

pod__verdict pod__refused_by_reader(const pod__fuse *f, const pod__site *reader)
{
    const char *why = pod_arena_text(f->plan->arena, "%s reads it too", reader->node.op->name);
    return pod__refused(why ? why : "");
}

pod_value pod__add_output(pod__fuse *f, pod__site *s, pod_value model)
{
    POD_ASSERT(f->n_values + 1 < f->value_cap, "%d values", (int)f->n_values);
    const pod_value v = {++f->n_values};
    f->model[v.id] = model;
    pod__take_output(f, s, v);
    return v;
}

void pod__take_output(pod__fuse *f, pod__site *s, pod_value v)
{
    POD_ASSERT(s->node.n_out < POD_MAX_OUT, "'%s' has %d outputs", s->node.label, s->node.n_out);
    f->maker[v.id] = (int32_t)(s - f->site);
    s->out[s->node.n_out++] = v;
}

void pod__set_inputs(pod__site *s, const pod_value in[], int n)
{
    POD_ASSERT(n <= POD__SITE_IN, "%d inputs", n);
    memmove(s->in, in, sizeof in[0] * (size_t)n);
    s->node.n_in = n;
}

void pod__read_instead(pod__site *s, pod_value old, pod_value now)
{
    for (int j = 0; s->node.op && j < s->node.n_in; j++)
        if (s->in[j].id == old.id) s->in[j] = now;
}

void pod__clear(pod__site *s) { *s = (pod__site){0}; }

static const pod_type *type_of(const pod__fuse *f, pod_value v)
{
    return pod_graph_type(f->from, f->model[v.id]);
}

pod_dtype pod__dtype_of(const pod__fuse *f, pod_value v) { return type_of(f, v)->dtype; }

pod_fuse_args pod__fuse_args_of(const pod__fuse *f, const pod__site *s, pod__fuse_types *types)
{
    for (int i = 0; i < s->node.n_in; i++) types->in[i] = *type_of(f, s->in[i]);
    for (int i = 0; i < s->node.n_out; i++) types->out[i] = *type_of(f, s->out[i]);
    const int64_t samples = types->in[0].shape.dim[0];
    const bool is_split = f->by_sample[f->model[s->in[0].id].id];
    return (pod_fuse_args){.node = &s->node,
                           .in = types->in,
                           .out = types->out,
                           .samples =
                               is_split ? samples / pod_mesh_size(&f->plan->spread) : samples,
                           .how = pod_target_choice(f->plan->args->target),
                           .arena = f->plan->arena};
}

/* ---- from the graph and back ---- */

/* Infer carries the split of the inputs through the graph, every sum taken as reduced. Where it
 * refuses, partition says why. */
static pod_status find_samples(pod__fuse *f)
{
    const pod_graph *g = f->from;
    pod_type *type = POD_ARENA_NEW(f->plan->arena, pod_type, f->n_values + 1);
    if (!type) return POD_E_NOMEM;
    for (int32_t i = 0; i < pod_graph_n_nodes(g); i++) {
        const pod_node *n = pod_graph_node(g, i);
        pod_type in[POD__SITE_IN], *out = &type[n->first_out];
        for (int k = 0; k < n->n_out; k++) out[k] = *pod_graph_type(g, pod_node_out(n, k));
        if (n->op->kind == POD_OP_INPUT && pod__has_batch(n)) out[0].split[0] = 1;
        for (int j = 0; j < n->n_in; j++) in[j] = type[n->in[j].id];
        if (n->op->infer && pod_op_infer(n, in, out) == POD_OK)
            for (int k = 0; k < n->n_out; k++) out[k].sum = out[k].vary = 0;
        for (int k = 0; k < n->n_out; k++) f->by_sample[n->first_out + k] = out[k].split[0] != 0;
    }
    return POD_OK;
}

static pod_status open_sites(pod__fuse *f)
{
    const pod_graph *g = f->from;
    pod_arena *a = f->plan->arena;
    f->n_sites = 2 * pod_graph_n_nodes(g);
    f->n_values = pod_graph_n_values(g);
    f->value_cap = f->n_values + f->n_sites + 1; /* two new values at every empty site */
    f->site = POD_ARENA_NEW(a, pod__site, f->n_sites);
    f->maker = POD_ARENA_NEW(a, int32_t, f->value_cap);
    f->model = POD_ARENA_NEW(a, pod_value, f->value_cap);
    f->by_sample = POD_ARENA_NEW(a, bool, f->n_values + 1);
    f->kept = POD_ARENA_NEW(a, bool, f->value_cap);
    if (!f->site || !f->maker || !f->model || !f->by_sample || !f->kept) return POD_E_NOMEM;
    for (int32_t i = 0; i < pod_graph_n_nodes(g); i++) {
        pod__site *s = &f->site[2 * i + 1];
        s->node = *pod_graph_node(g, i);
        POD_ASSERT(s->node.n_in <= POD__SITE_IN && s->node.n_out <= POD_MAX_OUT,
                   "'%s' has %d inputs and %d outputs", s->node.label, s->node.n_in, s->node.n_out);
        for (int j = 0; j < s->node.n_in; j++) s->in[j] = s->node.in[j];
        for (int k = 0; k < s->node.n_out; k++) {
            s->out[k] = pod_node_out(&s->node, k);
            f->maker[s->out[k].id] = 2 * i + 1;
            f->model[s->out[k].id] = s->out[k];
        }
    }
    for (int i = 0; i < pod_graph_n_outputs(g); i++)
        f->kept[pod_graph_output(g, i)->value.id] = true;
    for (int i = 0; i < pod_graph_n_variables(g); i++)
        f->kept[pod_graph_variable(g, i)->assigned.id] = true;
    return find_samples(f);
}

static pod_status append(const pod__fuse *f, const pod__site *s, pod_rewrite *w)
{
    const pod_node *n = &s->node;
    pod_value out[POD_MAX_OUT];
    for (int j = 0; j < n->n_in; j++) w->in[j] = w->mapped[s->in[j].id];
    for (int k = 0; k < n->n_out; k++) w->out_type[k] = *type_of(f, s->out[k]);
    POD_TRY(pod__rewrite_append(w, n, out));
    for (int k = 0; k < n->n_out; k++) w->mapped[s->out[k].id] = out[k];
    return POD_OK;
}

static pod_status close_sites(const pod__fuse *f, const pod_graph **out)
{
    pod_rewrite w;
    POD_TRY(pod__rewrite_start(f->plan->arena, f->from, &w));
    w.mapped = POD_ARENA_NEW(f->plan->arena, pod_value, f->n_values + 1); /* new ones too */
    if (!w.mapped) return POD_E_NOMEM;
    for (int32_t i = 0; i < f->n_sites; i++)
        if (f->site[i].node.op) POD_TRY(append(f, &f->site[i], &w));
    POD_TRY(pod__rewrite_end(&w));
    *out = w.to;
    return POD_OK;
}

/* ---- the pass ---- */

/* One line a pattern, then one for each reason for which it was refused, as long as the patterns
 * that are still to be tried have room for theirs. */
static pod_status count(pod_plan *plan, int first, int pattern, pod__verdict v)
{
    pod_fusion *row = &plan->fusion[first];
    if (v.fused) {
        row->n++;
        return POD_OK;
    }
    const pod_fusion *end = &plan->fusion[plan->n_fusions];
    for (row++; row < end; row++)
        if (strcmp(row->refused, v.refused) == 0) break;
    if (row == end) {
        if (plan->n_fusions >= POD_MAX_FUSIONS - N_PATTERNS) return POD_OK;
        *row = (pod_fusion){.name = patterns[pattern].name,
                            .matches = patterns[pattern].matches,
                            .becomes = patterns[pattern].becomes};
        row->refused = pod_arena_text(plan->arena, "%s", v.refused);
        if (!row->refused) return POD_E_NOMEM;
        plan->n_fusions++;
    }
    row->n++;
    return POD_OK;
}

static pod_status try_pattern(pod_plan *plan, pod__fuse *f, int pattern)
{
    const int first = plan->n_fusions;
    POD_ASSERT(first < POD_MAX_FUSIONS, "%d lines", first);
    plan->fusion[plan->n_fusions++] = (pod_fusion){.name = patterns[pattern].name,
                                                   .matches = patterns[pattern].matches,
                                                   .becomes = patterns[pattern].becomes};
    for (int32_t i = 0; i < f->n_sites; i++) {
        if (!f->site[i].node.op) continue;
        const pod__verdict v = patterns[pattern].try_at(f, &f->site[i]);
        if (f->no_memory) return POD_E_NOMEM;
        if (v.fused || v.refused) POD_TRY(count(plan, first, pattern, v));
    }
    return POD_OK;
}

pod_status pod__pass_fuse(pod_plan *plan)
{
    plan->fused = plan->built;
    if (!plan->args->fusion) return POD_OK;
    pod__fuse f = {.plan = plan, .from = plan->built};
    plan->fusion = POD_ARENA_NEW(plan->arena, pod_fusion, POD_MAX_FUSIONS);
    if (!plan->fusion) return POD_E_NOMEM;
    POD_TRY(open_sites(&f));
    for (int p = 0; p < N_PATTERNS; p++) POD_TRY(try_pattern(plan, &f, p));
    return close_sites(&f, &plan->fused);
}
