/* Softmax cross entropy and what is measured beside it, kernels/softmax.
 *
 *   softmax_loss       logits (N, C) f32, labels (N) i32   -> loss
 *   softmax_grad       logits, labels, d_loss              -> dlogits
 *   softmax_loss_grad  logits, labels, d_loss              -> loss, dlogits: both in one pass
 *   count_correct      logits, labels                      -> n
 *
 * The loss and n are sums over the cores' samples. */
#include "runtime/ops/op_common.h"

typedef struct softmax_attr {
    float smoothing, scale;
} softmax_attr;

static pod_status want_logits(const pod_type *logits, const pod_type *labels)
{
    POD_TRY(pod__want_dtype("logits", logits, 1u << POD_F32));
    POD_TRY(pod__want_dims("logits", logits, 2));
    POD_TRY(pod__want_only_rows_split("logits", logits));
    POD_TRY(pod__want_dtype("labels", labels, 1u << POD_I32));
    if (labels->shape.n_dims == 1 && labels->shape.dim[0] == logits->shape.dim[0] &&
        labels->split[0] == logits->split[0])
        return POD_OK;
    char got[POD__TYPE_TEXT], of[POD__TYPE_TEXT];
    return pod_fail(POD_E_SHAPE, "labels are %s, logits are %s: need one label a row",
                    pod__type_print(labels, got, sizeof got),
                    pod__type_print(logits, of, sizeof of));
}

static pod_status scalar_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n, (void)n_in;
    POD_TRY(want_logits(&in[0], &in[1]));
    out[0] = pod_type_of(POD_F32, 0, NULL);
    out[0].sum = in[0].split[0];
    return POD_OK;
}

static pod_status softmax_grad_infer(const pod_node *n, const pod_type in[], int n_in,
                                     pod_type out[])
{
    (void)n, (void)n_in;
    POD_TRY(want_logits(&in[0], &in[1]));
    POD_TRY(pod__want_scalar("d_loss", &in[2]));
    out[0] = in[0];
    return POD_OK;
}

static pod_status loss_grad_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    POD_TRY(softmax_grad_infer(n, in, n_in, &out[1]));
    return scalar_infer(n, in, n_in, &out[0]);
}

static void softmax_loss_grad(pod_graph *g, const pod_node *n, const pod_value d_out[],
                              const bool need[], pod_value d_in[])
{
    if (need[0])
        d_in[0] = pod_op_add1(g, &pod__op_softmax_grad, n->attr, n->attr_bytes,
                              (const pod_value[]){n->in[0], n->in[1], d_out[0]}, 3);
}

static void softmax_cost(const pod_node *n, const pod_type in[], const pod_type out[],
                         pod_cost *cost)
{
    const double ops = n->op == &pod__op_count_correct ? 1 : 5; /* max, subtract, exp, sum, scale */
    pod__cost_of(n, in, out, ops * (double)pod_shape_count(&in[0].shape), cost);
}

typedef struct softmax_run_attr {
    int64_t rows, c;
    float smoothing, scale;
    int32_t set, unused;
} softmax_run_attr;

static void softmax_loss_run(const void *attr, const void *const in[], void *const out[],
                             void *scratch)
{
    (void)scratch;
    const softmax_run_attr *a = attr;
    pod__softmax_at(a->set)->loss(a->rows, a->c, in[0], in[1], a->smoothing, a->scale, out[0]);
}

static void softmax_grad_run(const void *attr, const void *const in[], void *const out[],
                             void *scratch)
{
    (void)scratch;
    const softmax_run_attr *a = attr;
    const float scale = a->scale * *(const float *)in[2];
    pod__softmax_at(a->set)->grad(a->rows, a->c, in[0], in[1], a->smoothing, scale, out[0]);
}

static void loss_grad_run(const void *attr, const void *const in[], void *const out[],
                          void *scratch)
{
    (void)scratch;
    const softmax_run_attr *a = attr;
    const float grad_scale = a->scale * *(const float *)in[2];
    pod__softmax_at(a->set)->loss_grad(a->rows, a->c, in[0], in[1], a->smoothing, a->scale,
                                       grad_scale, out[0], out[1]);
}

static void count_correct_run(const void *attr, const void *const in[], void *const out[],
                              void *scratch)
{
    (void)scratch;
    const softmax_run_attr *a = attr;
    pod__softmax_at(a->set)->correct(a->rows, a->c, in[0], in[1], out[0]);
}

static pod_status lower(const pod_lower_args *args, pod_run_fn *fn, pod_lowering *l)
{
    const softmax_attr *attr = args->node->attr;
    const softmax_run_attr run = {.rows = args->in_local[0].dim[0],
                                  .c = args->in_local[0].dim[1],
                                  .smoothing = attr ? attr->smoothing : 0,
                                  .scale = attr ? attr->scale : 1,
                                  .set = pod__softmax_pick(args->target->cpu)};
    return pod__lower(args, fn, pod__softmax_at(run.set)->name, &run, sizeof run, l);
}

static pod_status softmax_loss_lower(const pod_lower_args *args, pod_lowering *l)
{
    return lower(args, softmax_loss_run, l);
}

static pod_status softmax_grad_lower(const pod_lower_args *args, pod_lowering *l)
{
    POD_TRY(lower(args, softmax_grad_run, l));
    l->in_place[0] = 0;
    return POD_OK;
}

static pod_status loss_grad_lower(const pod_lower_args *args, pod_lowering *l)
{
    POD_TRY(lower(args, loss_grad_run, l));
    l->in_place[1] = 0;
    return POD_OK;
}

static pod_status count_correct_lower(const pod_lower_args *args, pod_lowering *l)
{
    return lower(args, count_correct_run, l);
}

const pod_op pod__op_softmax_loss = {.name = "softmax_loss",
                                     .n_in = 2,
                                     .n_out = 1,
                                     .infer = scalar_infer,
                                     .grad = softmax_loss_grad,
                                     .cost = softmax_cost,
                                     .lower = softmax_loss_lower};

const pod_op pod__op_softmax_grad = {.name = "softmax_grad",
                                     .n_in = 3,
                                     .n_out = 1,
                                     .infer = softmax_grad_infer,
                                     .cost = softmax_cost,
                                     .lower = softmax_grad_lower};

const pod_op pod__op_softmax_loss_grad = {.name = "softmax_loss_grad",
                                          .n_in = 3,
                                          .n_out = 2,
                                          .infer = loss_grad_infer,
                                          .cost = softmax_cost,
                                          .lower = loss_grad_lower};

const pod_op pod__op_count_correct = {.name = "count_correct",
                                      .n_in = 2,
                                      .n_out = 1,
                                      .infer = scalar_infer,
                                      .cost = softmax_cost,
                                      .lower = count_correct_lower};

pod_value pod_softmax_loss(pod_graph *g, pod_value logits, pod_value labels,
                           pod_softmax_loss_attr attr)
{
    const softmax_attr a = {attr.smoothing, attr.scale};
    return pod_op_add1(g, &pod__op_softmax_loss, &a, sizeof a, (const pod_value[]){logits, labels},
                       2);
}

pod_value pod_count_correct(pod_graph *g, pod_value logits, pod_value labels)
{
    return pod_op_add1(g, &pod__op_count_correct, NULL, 0, (const pod_value[]){logits, labels}, 2);
}
