/* relu: y = max(x, 0). relu_grad: y, dy -> dx = y > 0 ? dy : 0. */
#include "runtime/ops/op_common.h"

static pod_status relu_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    POD_TRY(pod__want_dtype("x", &in[0], POD__FLOATS));
    return pod__infer_elementwise(n, in, n_in, out);
}

static void relu_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    const pod__flat_attr *a = attr;
    pod__pointwise_at(a->set)->relu(a->count, (pod_dtype)a->dtype, in[0], out[0]);
}

static void relu_grad_run(const void *attr, const void *const in[], void *const out[],
                          void *scratch)
{
    (void)scratch;
    const pod__flat_attr *a = attr;
    pod__pointwise_at(a->set)->relu_grad(a->count, (pod_dtype)a->dtype, in[0], in[1], out[0]);
}

static pod_status relu_lower(const pod_lower_args *args, pod_lowering *l)
{
    const bool is_grad = args->node->op == &pod__op_relu_grad;
    const pod__flat_attr run = pod__flat_of(args, pod__pointwise_pick(args->target->cpu));
    POD_TRY(pod__lower(args, is_grad ? relu_grad_run : relu_run, pod__pointwise_at(run.set)->name,
                       &run, sizeof run, l));
    l->in_place[0] = is_grad ? 1 : 0;
    return POD_OK;
}

static void relu_grad_of(pod_graph *g, const pod_node *n, const pod_value d_out[],
                         const bool need[], pod_value d_in[])
{
    if (!need[0]) return;
    pod_value y = pod_node_out(n, 0);
    pod_value dy = pod_cast(g, d_out[0], pod_graph_type(g, y)->dtype);
    d_in[0] = pod_op_add1(g, &pod__op_relu_grad, NULL, 0, (const pod_value[]){y, dy}, 2);
}

const pod_op pod__op_relu = {.name = "relu",
                             .sweep = POD_SWEEP_EACH,
                             .by_sample = "s>s",
                             .n_in = 1,
                             .n_out = 1,
                             .is_cheap = true,
                             .infer = relu_infer,
                             .grad = relu_grad_of,
                             .ops_each = 1,
                             .lower = relu_lower};

const pod_op pod__op_relu_grad = {.name = "relu_grad",
                                  .sweep = POD_SWEEP_EACH,
                                  .by_sample = "ss>s",
                                  .n_in = 2,
                                  .n_out = 1,
                                  .infer = relu_infer,
                                  .ops_each = 1,
                                  .lower = relu_lower};

pod_value pod_relu(pod_graph *g, pod_value x)
{
    return pod_op_add1(g, &pod__op_relu, NULL, 0, &x, 1);
}
