/* bias_add: y[row,c] = x[row,c] + bias[c]. col_sum, its gradient by the bias: sum[c] over rows, a
 * sum over the cores that hold rows. */
#include "runtime/ops/op_common.h"

static pod_status bias_add_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n, (void)n_in;
    POD_TRY(pod__want_dtype("x", &in[0], POD__FLOATS));
    POD_TRY(pod__want_channels("the bias", &in[1], &in[0]));
    POD_TRY(pod__want_no_parts("the bias", &in[1]));
    out[0] = in[0];
    return POD_OK;
}

static void bias_add_grad(pod_graph *g, const pod_node *n, const pod_value d_out[],
                          const bool need[], pod_value d_in[])
{
    (void)n;
    if (need[0]) d_in[0] = d_out[0];
    if (need[1]) d_in[1] = pod_op_add1(g, &pod__op_col_sum, NULL, 0, d_out, 1);
}

static void bias_add_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    const pod__rows_attr *a = attr;
    pod__pointwise_at(a->set)->bias_add(a->rows, a->c, (pod_dtype)a->dtype, in[0], in[1], out[0]);
}

static pod_status bias_add_lower(const pod_lower_args *args, pod_lowering *l)
{
    const pod__rows_attr run = pod__rows_of(args, pod__pointwise_pick(args->target->cpu));
    POD_TRY(pod__lower(args, bias_add_run, pod__pointwise_at(run.set)->name, &run, sizeof run, l));
    l->in_place[0] = 0;
    return POD_OK;
}

static pod_status col_sum_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n, (void)n_in;
    POD_TRY(pod__want_dtype("x", &in[0], POD__FLOATS));
    if (in[0].shape.n_dims == 0) return pod__want_dims("x", &in[0], 2);
    out[0] = pod__channels_of(&in[0]);
    out[0].sum = pod__rows_split(&in[0]);
    return POD_OK;
}

static void col_sum_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    const pod__rows_attr *a = attr;
    pod__reduce_at(a->set)->col_sum(a->rows, a->c, (pod_dtype)a->dtype, in[0], out[0]);
}

static pod_status col_sum_lower(const pod_lower_args *args, pod_lowering *l)
{
    const pod__rows_attr run = pod__rows_of(args, pod__reduce_pick(args->target->cpu));
    return pod__lower(args, col_sum_run, pod__reduce_at(run.set)->name, &run, sizeof run, l);
}

const pod_op pod__op_bias_add = {.name = "bias_add",
                                 .sweep = POD_SWEEP_EACH,
                                 .n_in = 2,
                                 .n_out = 1,
                                 .is_cheap = true,
                                 .infer = bias_add_infer,
                                 .grad = bias_add_grad,
                                 .ops_each = 1,
                                 .lower = bias_add_lower};

const pod_op pod__op_col_sum = {.name = "col_sum",
                                .sweep = POD_SWEEP_SUMS,
                                .n_in = 1,
                                .n_out = 1,
                                .infer = col_sum_infer,
                                .ops_each = 1,
                                .lower = col_sum_lower};

pod_value pod_bias_add(pod_graph *g, pod_value x, pod_value bias)
{
    return pod_op_add1(g, &pod__op_bias_add, NULL, 0, (const pod_value[]){x, bias}, 2);
}
