#include "runtime/ops/op.h"

#include <string.h>

#include "runtime/ops/op_common.h"

const struct pod_op_names pod_op_named = {
#define POD_OP(name) .name = &pod__op_##name,
#include "runtime/ops/ops.def"
#undef POD_OP
};

static const pod_op *const all_ops[] = {
#define POD_OP(name) &pod__op_##name,
#include "runtime/ops/ops.def"
#undef POD_OP
};
enum { N_OPS = sizeof all_ops / sizeof all_ops[0] };

const pod_op *const *pod_ops(int *n)
{
    *n = N_OPS;
    return all_ops;
}

const pod_op *pod_op_find(const char *name)
{
    for (int i = 0; i < N_OPS; i++)
        if (strcmp(all_ops[i]->name, name) == 0) return all_ops[i];
    return NULL;
}

static pod_status infer(const pod_node *n, const pod_type in[], pod_type out[])
{
    POD_ASSERT(n->op->infer, "%s has no inference", n->op->name);
    POD_ASSERT(n->n_in >= n->op->n_in && n->n_in - n->op->n_in <= n->op->n_more,
               "%s with %d inputs", n->op->name, n->n_in);
    return n->op->infer(n, in, n->n_in, out);
}

pod_status pod_op_infer(const pod_node *n, const pod_type in[], pod_type out[])
{
    pod_status s = infer(n, in, out);
    if (s == POD_OK) return POD_OK;
    return pod_fail(s, "%s '%s': %s", n->op->name, n->label, pod_error_text());
}

pod_cost pod_op_cost(const pod_node *n, const pod_type in[], const pod_type out[])
{
    pod_cost cost = {0};
    if (n->op->kind != POD_OP_RUN) return cost;
    if (n->op->cost) {
        n->op->cost(n, in, out, &cost);
        return cost;
    }
    const int64_t made = pod_shape_count(&out[0].shape);
    const int64_t read = n->n_in > 0 ? pod_shape_count(&in[0].shape) : 0;
    pod__cost_of(n, in, out, n->op->ops_each * (double)(read > made ? read : made), &cost);
    return cost;
}

pod_cost pod_op_cost_in(const pod_graph *g, const pod_node *n)
{
    pod_type type[POD_MAX_VALUES];
    if (n->op->kind != POD_OP_RUN) return (pod_cost){0};
    POD_ASSERT(n->n_in + n->n_out <= POD_MAX_VALUES, "'%s' has %d values", n->label,
               n->n_in + n->n_out);
    for (int j = 0; j < n->n_in; j++) type[j] = *pod_graph_type(g, n->in[j]);
    for (int k = 0; k < n->n_out; k++) type[n->n_in + k] = *pod_graph_type(g, pod_node_out(n, k));
    return pod_op_cost(n, type, type + n->n_in);
}

void pod_op_add(pod_graph *g, const pod_op *op, const void *attr, size_t attr_bytes,
                const pod_value in[], int n_in, pod_value out[])
{
    enum { MAX_IN = 9 };
    POD_ASSERT(op->n_out >= 0 && op->n_out <= POD_MAX_OUT, "%s has %d outputs", op->name,
               op->n_out);
    pod_type in_type[MAX_IN], out_type[POD_MAX_OUT];
    for (int i = 0; i < op->n_out; i++) out[i] = (pod_value){0};
    const int most = op->n_more < MAX_IN - op->n_in ? op->n_in + op->n_more : MAX_IN;
    if (n_in < op->n_in || n_in > most) {
        pod_graph_fail(g, POD_E_INVALID, "%s: %d inputs, need %d to %d", op->name, n_in, op->n_in,
                       most);
        return;
    }
    for (int i = 0; i < n_in; i++) {
        if (!pod__usable(g, in[i])) return;
        in_type[i] = *pod_graph_type(g, in[i]);
    }
    const char *scope = pod_graph_scope(g);
    pod_node n = {.op = op,
                  .label = scope[0] ? scope : op->name,
                  .attr = attr,
                  .attr_bytes = attr_bytes,
                  .phase = pod_graph_phase(g),
                  .n_in = n_in,
                  .n_out = op->n_out,
                  .in = in};
    pod_status s = infer(&n, in_type, out_type);
    if (s != POD_OK) {
        pod_graph_fail(g, s, "%s: %s", op->name, pod_error_text());
        return;
    }
    int32_t at = pod_graph_append(g, op, n.label, attr, attr_bytes, in, n_in, out_type, op->n_out);
    if (at < 0) return;
    for (int i = 0; i < op->n_out; i++) out[i] = pod_node_out(pod_graph_node(g, at), i);
}

pod_value pod_op_add1(pod_graph *g, const pod_op *op, const void *attr, size_t attr_bytes,
                      const pod_value in[], int n_in)
{
    POD_ASSERT(op->n_out == 1, "%s has %d outputs", op->name, op->n_out);
    pod_value out;
    pod_op_add(g, op, attr, attr_bytes, in, n_in, &out);
    return out;
}
