/* Leaves: what the host feeds, and what the store keeps from step to step. */
#include <string.h>

#include "runtime/ops/op_common.h"

const pod_op pod__op_input = {.name = "input", .kind = POD_OP_INPUT, .n_out = 1};
const pod_op pod__op_variable = {.name = "variable", .kind = POD_OP_VARIABLE, .n_out = 1};

/* A leaf's node has its own name for a label. */
static pod_value leaf(pod_graph *g, const pod_op *op, const char *name, const void *attr,
                      size_t attr_bytes, pod_type type)
{
    for (int i = 0; i < type.shape.n_dims; i++)
        if (type.shape.dim[i] <= 0) {
            char got[POD__TYPE_TEXT];
            return pod_graph_fail(g, POD_E_SHAPE, "%s '%s' is %s, need positive dimensions",
                                  op->name, name, pod__type_print(&type, got, sizeof got));
        }
    int32_t at = pod_graph_append(g, op, name, attr, attr_bytes, NULL, 0, &type, 1);
    return at < 0 ? (pod_value){0} : pod_node_out(pod_graph_node(g, at), 0);
}

pod_value pod_input(pod_graph *g, const char *name, pod_type type, int batch_dim)
{
    for (int i = 0; i < pod_graph_n_inputs(g); i++)
        if (strcmp(pod_graph_input(g, i)->name, name) == 0)
            return pod_graph_fail(g, POD_E_INVALID, "input '%s' exists already", name);
    if (batch_dim != POD_NO_BATCH && (batch_dim != 0 || type.shape.n_dims == 0))
        return pod_graph_fail(g, POD_E_INVALID,
                              "input '%s': the batch is dimension %d of %d, need the first", name,
                              batch_dim, type.shape.n_dims);
    const int32_t attr = batch_dim;
    pod_value v = leaf(g, &pod__op_input, name, &attr, sizeof attr, type);
    if (v.id) pod_graph_add_input(g, name, v);
    return pod_graph_failed(g) ? (pod_value){0} : v;
}

static pod_value variable(pod_graph *g, const char *name, pod_shape shape, pod_init init,
                          pod_role role)
{
    const char *scope = pod_graph_scope(g);
    const char *full =
        pod_arena_text(pod_graph_arena(g), "%s%s%s", scope, scope[0] ? "/" : "", name);
    if (!full) return pod_graph_fail(g, POD_E_NOMEM, "no memory for the name '%s'", name);
    pod_value v =
        leaf(g, &pod__op_variable, full, NULL, 0, pod_type_of(POD_F32, shape.n_dims, shape.dim));
    pod_variable_info info = {.name = full, .value = v, .init = init, .role = role};
    if (v.id) pod_graph_add_variable(g, &info);
    return pod_graph_failed(g) ? (pod_value){0} : v;
}

pod_value pod_weight(pod_graph *g, const char *name, pod_shape shape, pod_init init, pod_role role)
{
    POD_ASSERT(role == POD_ROLE_WEIGHT || role == POD_ROLE_NORM || role == POD_ROLE_BIAS,
               "'%s' has role %d", name, (int)role);
    return variable(g, name, shape, init, role);
}

pod_value pod_variable(pod_graph *g, const char *name, pod_shape shape, pod_init init,
                       pod_role role)
{
    POD_ASSERT(role == POD_ROLE_MOVING || role == POD_ROLE_STATE, "'%s' has role %d", name,
               (int)role);
    return variable(g, name, shape, init, role);
}
