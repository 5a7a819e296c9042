/* accumulate: a step in micro-steps, which are one more dimension of the mesh (plan.h), in time.
 *
 * partition has split the batch over the cores and over their micro-steps. A sum over both is here
 * accumulated over the micro-steps, float32, as soon as each has computed its summand, and only the
 * total is all-reduced. On one core nothing is left to reduce.
 *
 *     part --allreduce--> whole    becomes    zeros, part --accumulate--> --allreduce--> whole */
#include "runtime/ops/op.h"
#include "runtime/passes/plan.h"
#include "runtime/passes/rewrite.h"

typedef struct accumulate {
    const pod_plan *plan;
    pod_rewrite w;
    bool *is_reduced;  /* by value of the old graph: over micro-steps */
    pod_value *gained; /* by value of the old graph: added up over the micro-steps */
} accumulate;

static void find_reduced(accumulate *a)
{
    for (int32_t i = 0; i < pod_graph_n_nodes(a->w.from); i++) {
        const pod_node *n = pod_graph_node(a->w.from, i);
        if (n->op->kind != POD_OP_COLLECTIVE) continue;
        for (int j = 0; j < n->n_in; j++)
            a->is_reduced[n->in[j].id] |=
                (pod__mask_of_collective(a->w.from, n, j) & a->plan->in_time) != 0;
    }
}

static pod_status add_up(accumulate *a, const char *label, pod_value v)
{
    const int32_t in_time = a->plan->in_time;
    pod_type sum = *pod_graph_type(a->w.from, v);
    sum.sum = (uint8_t)(sum.sum & ~in_time);
    sum.vary = (uint8_t)(sum.vary & ~in_time);
    const int32_t zeros =
        pod_graph_append(a->w.to, pod_op_named.zeros, label, &sum, sizeof sum, NULL, 0, &sum, 1);
    if (zeros < 0) return pod_graph_finish(a->w.to);
    const pod_node n = {
        .op = pod_op_named.accumulate,
        .label = label,
        .attr = &in_time,
        .in = (pod_value[]){pod_node_out(pod_graph_node(a->w.to, zeros), 0), a->w.mapped[v.id]},
        .n_in = 2,
        .n_out = 1};
    POD_TRY(pod_op_infer(&n, (pod_type[]){sum, *pod_graph_type(a->w.from, v)}, &sum));
    const int32_t made =
        pod_graph_append(a->w.to, n.op, label, &in_time, sizeof in_time, n.in, 2, &sum, 1);
    if (made >= 0) a->gained[v.id] = pod_node_out(pod_graph_node(a->w.to, made), 0);
    return pod_graph_finish(a->w.to);
}

static pod_status add_node(accumulate *a, int32_t index)
{
    const pod_node *n = pod_graph_node(a->w.from, index);
    POD_TRY(pod__rewrite_node(&a->w, index));
    for (int k = 0; k < n->n_out; k++) {
        const pod_value v = pod_node_out(n, k);
        if (a->is_reduced[v.id]) POD_TRY(add_up(a, n->label, v));
    }
    return POD_OK;
}

/* partition makes all-reduces of one value each. */
static pod_status add_collective(accumulate *a, int32_t index)
{
    const pod_node *n = pod_graph_node(a->w.from, index);
    const pod_value part = n->in[0], gained = a->gained[part.id];
    if (!gained.id) return pod__rewrite_node(&a->w, index);
    const unsigned left = pod__mask_of_collective(a->w.from, n, 0) & ~(unsigned)a->plan->in_time;
    const pod_value kept = a->w.mapped[part.id];
    a->w.mapped[part.id] = gained;
    if (left)
        POD_TRY(pod__rewrite_node(&a->w, index));
    else
        a->w.mapped[n->first_out] = gained;
    a->w.mapped[part.id] = kept;
    return POD_OK;
}

pod_status pod__pass_accumulate(pod_plan *plan)
{
    if (!plan->in_time) return POD_OK;
    accumulate a = {.plan = plan};
    const int32_t n_values = pod_graph_n_values(plan->graph);
    POD_TRY(pod__rewrite_start(plan->arena, plan->graph, &a.w));
    a.is_reduced = POD_ARENA_NEW(plan->arena, bool, n_values + 1);
    a.gained = POD_ARENA_NEW(plan->arena, pod_value, n_values + 1);
    if (!a.is_reduced || !a.gained) return POD_E_NOMEM;
    find_reduced(&a);
    for (int32_t i = 0; i < pod_graph_n_nodes(a.w.from); i++)
        POD_TRY(pod_graph_node(a.w.from, i)->op->kind == POD_OP_COLLECTIVE ? add_collective(&a, i)
                                                                           : add_node(&a, i));
    POD_TRY(pod__rewrite_end(&a.w));
    plan->graph = a.w.to;
    return POD_OK;
}
