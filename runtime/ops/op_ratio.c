/* ratio: a, b -> a / (b + eps), float32 scalars: the mean over the weights of a whole batch, of a sum
 * of weighted losses and the sum of the weights. b is taken as a constant: it has no gradient. Both
 * are reduced over the cores before. */
#include "runtime/ops/op_common.h"

typedef struct ratio_attr {
    float eps;
} ratio_attr;

static pod_status ratio_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n, (void)n_in;
    POD_TRY(pod__want_scalar("a", &in[0]));
    POD_TRY(pod__want_scalar("b", &in[1]));
    out[0] = in[0];
    return POD_OK;
}

static void ratio_grad(pod_graph *g, const pod_node *n, const pod_value d_out[], const bool need[],
                       pod_value d_in[])
{
    if (need[0])
        d_in[0] = pod_op_add1(g, &pod__op_ratio, n->attr, n->attr_bytes,
                              (const pod_value[]){d_out[0], n->in[1]}, 2);
}

static void ratio_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    const float eps = ((const ratio_attr *)attr)->eps;
    *(float *)out[0] = *(const float *)in[0] / (*(const float *)in[1] + eps);
}

static pod_status ratio_lower(const pod_lower_args *args, pod_lowering *l)
{
    return pod__lower(args, ratio_run, "plain", args->node->attr, args->node->attr_bytes, l);
}

const pod_op pod__op_ratio = {.name = "ratio",
                              .n_in = 2,
                              .n_out = 1,
                              .infer = ratio_infer,
                              .grad = ratio_grad,
                              .ops_each = 2,
                              .lower = ratio_lower};

pod_value pod_ratio(pod_graph *g, pod_value a, pod_value b, float eps)
{
    const ratio_attr attr = {eps};
    return pod_op_add1(g, &pod__op_ratio, &attr, sizeof attr, (const pod_value[]){a, b}, 2);
}
