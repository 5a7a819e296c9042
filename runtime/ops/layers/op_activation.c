/* GELU and tanh, kernels/activation. All values have one type.
 *
 *   gelu       x      -> y      the attr is the pod_gelu_form, an int32_t; also of gelu_grad
 *   gelu_grad  x, dy  -> dx
 *   tanh       x      -> y
 *   tanh_grad  y, dy  -> dx     y is the result of tanh */
#include "runtime/ops/op_common.h"

static pod_status floats_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    POD_TRY(pod__want_dtype("x", &in[0], POD__FLOATS));
    return pod__infer_elementwise(n, in, n_in, out);
}

typedef struct run_attr {
    pod__flat_attr flat;
    int64_t form; /* of gelu */
} run_attr;

static pod_status lower(const pod_lower_args *args, pod_run_fn *fn, int in_place, pod_lowering *l)
{
    const int32_t *form = args->node->attr;
    const run_attr run = {pod__flat_of(args, pod__activation_pick(args->target->cpu)),
                          form ? *form : 0};
    POD_TRY(pod__lower(args, fn, pod__activation_at(run.flat.set)->name, &run, sizeof run, l));
    l->in_place[0] = (int8_t)in_place;
    return POD_OK;
}

/* ---- gelu ---------------------------------------------------------------------------------- */

static void gelu_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    const run_attr *a = attr;
    pod__activation_at(a->flat.set)
        ->gelu(a->flat.count, (pod_dtype)a->flat.dtype, (pod_gelu_form)a->form, in[0], out[0]);
}

static void gelu_grad_run(const void *attr, const void *const in[], void *const out[],
                          void *scratch)
{
    (void)scratch;
    const run_attr *a = attr;
    pod__activation_at(a->flat.set)
        ->gelu_grad(a->flat.count, (pod_dtype)a->flat.dtype, (pod_gelu_form)a->form, in[0], in[1],
                    out[0]);
}

static pod_status gelu_lower(const pod_lower_args *args, pod_lowering *l)
{
    return lower(args, gelu_run, 0, l);
}

static pod_status gelu_grad_lower(const pod_lower_args *args, pod_lowering *l)
{
    return lower(args, gelu_grad_run, 1, l);
}

static void gelu_grad_of(pod_graph *g, const pod_node *n, const pod_value d_out[],
                         const bool need[], pod_value d_in[])
{
    if (!need[0]) return;
    const pod_value x = n->in[0], dy = pod_cast(g, d_out[0], pod_graph_type(g, x)->dtype);
    d_in[0] =
        pod_op_add1(g, &pod__op_gelu_grad, n->attr, n->attr_bytes, (const pod_value[]){x, dy}, 2);
}

const pod_op pod__op_gelu = {.name = "gelu",
                             .sweep = POD_SWEEP_EACH,
                             .by_sample = "s>s",
                             .n_in = 1,
                             .n_out = 1,
                             .is_cheap = true,
                             .infer = floats_infer,
                             .grad = gelu_grad_of,
                             .ops_each = 15,
                             .lower = gelu_lower};

const pod_op pod__op_gelu_grad = {.name = "gelu_grad",
                                  .sweep = POD_SWEEP_EACH,
                                  .by_sample = "ss>s",
                                  .n_in = 2,
                                  .n_out = 1,
                                  .infer = floats_infer,
                                  .ops_each = 20,
                                  .lower = gelu_grad_lower};

pod_value pod_gelu(pod_graph *g, pod_value x, pod_gelu_form form)
{
    const int32_t attr = (int32_t)form;
    if (attr < 0 || attr >= POD_N_GELU_FORMS)
        return pod_graph_fail(g, POD_E_INVALID, "gelu: form %d, need POD_GELU_TANH or POD_GELU_ERF",
                              attr);
    return pod_op_add1(g, &pod__op_gelu, &attr, sizeof attr, &x, 1);
}

/* ---- tanh ---------------------------------------------------------------------------------- */

static void tanh_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    const pod__flat_attr *a = attr;
    pod__activation_at(a->set)->tanh(a->count, (pod_dtype)a->dtype, in[0], out[0]);
}

static void tanh_grad_run(const void *attr, const void *const in[], void *const out[],
                          void *scratch)
{
    (void)scratch;
    const pod__flat_attr *a = attr;
    pod__activation_at(a->set)->tanh_grad(a->count, (pod_dtype)a->dtype, in[0], in[1], out[0]);
}

static pod_status tanh_lower(const pod_lower_args *args, pod_lowering *l)
{
    return lower(args, tanh_run, 0, l);
}

static pod_status tanh_grad_lower(const pod_lower_args *args, pod_lowering *l)
{
    return lower(args, tanh_grad_run, 1, l);
}

static void tanh_grad_of(pod_graph *g, const pod_node *n, const pod_value d_out[],
                         const bool need[], pod_value d_in[])
{
    if (!need[0]) return;
    const pod_value y = pod_node_out(n, 0);
    const pod_value dy = pod_cast(g, d_out[0], pod_graph_type(g, y)->dtype);
    d_in[0] = pod_op_add1(g, &pod__op_tanh_grad, NULL, 0, (const pod_value[]){y, dy}, 2);
}

const pod_op pod__op_tanh = {.name = "tanh",
                             .sweep = POD_SWEEP_EACH,
                             .by_sample = "s>s",
                             .n_in = 1,
                             .n_out = 1,
                             .is_cheap = true,
                             .infer = floats_infer,
                             .grad = tanh_grad_of,
                             .ops_each = 15,
                             .lower = tanh_lower};

const pod_op pod__op_tanh_grad = {.name = "tanh_grad",
                                  .sweep = POD_SWEEP_EACH,
                                  .by_sample = "ss>s",
                                  .n_in = 2,
                                  .n_out = 1,
                                  .infer = floats_infer,
                                  .ops_each = 4,
                                  .lower = tanh_grad_lower};

pod_value pod_tanh(pod_graph *g, pod_value x)
{
    return pod_op_add1(g, &pod__op_tanh, NULL, 0, &x, 1);
}
