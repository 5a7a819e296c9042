#include "runtime/passes/rewrite.h"

#include "runtime/ops/op.h"

pod_status pod__rewrite_start(pod_arena *a, const pod_graph *from, pod_rewrite *out)
{
    pod_rewrite w = {.from = from};
    int most = POD_MAX_VALUES;
    for (int32_t i = 0; i < pod_graph_n_nodes(from); i++) {
        const pod_node *n = pod_graph_node(from, i);
        if (n->n_in > most) most = n->n_in;
        if (n->n_out > most) most = n->n_out;
    }
    w.mapped = POD_ARENA_NEW(a, pod_value, pod_graph_n_values(from) + 1);
    w.assigned = POD_ARENA_NEW(a, pod_value, pod_graph_n_values(from) + 1);
    w.in = POD_ARENA_NEW(a, pod_value, most);
    w.in_type = POD_ARENA_NEW(a, pod_type, most);
    w.out_type = POD_ARENA_NEW(a, pod_type, most);
    if (!w.mapped || !w.assigned || !w.in || !w.in_type || !w.out_type) return POD_E_NOMEM;
    POD_TRY(pod_graph_create(a, &w.to));
    *out = w;
    return POD_OK;
}

pod_status pod__rewrite_append(pod_rewrite *w, const pod_node *n, pod_value out[])
{
    pod_graph_set_phase(w->to, n->phase);
    const int32_t at = pod_graph_append(w->to, n->op, n->label, n->attr, n->attr_bytes, w->in,
                                        n->n_in, w->out_type, n->n_out);
    for (int k = 0; at >= 0 && k < n->n_out; k++)
        out[k] = pod_node_out(pod_graph_node(w->to, at), k);
    return pod_graph_finish(w->to);
}

pod_status pod__rewrite_infer(pod_rewrite *w, const pod_node *n, pod_value out[])
{
    for (int j = 0; j < n->n_in; j++) w->in_type[j] = *pod_graph_type(w->to, w->in[j]);
    POD_TRY(pod_op_infer(n, w->in_type, w->out_type));
    return pod__rewrite_append(w, n, out);
}

pod_status pod__rewrite_node_in(pod_rewrite *w, int32_t index, pod_phase phase)
{
    pod_node n = *pod_graph_node(w->from, index);
    n.phase = phase;
    for (int j = 0; j < n.n_in; j++) w->in[j] = w->mapped[n.in[j].id];
    for (int k = 0; k < n.n_out; k++)
        w->out_type[k] = *pod_graph_type(w->from, pod_node_out(&n, k));
    return pod__rewrite_append(w, &n, &w->mapped[n.first_out]);
}

pod_status pod__rewrite_node(pod_rewrite *w, int32_t index)
{
    return pod__rewrite_node_in(w, index, pod_graph_node(w->from, index)->phase);
}

pod_status pod__rewrite_end(pod_rewrite *w)
{
    for (int i = 0; i < pod_graph_n_inputs(w->from); i++) {
        const pod_named *input = pod_graph_input(w->from, i);
        const pod_value v = w->mapped[input->value.id];
        if (v.id) pod_graph_add_input(w->to, input->name, v);
    }
    for (int i = 0; i < pod_graph_n_variables(w->from); i++) {
        pod_variable_info v = *pod_graph_variable(w->from, i);
        const int32_t becomes = v.assigned.id;
        v.value = w->mapped[v.value.id];
        v.assigned = (pod_value){0};
        if (!v.value.id) continue;
        pod_graph_add_variable(w->to, &v);
        if (becomes)
            pod_assign(w->to, v.value,
                       w->assigned[becomes].id ? w->assigned[becomes] : w->mapped[becomes]);
    }
    for (int i = 0; i < pod_graph_n_outputs(w->from); i++) {
        const pod_named *output = pod_graph_output(w->from, i);
        pod_output(w->to, output->name, w->mapped[output->value.id]);
    }
    return pod_graph_finish(w->to);
}
