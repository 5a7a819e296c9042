/* Appends the derivative of a loss: visits nodes from the last to the first, and each op adds its
 * own gradient. Gradients that reach a value from several users are summed as they come. Only nodes
 * between a trained variable and the loss are visited. */
#include <string.h>

#include "kernels/base/assert.h"
#include "runtime/ops/op.h"
#include "runtime/ops/ops.h"
#include "runtime/passes/passes.h"

typedef struct grad_work {
    pod_graph *graph;
    int32_t n_nodes, n_values; /* of the graph before the pass */
    bool *need;                /* by value: a trained variable leads here */
    pod_value *d;              /* by value: its gradient so far */
    bool *need_in;             /* of the node at hand */
    pod_value *d_in;
} grad_work;

static bool is_trained(pod_role role)
{
    return role == POD_ROLE_WEIGHT || role == POD_ROLE_NORM || role == POD_ROLE_BIAS;
}

static pod_status open_work(pod_graph *g, grad_work *w)
{
    *w =
        (grad_work){.graph = g, .n_nodes = pod_graph_n_nodes(g), .n_values = pod_graph_n_values(g)};
    int max_in = 1;
    for (int32_t i = 0; i < w->n_nodes; i++)
        if (pod_graph_node(g, i)->n_in > max_in) max_in = pod_graph_node(g, i)->n_in;
    pod_arena *a = pod_graph_arena(g);
    w->need = POD_ARENA_NEW(a, bool, w->n_values + 1);
    w->d = POD_ARENA_NEW(a, pod_value, w->n_values + 1);
    w->need_in = POD_ARENA_NEW(a, bool, max_in);
    w->d_in = POD_ARENA_NEW(a, pod_value, max_in);
    return w->need && w->d && w->need_in && w->d_in ? POD_OK : POD_E_NOMEM;
}

static void find_need(grad_work *w)
{
    for (int i = 0; i < pod_graph_n_variables(w->graph); i++) {
        const pod_variable_info *v = pod_graph_variable(w->graph, i);
        w->need[v->value.id] = is_trained(v->role);
    }
    for (int32_t i = 0; i < w->n_nodes; i++) {
        const pod_node *n = pod_graph_node(w->graph, i);
        bool any = false;
        for (int j = 0; j < n->n_in; j++) any = any || w->need[n->in[j].id];
        for (int k = 0; any && k < n->n_out; k++) w->need[pod_node_out(n, k).id] = true;
    }
}

/* Adds d to the gradient of v; in float32 where the types of the two differ. */
static void gather(grad_work *w, pod_value v, pod_value d)
{
    pod_value *sum = &w->d[v.id];
    if (!d.id) return;
    if (!sum->id) {
        *sum = d;
        return;
    }
    if (pod_graph_type(w->graph, *sum)->dtype != pod_graph_type(w->graph, d)->dtype) {
        *sum = pod_cast(w->graph, *sum, POD_F32);
        d = pod_cast(w->graph, d, POD_F32);
    }
    *sum = pod_add(w->graph, *sum, d);
}

/* Appends the gradient of one node, where one comes in and is wanted. */
static pod_status node_grad(grad_work *w, int32_t index)
{
    const pod_node n = *pod_graph_node(w->graph, index); /* the graph's own may move */
    bool comes_in = false, wanted = false;
    for (int k = 0; k < n.n_out; k++) comes_in = comes_in || w->d[n.first_out + k].id;
    for (int j = 0; j < n.n_in; j++) {
        w->need_in[j] = w->need[n.in[j].id];
        w->d_in[j] = (pod_value){0};
        wanted = wanted || w->need_in[j];
    }
    if (!comes_in || !wanted) return POD_OK;
    if (!n.op->grad)
        return pod_fail(POD_E_UNSUPPORTED, "%s '%s' has no gradient", n.op->name, n.label);
    pod_scope_begin(w->graph, "%s", n.label);
    n.op->grad(w->graph, &n, &w->d[n.first_out], w->need_in, w->d_in);
    for (int j = 0; j < n.n_in && !pod_graph_failed(w->graph); j++) gather(w, n.in[j], w->d_in[j]);
    pod_scope_end(w->graph);
    return POD_OK;
}

pod_status pod_pass_grad(pod_graph *g, pod_value loss, pod_value grad[])
{
    POD_TRY(pod_graph_finish(g));
    const pod_type *t = pod_graph_type(g, loss);
    if (t->dtype != POD_F32 || t->shape.n_dims != 0) {
        char got[96];
        return pod_fail(POD_E_SHAPE, "the loss is %s %s, need a float32 scalar",
                        pod_dtype_name(t->dtype), pod_shape_print(&t->shape, got, sizeof got));
    }
    grad_work w;
    POD_TRY(open_work(g, &w));
    find_need(&w);
    const pod_phase phase = pod_graph_phase(g);
    pod_graph_set_phase(g, POD_PHASE_BACKWARD);
    if (w.need[loss.id]) w.d[loss.id] = pod_fill(g, 1.0f);
    for (int32_t i = w.n_nodes - 1; i >= 0 && !pod_graph_failed(g); i--) POD_TRY(node_grad(&w, i));
    pod_graph_set_phase(g, phase);
    POD_TRY(pod_graph_finish(g));
    for (int i = 0; i < pod_graph_n_variables(g); i++)
        grad[i] = w.d[pod_graph_variable(g, i)->value.id];
    return POD_OK;
}
