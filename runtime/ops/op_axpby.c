/* axpby: y = alpha x + beta z, or alpha x alone; float32. It does not take parts: where it meets a
 * sum or a varying value, that is in a moving average, whose other side is whole. */
#include "runtime/ops/op_common.h"

typedef struct axpby_attr {
    float alpha, beta;
} axpby_attr;

static pod_status axpby_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    POD_TRY(pod__want_dtype("x", &in[0], 1u << POD_F32));
    if (n_in == 2) POD_TRY(pod__want_alike("x", &in[0], "z", &in[1]));
    return pod__infer_elementwise(n, in, n_in, out);
}

static void axpby_grad(pod_graph *g, const pod_node *n, const pod_value d_out[], const bool need[],
                       pod_value d_in[])
{
    const axpby_attr *attr = n->attr;
    for (int i = 0; i < n->n_in; i++)
        if (need[i]) d_in[i] = pod_scale(g, i == 0 ? attr->alpha : attr->beta, d_out[0]);
}

typedef struct axpby_run_attr {
    int64_t count;
    float alpha, beta;
    int32_t n_in, set;
} axpby_run_attr;

static void axpby_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    const axpby_run_attr *a = attr;
    pod__pointwise_at(a->set)->axpby(a->count, a->alpha, in[0], a->beta, in[a->n_in - 1], out[0]);
}

static void axpby_cost(const pod_node *n, const pod_type in[], const pod_type out[], pod_cost *cost)
{
    const double ops = n->n_in == 2 ? 3 : 1;
    pod__cost_of(n, in, out, ops * (double)pod_shape_count(&out[0].shape), cost);
}

static pod_status axpby_lower(const pod_lower_args *args, pod_lowering *l)
{
    const axpby_attr *attr = args->node->attr;
    const axpby_run_attr run = {.count = pod_shape_count(&args->in_local[0]),
                                .alpha = attr->alpha,
                                .beta = attr->beta,
                                .n_in = args->node->n_in,
                                .set = pod__pointwise_pick(args->target->cpu)};
    POD_TRY(pod__lower(args, axpby_run, pod__pointwise_at(run.set)->name, &run, sizeof run, l));
    l->in_place[0] = 0;
    return POD_OK;
}

const pod_op pod__op_axpby = {.name = "axpby",
                              .sweep = POD_SWEEP_EACH,
                              .n_in = 1,
                              .n_more = 1,
                              .n_out = 1,
                              .is_cheap = true,
                              .infer = axpby_infer,
                              .grad = axpby_grad,
                              .cost = axpby_cost,
                              .lower = axpby_lower};

pod_value pod_axpby(pod_graph *g, float alpha, pod_value x, float beta, pod_value z)
{
    const axpby_attr attr = {alpha, beta};
    return pod_op_add1(g, &pod__op_axpby, &attr, sizeof attr, (const pod_value[]){x, z}, 2);
}

pod_value pod_scale(pod_graph *g, float alpha, pod_value x)
{
    const axpby_attr attr = {.alpha = alpha};
    return pod_op_add1(g, &pod__op_axpby, &attr, sizeof attr, &x, 1);
}
