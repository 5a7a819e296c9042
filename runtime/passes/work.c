/* Describes the work of an instruction, op by op, with the values that a core has at a time
 * (pod_work). Its time depends on this alone; the nodes do not outlive the passes. */
#include "runtime/ops/tiled.h"
#include "runtime/passes/plan.h"

typedef struct values { /* of one op: inputs, then outputs */
    pod_type type[POD_MAX_VALUES];
    char kind[POD_MAX_VALUES]; /* of pod_op.by_sample */
    int n_in, n;
} values;

/* Returns its type on one core, within one of the tiles. */
static pod_type local_type(const pod_plan *plan, const pod_type *t, int64_t n_tiles)
{
    pod_type local = {.dtype = t->dtype, .shape = pod_type_local(t, &plan->spread)};
    if (t->shard.per_core > 0) {
        const int64_t n_cores = pod_mask_size(&plan->spread, t->shard.over);
        local.shape = (pod_shape){1, {(pod_shape_count(&t->shape) + n_cores - 1) / n_cores}};
    }
    if (n_tiles > 1) local.shape.dim[0] /= n_tiles;
    return local;
}

static double bytes_of(const pod_type *t)
{
    return (double)pod_shape_count(&t->shape) * (double)pod_dtype_bytes(t->dtype);
}

/* A packed weight is bytes of no shape. */
static bool is_packed(const pod_type *t) { return t->dtype == POD_U8 && t->shape.n_dims == 1; }

static void find_shapes(const values *v, pod_work *w)
{
    int largest = -1;
    for (int i = 1; i < v->n; i++)
        if (!is_packed(&v->type[i]) &&
            (largest < 0 || bytes_of(&v->type[i]) >= bytes_of(&v->type[largest])))
            largest = i;
    if (v->n > 0) w->dtype = v->type[0].dtype;
    if (v->n > 0) w->from = v->type[0].shape;
    w->to = largest < 0 ? w->from : v->type[largest].shape;
}

static void describe(const pod_node *n, const char *impl, const values *v, pod_work *w)
{
    *w = (pod_work){.op = n->op->name, .impl = impl};
    w->cost = pod_op_cost(n, v->type, v->type + v->n_in);
    find_shapes(v, w);
    if (n->op->by_element) w->from = w->to = (pod_shape){0};
    for (int i = v->n_in; i < v->n; i++)
        if (v->kind[i] == '+') w->sum_bytes += bytes_of(&v->type[i]);
}

static pod_status describe_tiled(const pod_plan *plan, const pod_tiled *tiled,
                                 const char *const impl[], pod_instr *instr)
{
    pod_work *work = POD_ARENA_NEW(plan->arena, pod_work, tiled->n_steps);
    values *v = POD_ARENA_NEW(plan->arena, values, 1);
    if (!work || !v) return POD_E_NOMEM;
    for (int s = 0; s < tiled->n_steps; s++) {
        const pod_tiled_step *step = &tiled->step[s];
        v->n_in = step->node.n_in;
        v->n = step->node.n_in + step->node.n_out;
        for (int i = 0; i < v->n; i++) {
            const pod_tiled_value *value = &tiled->value[step->value[i]];
            v->kind[i] = value->kind;
            v->type[i] = local_type(plan, &value->type, value->kind == 's' ? tiled->n_tiles : 1);
        }
        describe(&step->node, impl[s], v, &work[s]);
    }
    instr->work = work;
    instr->n_works = tiled->n_steps;
    instr->n_tiles = (int32_t)tiled->n_tiles;
    return POD_OK;
}

pod_status pod__describe_work(const pod_plan *plan, const pod_node *n, const pod_lowering *l,
                              pod_instr *instr)
{
    if (n->op == pod_op_named.tiled)
        return describe_tiled(plan, ((const pod_tiled_attr *)n->attr)->tiled, l->step_impl, instr);
    pod_work *work = POD_ARENA_NEW(plan->arena, pod_work, 1);
    values *v = POD_ARENA_NEW(plan->arena, values, 1);
    if (!work || !v) return POD_E_NOMEM;
    v->n_in = n->n_in;
    v->n = n->n_in + n->n_out;
    for (int i = 0; i < v->n; i++) {
        const pod_value value = i < n->n_in ? n->in[i] : pod_node_out(n, i - n->n_in);
        v->type[i] = local_type(plan, pod_graph_type(plan->graph, value), 1);
    }
    describe(n, l->impl, v, work);
    instr->work = work;
    instr->n_works = instr->n_tiles = 1;
    return POD_OK;
}
