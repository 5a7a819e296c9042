/* lower: each node that runs gets its kernel, its attributes and its scratch, for one core's share
 * and the target at hand. */
#include <string.h>

#include "runtime/passes/plan.h"

static pod_status lower_node(pod_plan *plan, int32_t index, pod_type *type, pod_shape *local)
{
    const pod_node *n = pod_graph_node(plan->graph, index);
    for (int i = 0; i < n->n_in + n->n_out; i++) {
        pod_value v = i < n->n_in ? n->in[i] : pod_node_out(n, i - n->n_in);
        type[i] = *pod_graph_type(plan->graph, v);
        local[i] = pod_type_local(&type[i], &plan->spread);
    }
    pod_lower_args args = {
        .node = n,
        .in = type,
        .out = type + n->n_in,
        .in_local = local,
        .out_local = local + n->n_in,
        .mesh = &plan->spread,
        .target = plan->args->target,
        .arena = plan->arena,
    };
    pod_lowering *l = &plan->lowering[index];
    *l = (pod_lowering){.impl = ""};
    memset(l->in_place, -1, sizeof l->in_place);
    return n->op->lower(&args, l);
}

pod_status pod__pass_lower(pod_plan *plan)
{
    const int32_t n_nodes = pod_graph_n_nodes(plan->graph);
    int most = 1;
    for (int32_t i = 0; i < n_nodes; i++) {
        const pod_node *n = pod_graph_node(plan->graph, i);
        if (n->n_in + n->n_out > most) most = n->n_in + n->n_out;
    }
    pod_type *type = POD_ARENA_NEW(plan->arena, pod_type, most);
    pod_shape *local = POD_ARENA_NEW(plan->arena, pod_shape, most);
    plan->lowering = POD_ARENA_NEW(plan->arena, pod_lowering, n_nodes);
    if (!type || !local || !plan->lowering) return POD_E_NOMEM;
    for (int32_t i = 0; i < n_nodes; i++)
        if (pod_graph_node(plan->graph, i)->op->kind == POD_OP_RUN)
            POD_TRY(lower_node(plan, i, type, local));
    return POD_OK;
}
