/* fill: a constant scalar, float32. The seed of a gradient is one. */
#include "runtime/ops/op_common.h"

typedef struct fill_attr {
    float value;
} fill_attr;

static pod_status fill_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n, (void)in, (void)n_in;
    out[0] = pod_type_of(POD_F32, 0, NULL);
    return POD_OK;
}

static void fill_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)in, (void)scratch;
    *(float *)out[0] = ((const fill_attr *)attr)->value;
}

static pod_status fill_lower(const pod_lower_args *args, pod_lowering *l)
{
    return pod__lower(args, fill_run, "plain", args->node->attr, args->node->attr_bytes, l);
}

const pod_op pod__op_fill = {.name = "fill",
                             .sweep = POD_SWEEP_EACH,
                             .n_out = 1,
                             .infer = fill_infer,
                             .ops_each = 1,
                             .lower = fill_lower};

pod_value pod_fill(pod_graph *g, float value)
{
    const fill_attr attr = {value};
    return pod_op_add1(g, &pod__op_fill, &attr, sizeof attr, NULL, 0);
}
