#include "runtime/task/network.h"

#include <inttypes.h>
#include <string.h>

#include "collectives/algo/rules.h"
#include "kernels/base/assert.h"
#include "runtime/ops/ops.h"

static pod_value input(pod_graph *g, const pod_setup *s, const pod_field *f)
{
    int64_t dim[POD_MAX_DIMS] = {s->batch};
    memcpy(dim + 1, f->dim, sizeof f->dim);
    return pod_input(g, f->name, pod_type_of(f->dtype, 1 + f->n_dims, dim), 0);
}

static pod_status add_update(pod_graph *g, const pod_setup *s, pod_value loss)
{
    /* A failed builder has nothing to derive. */
    POD_TRY(pod_graph_finish(g));
    pod_value *grad = POD_ARENA_NEW(pod_graph_arena(g), pod_value, pod_graph_n_variables(g));
    if (!grad) return POD_E_NOMEM;
    POD_TRY(pod_pass_grad(g, loss, grad));
    if (s->hparams.clip_norm > 0) POD_TRY(pod_pass_clip(g, grad, &s->hparams));
    POD_TRY(pod_pass_update(g, grad, s->optim, &s->hparams));
    return s->ema > 0 ? pod_pass_ema(g, s->ema) : POD_OK;
}

pod_status pod_network_graph(const pod_network *net, const pod_setup *s,
                             const pod_dataset_info *data, bool train, pod_arena *arena,
                             pod_graph **out)
{
    pod_graph *g;
    const pod_task *task = net->task;
    pod_setup own = *s;
    if (own.label_smoothing < 0) own.label_smoothing = task->label_smoothing;
    POD_TRY(task->check(data));
    const bool has_rows = !train && s->reads_logits && task->has_rows;
    if (!train && s->reads_logits && !task->has_rows && !task->is_searched)
        return pod_fail(POD_E_INVALID,
                        "predictions: of image models and of translations, found "
                        "--model %s",
                        net->name);
    POD_TRY(pod_graph_create(arena, &g));
    const pod_form form = task->form(s, data);
    pod_network_in in = {.data = data, .train = train};
    pod_value sum[POD_MAX_SUMS + 1] = {0};
    for (int i = 0; i < form.n_fields; i++) in.field[i] = input(g, s, &form.field[i]);
    if (train) in.draws = pod_input(g, "draws", pod_type_of(POD_I32, 1, &s->batch), 0);
    const bool of_averages = !train && s->ema > 0;
    if (of_averages) pod_scope_begin(g, "ema");
    task->build(net, &own, g, &in, sum);
    if (of_averages) pod_scope_end(g);
    for (int i = 0; i < task->n_sums; i++) pod_output(g, task->sum[i], sum[i]);
    if (has_rows) pod_output(g, "logits", sum[task->n_sums]);
    if (train) POD_TRY(add_update(g, s, sum[POD_NET_LOSS]));
    POD_TRY(pod_graph_finish(g));
    *out = g;
    return POD_OK;
}

pod_status pod_network_compile(const pod_network *net, const pod_setup *s,
                               const pod_dataset_info *data, bool train, const pod_target *target,
                               pod_arena *arena, const pod_program **out)
{
    pod_arena *for_graph;
    POD_TRY(pod_arena_create(NULL, &for_graph));
    pod_graph *g;
    pod_status status = pod_network_graph(net, s, data, train, for_graph, &g);
    if (status == POD_OK) {
        pod_compile_args args = s->compile;
        args.target = target;
        status = pod_compile(g, s->batch, &args, arena, out);
    }
    pod_arena_destroy(for_graph);
    return status;
}

/* Of the layer whose statistics come from the fewest values, of a graph of the whole batch. */
typedef struct fewest {
    const char *label;
    int64_t n_values, rows, columns;
} fewest;

static fewest find_fewest(const pod_graph *g, const pod_setup *s)
{
    fewest f = {.n_values = INT64_MAX};
    for (int32_t i = 0; i < pod_graph_n_nodes(g); i++) {
        const pod_node *n = pod_graph_node(g, i);
        if (n->op != pod_op_named.bn_sums) continue;
        const pod_shape *x = &pod_graph_type(g, n->in[0])->shape;
        const int64_t rows = x->n_dims == 4 ? x->dim[1] : 1,
                      columns = x->n_dims == 4 ? x->dim[2] : 1;
        const int64_t samples = s->batch / pod_mesh_size(&s->compile.mesh) / s->compile.accumulate *
                                pod_group_size(&s->compile.mesh, &s->compile.bn_group);
        if (samples * rows * columns < f.n_values)
            f = (fewest){n->label, samples * rows * columns, rows, columns};
    }
    return f;
}

static const char *print_fewest(const fewest *f, const pod_setup *s, pod_arena *arena)
{
    char mesh[POD_MESH_TEXT_BYTES];
    const int64_t samples = f->n_values / (f->rows * f->columns);
    return pod_arena_text(
        arena,
        "batch norm of '%s' has %" PRId64 " value%s of a channel to normalize over: %" PRId64
        " sample%s of %" PRId64 "x%" PRId64 ", by --batch %" PRId64
        ", mesh %s, --accumulate %d, --bn-group %d; a larger batch, group or --image-size, or"
        " fewer micro-steps give it more",
        f->label, f->n_values, f->n_values == 1 ? "" : "s", samples, samples == 1 ? "" : "s",
        f->rows, f->columns, s->batch, pod_mesh_print(&s->compile.mesh, mesh, sizeof mesh),
        s->compile.accumulate, pod_group_size(&s->compile.mesh, &s->compile.bn_group));
}

pod_status pod_network_check_norms(const pod_network *net, const pod_setup *s,
                                   const pod_dataset_info *data, pod_arena *arena,
                                   const char **warning)
{
    pod_arena *for_graph;
    pod_graph *g;
    const char *text = NULL;
    POD_TRY(pod_arena_create(NULL, &for_graph));
    pod_status status = pod_network_graph(net, s, data, true, for_graph, &g);
    if (status == POD_OK) {
        const fewest f = find_fewest(g, s);
        if (f.n_values < POD_FEW_NORM_VALUES) text = print_fewest(&f, s, arena);
        if (f.n_values == 1) status = pod_fail(POD_E_INVALID, "%s", text ? text : f.label);
    }
    pod_arena_destroy(for_graph);
    if (status == POD_OK) *warning = text;
    return status;
}

const char *pod_network_algo_missed(const pod_setup *s, const pod_program *p, pod_arena *arena)
{
    if (!s->has_algo) return NULL;
    pod_coll_args *args = POD_ARENA_NEW(arena, pod_coll_args, p->n_colls);
    if (!args) return NULL;
    for (int32_t i = 0; i < p->n_colls; i++) args[i] = p->coll[i].args;
    return pod_coll_rules_missed(arena, s->compile.rules, &p->mesh, args, p->n_colls);
}
