/* Sigmoid, swish and gates, kernels/gate.
 *
 *   sigmoid       x           -> y      float32
 *   sigmoid_grad  x, y, dy    -> dx     of x's type; x tells only that
 *   swish         x           -> y
 *   swish_grad    x, dy       -> dx
 *   gate          x, s        -> y      x (N, ..., C) by s (N, C), float32
 *   gate_sums     x, dy       -> ds     (N, C) float32: sums of products over an image's pixels
 *
 * and, made by passes, the gradient of an x (N, ..., C) that was gated, and averaged over its
 * pixels:
 *
 *   gate_mean_grad  dy, s, dm -> dx     dm (N, C), of dy's type */
#include "runtime/ops/op_common.h"

static pod_status floats_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    POD_TRY(pod__want_dtype("x", &in[0], POD__FLOATS));
    return pod__infer_elementwise(n, in, n_in, out);
}

static pod_status lower_flat(const pod_lower_args *args, pod_run_fn *run, int in_place,
                             pod_lowering *l)
{
    const pod__flat_attr attr = pod__flat_of(args, pod__gate_pick(args->target->cpu));
    POD_TRY(pod__lower(args, run, pod__gate_at(attr.set)->name, &attr, sizeof attr, l));
    l->in_place[0] = (int8_t)in_place;
    return POD_OK;
}

/* ---- sigmoid ------------------------------------------------------------------------------- */

static pod_status sigmoid_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    POD_TRY(floats_infer(n, in, n_in, out));
    out[0].dtype = POD_F32;
    return POD_OK;
}

static void sigmoid_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    const pod__flat_attr *a = attr;
    pod__gate_at(a->set)->sigmoid(a->count, (pod_dtype)a->dtype, in[0], out[0]);
}

static pod_status sigmoid_lower(const pod_lower_args *args, pod_lowering *l)
{
    return lower_flat(args, sigmoid_run, args->in[0].dtype == POD_F32 ? 0 : -1, l);
}

static void sigmoid_grad_of(pod_graph *g, const pod_node *n, const pod_value d_out[],
                            const bool need[], pod_value d_in[])
{
    const pod_value in[] = {n->in[0], pod_node_out(n, 0), d_out[0]};
    if (need[0]) d_in[0] = pod_op_add1(g, &pod__op_sigmoid_grad, NULL, 0, in, 3);
}

const pod_op pod__op_sigmoid = {.name = "sigmoid",
                                .sweep = POD_SWEEP_EACH,
                                .by_sample = "s>s",
                                .n_in = 1,
                                .n_out = 1,
                                .is_cheap = true,
                                .infer = sigmoid_infer,
                                .grad = sigmoid_grad_of,
                                .ops_each = 10,
                                .lower = sigmoid_lower};

static pod_status sigmoid_grad_infer(const pod_node *n, const pod_type in[], int n_in,
                                     pod_type out[])
{
    (void)n, (void)n_in;
    POD_TRY(pod__want_dtype("x", &in[0], POD__FLOATS));
    POD_TRY(pod__want_dtype("y", &in[1], 1u << POD_F32));
    POD_TRY(pod__want_alike("y", &in[1], "dy", &in[2]));
    pod_type x = in[0];
    x.dtype = POD_F32;
    POD_TRY(pod__want_alike("x", &x, "y", &in[1]));
    out[0] = in[0];
    return POD_OK;
}

static void sigmoid_grad_run(const void *attr, const void *const in[], void *const out[],
                             void *scratch)
{
    (void)scratch;
    const pod__flat_attr *a = attr;
    pod__gate_at(a->set)->sigmoid_grad(a->count, (pod_dtype)a->dtype, in[1], in[2], out[0]);
}

static pod_status sigmoid_grad_lower(const pod_lower_args *args, pod_lowering *l)
{
    return lower_flat(args, sigmoid_grad_run, args->in[0].dtype == POD_F32 ? 2 : -1, l);
}

const pod_op pod__op_sigmoid_grad = {.name = "sigmoid_grad",
                                     .sweep = POD_SWEEP_EACH,
                                     .by_sample = "sss>s",
                                     .n_in = 3,
                                     .n_out = 1,
                                     .infer = sigmoid_grad_infer,
                                     .ops_each = 1,
                                     .lower = sigmoid_grad_lower};

pod_value pod_sigmoid(pod_graph *g, pod_value x)
{
    return pod_op_add1(g, &pod__op_sigmoid, NULL, 0, &x, 1);
}

/* ---- swish --------------------------------------------------------------------------------- */

static void swish_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    const pod__flat_attr *a = attr;
    pod__gate_at(a->set)->swish(a->count, (pod_dtype)a->dtype, in[0], out[0]);
}

static pod_status swish_lower(const pod_lower_args *args, pod_lowering *l)
{
    return lower_flat(args, swish_run, 0, l);
}

static void swish_grad_of(pod_graph *g, const pod_node *n, const pod_value d_out[],
                          const bool need[], pod_value d_in[])
{
    if (!need[0]) return;
    const pod_value dy = pod_cast(g, d_out[0], pod_graph_type(g, n->in[0])->dtype);
    d_in[0] = pod_op_add1(g, &pod__op_swish_grad, NULL, 0, (const pod_value[]){n->in[0], dy}, 2);
}

const pod_op pod__op_swish = {.name = "swish",
                              .sweep = POD_SWEEP_EACH,
                              .by_sample = "s>s",
                              .n_in = 1,
                              .n_out = 1,
                              .is_cheap = true,
                              .infer = floats_infer,
                              .grad = swish_grad_of,
                              .ops_each = 10,
                              .lower = swish_lower};

static void swish_grad_run(const void *attr, const void *const in[], void *const out[],
                           void *scratch)
{
    (void)scratch;
    const pod__flat_attr *a = attr;
    pod__gate_at(a->set)->swish_grad(a->count, (pod_dtype)a->dtype, in[0], in[1], out[0]);
}

static pod_status swish_grad_lower(const pod_lower_args *args, pod_lowering *l)
{
    return lower_flat(args, swish_grad_run, 1, l);
}

const pod_op pod__op_swish_grad = {.name = "swish_grad",
                                   .sweep = POD_SWEEP_EACH,
                                   .by_sample = "ss>s",
                                   .n_in = 2,
                                   .n_out = 1,
                                   .infer = floats_infer,
                                   .ops_each = 10,
                                   .lower = swish_grad_lower};

pod_value pod_swish(pod_graph *g, pod_value x)
{
    return pod_op_add1(g, &pod__op_swish, NULL, 0, &x, 1);
}

/* ---- gates --------------------------------------------------------------------------------- */

/* float32 (N, C) for x (N, ..., C), spread like it. */
static pod_type gate_of(const pod_type *x)
{
    const int last = x->shape.n_dims - 1;
    pod_type t = *x;
    t.dtype = POD_F32;
    t.shape = (pod_shape){.n_dims = 2, .dim = {x->shape.dim[0], x->shape.dim[last]}};
    for (int d = 1; d < POD_MAX_DIMS; d++) t.split[d] = 0;
    t.split[1] = x->split[last];
    return t;
}

static pod_status want_images(const pod_type *x)
{
    POD_TRY(pod__want_dtype("x", x, POD__FLOATS));
    if (x->shape.n_dims < 2) return pod__want_dims("x", x, 4);
    POD_TRY(pod__want_only_rows_split("x", x));
    return pod__want_no_parts("x", x);
}

typedef struct gate_attr {
    int64_t n, rows, c;
    int32_t dtype, set;
} gate_attr;

static pod_status gate_lower_as(const pod_lower_args *args, pod_run_fn *run, pod_lowering *l)
{
    const pod_shape *x = &args->in_local[0];
    const gate_attr attr = {.n = x->dim[0],
                            .rows = pod__rows(x) / (x->dim[0] > 0 ? x->dim[0] : 1),
                            .c = pod__last(x),
                            .dtype = (int32_t)args->in[0].dtype,
                            .set = pod__gate_pick(args->target->cpu)};
    return pod__lower(args, run, pod__gate_at(attr.set)->name, &attr, sizeof attr, l);
}

static pod_status gate_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n, (void)n_in;
    POD_TRY(want_images(&in[0]));
    const pod_type want = gate_of(&in[0]);
    POD_TRY(pod__want_alike("the gate", &in[1], "one of x", &want));
    out[0] = in[0];
    return POD_OK;
}

static void gate_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    const gate_attr *a = attr;
    pod__gate_at(a->set)->scale(a->n, a->rows, a->c, (pod_dtype)a->dtype, in[0], in[1], out[0]);
}

static pod_status gate_lower(const pod_lower_args *args, pod_lowering *l)
{
    POD_TRY(gate_lower_as(args, gate_run, l));
    l->in_place[0] = 0;
    return POD_OK;
}

static void gate_grad_of(pod_graph *g, const pod_node *n, const pod_value d_out[],
                         const bool need[], pod_value d_in[])
{
    const pod_value x = n->in[0], dy = pod_cast(g, d_out[0], pod_graph_type(g, x)->dtype);
    if (need[0]) d_in[0] = pod_gate_by(g, dy, n->in[1]);
    if (need[1])
        d_in[1] = pod_op_add1(g, &pod__op_gate_sums, NULL, 0, (const pod_value[]){x, dy}, 2);
}

const pod_op pod__op_gate = {.name = "gate",
                             .sweep = POD_SWEEP_EACH,
                             .by_sample = "ss>s",
                             .n_in = 2,
                             .n_out = 1,
                             .is_cheap = true,
                             .infer = gate_infer,
                             .grad = gate_grad_of,
                             .ops_each = 1,
                             .lower = gate_lower};

static pod_status gate_sums_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n, (void)n_in;
    POD_TRY(want_images(&in[0]));
    POD_TRY(pod__want_alike("x", &in[0], "dy", &in[1]));
    out[0] = gate_of(&in[0]);
    return POD_OK;
}

static void gate_sums_run(const void *attr, const void *const in[], void *const out[],
                          void *scratch)
{
    (void)scratch;
    const gate_attr *a = attr;
    pod__gate_at(a->set)->sums(a->n, a->rows, a->c, (pod_dtype)a->dtype, in[0], in[1], out[0]);
}

static pod_status gate_sums_lower(const pod_lower_args *args, pod_lowering *l)
{
    return gate_lower_as(args, gate_sums_run, l);
}

const pod_op pod__op_gate_sums = {.name = "gate_sums",
                                  .sweep = POD_SWEEP_SUMS,
                                  .by_sample = "ss>s",
                                  .n_in = 2,
                                  .n_out = 1,
                                  .infer = gate_sums_infer,
                                  .ops_each = 2,
                                  .lower = gate_sums_lower};

static pod_status gate_mean_grad_infer(const pod_node *n, const pod_type in[], int n_in,
                                       pod_type out[])
{
    POD_TRY(gate_infer(n, in, n_in, out));
    pod_type want = gate_of(&in[0]);
    want.dtype = in[0].dtype;
    return pod__want_alike("the mean's gradient", &in[2], "one of dy", &want);
}

static void gate_mean_grad_run(const void *attr, const void *const in[], void *const out[],
                               void *scratch)
{
    (void)scratch;
    const gate_attr *a = attr;
    pod__gate_at(a->set)->mean_grad(a->n, a->rows, a->c, (pod_dtype)a->dtype, in[0], in[1], in[2],
                                    out[0]);
}

static pod_status gate_mean_grad_lower(const pod_lower_args *args, pod_lowering *l)
{
    POD_TRY(gate_lower_as(args, gate_mean_grad_run, l));
    l->in_place[0] = 0;
    return POD_OK;
}

const pod_op pod__op_gate_mean_grad = {.name = "gate_mean_grad",
                                       .sweep = POD_SWEEP_EACH,
                                       .by_sample = "sss>s",
                                       .n_in = 3,
                                       .n_out = 1,
                                       .infer = gate_mean_grad_infer,
                                       .ops_each = 2,
                                       .lower = gate_mean_grad_lower};

pod_value pod_gate_by(pod_graph *g, pod_value x, pod_value gate)
{
    return pod_op_add1(g, &pod__op_gate, NULL, 0, (const pod_value[]){x, gate}, 2);
}
