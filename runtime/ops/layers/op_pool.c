/* Pooling of images (N, H, W, C), over a mesh only N is split.
 *
 *   max_pool        x                -> y (N, P, Q, C), P = (H + 2 pad - window) / stride + 1
 *   max_pool_grad   x, dy            -> dx
 *   mean_pool       x                -> y (N, C)
 *   mean_pool_grad  dy (N, C)        -> dx (N, H, W, C) */
#include <inttypes.h>

#include "runtime/ops/op_common.h"

typedef struct max_pool_attr {
    int64_t window, stride, pad;
} max_pool_attr;

static pod_status want_images(const char *what, const pod_type *t)
{
    POD_TRY(pod__want_dtype(what, t, POD__FLOATS));
    POD_TRY(pod__want_dims(what, t, 4));
    return pod__want_only_rows_split(what, t);
}

/* ---- max ----------------------------------------------------------------------------------- */

static pod_status max_pool_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n_in;
    const max_pool_attr *a = n->attr;
    POD_TRY(want_images("x", &in[0]));
    out[0] = in[0];
    for (int i = 1; i < 3; i++) {
        const int64_t room = in[0].shape.dim[i] + 2 * a->pad - a->window;
        if (room < 0) {
            char got[POD__TYPE_TEXT];
            return pod_fail(POD_E_SHAPE,
                            "x is %s, too small for a window of %" PRId64 " with padding %" PRId64,
                            pod__type_print(&in[0], got, sizeof got), a->window, a->pad);
        }
        out[0].shape.dim[i] = room / a->stride + 1;
    }
    return POD_OK;
}

static pod_status max_pool_grad_infer(const pod_node *n, const pod_type in[], int n_in,
                                      pod_type out[])
{
    pod_type y;
    POD_TRY(max_pool_infer(n, in, n_in, &y));
    POD_TRY(pod__want_alike("the pooled x", &y, "dy", &in[1]));
    out[0] = in[0];
    return POD_OK;
}

static void max_pool_grad_of(pod_graph *g, const pod_node *n, const pod_value d_out[],
                             const bool need[], pod_value d_in[])
{
    if (!need[0]) return;
    pod_value x = n->in[0];
    pod_value dy = pod_cast(g, d_out[0], pod_graph_type(g, x)->dtype);
    d_in[0] = pod_op_add1(g, &pod__op_max_pool_grad, n->attr, n->attr_bytes,
                          (const pod_value[]){x, dy}, 2);
}

static void max_pool_cost(const pod_node *n, const pod_type in[], const pod_type out[],
                          pod_cost *cost)
{
    const max_pool_attr *a = n->attr;
    const pod_shape *y = n->op == &pod__op_max_pool ? &out[0].shape : &in[1].shape;
    pod__cost_of(n, in, out, (double)(a->window * a->window) * (double)pod_shape_count(y), cost);
}

typedef struct pool_run_attr {
    pod_pool_shape shape;
    int32_t dtype, set;
} pool_run_attr;

static void max_pool_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    const pool_run_attr *a = attr;
    pod__pool_at(a->set)->max(&a->shape, (pod_dtype)a->dtype, in[0], out[0]);
}

static void max_pool_grad_run(const void *attr, const void *const in[], void *const out[],
                              void *scratch)
{
    (void)scratch;
    const pool_run_attr *a = attr;
    pod__pool_at(a->set)->max_grad(&a->shape, (pod_dtype)a->dtype, in[0], in[1], out[0]);
}

static pod_status max_pool_lower(const pod_lower_args *args, pod_lowering *l)
{
    const bool is_grad = args->node->op == &pod__op_max_pool_grad;
    const max_pool_attr *a = args->node->attr;
    const int64_t *x = args->in_local[0].dim,
                  *y = is_grad ? args->in_local[1].dim : args->out_local[0].dim;
    const pool_run_attr run = {.shape = {.n = x[0],
                                         .h = x[1],
                                         .w = x[2],
                                         .c = x[3],
                                         .p = y[1],
                                         .q = y[2],
                                         .window = a->window,
                                         .stride = a->stride,
                                         .pad = a->pad},
                               .dtype = (int32_t)args->in[0].dtype,
                               .set = pod__pool_pick(args->target->cpu)};
    return pod__lower(args, is_grad ? max_pool_grad_run : max_pool_run, pod__pool_at(run.set)->name,
                      &run, sizeof run, l);
}

const pod_op pod__op_max_pool = {.name = "max_pool",
                                 .by_sample = "s>s",
                                 .n_in = 1,
                                 .n_out = 1,
                                 .infer = max_pool_infer,
                                 .grad = max_pool_grad_of,
                                 .cost = max_pool_cost,
                                 .lower = max_pool_lower};

const pod_op pod__op_max_pool_grad = {.name = "max_pool_grad",
                                      .by_sample = "ss>s",
                                      .n_in = 2,
                                      .n_out = 1,
                                      .infer = max_pool_grad_infer,
                                      .cost = max_pool_cost,
                                      .lower = max_pool_lower};

pod_value pod_max_pool(pod_graph *g, pod_value x, pod_max_pool_attr attr)
{
    if (attr.window < 1 || attr.stride < 1 || attr.pad < 0 || attr.pad >= attr.window)
        return pod_graph_fail(g, POD_E_INVALID,
                              "max_pool: window %d, stride %d, padding %d: need window and stride "
                              "of 1 or more, padding below the window",
                              attr.window, attr.stride, attr.pad);
    const max_pool_attr a = {attr.window, attr.stride, attr.pad};
    return pod_op_add1(g, &pod__op_max_pool, &a, sizeof a, &x, 1);
}

/* ---- mean ---------------------------------------------------------------------------------- */

typedef struct mean_pool_grad_attr {
    int64_t h, w;
} mean_pool_grad_attr;

static pod_status mean_pool_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n, (void)n_in;
    POD_TRY(want_images("x", &in[0]));
    out[0] = pod_type_of(in[0].dtype, 2, (const int64_t[]){in[0].shape.dim[0], in[0].shape.dim[3]});
    out[0].split[0] = in[0].split[0];
    return POD_OK;
}

static pod_status mean_pool_grad_infer(const pod_node *n, const pod_type in[], int n_in,
                                       pod_type out[])
{
    (void)n_in;
    const mean_pool_grad_attr *a = n->attr;
    POD_TRY(pod__want_dtype("dy", &in[0], POD__FLOATS));
    POD_TRY(pod__want_dims("dy", &in[0], 2));
    POD_TRY(pod__want_only_rows_split("dy", &in[0]));
    out[0] = pod_type_of(in[0].dtype, 4,
                         (const int64_t[]){in[0].shape.dim[0], a->h, a->w, in[0].shape.dim[1]});
    out[0].split[0] = in[0].split[0];
    return POD_OK;
}

static void mean_pool_grad_of(pod_graph *g, const pod_node *n, const pod_value d_out[],
                              const bool need[], pod_value d_in[])
{
    if (!need[0]) return;
    const pod_type x = *pod_graph_type(g, n->in[0]);
    const mean_pool_grad_attr a = {x.shape.dim[1], x.shape.dim[2]};
    pod_value dy = pod_cast(g, d_out[0], x.dtype);
    d_in[0] = pod_op_add1(g, &pod__op_mean_pool_grad, &a, sizeof a, &dy, 1);
}

static void mean_pool_cost(const pod_node *n, const pod_type in[], const pod_type out[],
                           pod_cost *cost)
{
    const pod_type *images = n->op == &pod__op_mean_pool ? &in[0] : &out[0];
    pod__cost_of(n, in, out, (double)pod_shape_count(&images->shape), cost);
}

typedef struct mean_run_attr {
    int64_t n, hw, c;
    int32_t dtype, set;
} mean_run_attr;

static void mean_pool_run(const void *attr, const void *const in[], void *const out[],
                          void *scratch)
{
    (void)scratch;
    const mean_run_attr *a = attr;
    pod__pool_at(a->set)->mean(a->n, a->hw, a->c, (pod_dtype)a->dtype, in[0], out[0]);
}

static void mean_pool_grad_run(const void *attr, const void *const in[], void *const out[],
                               void *scratch)
{
    (void)scratch;
    const mean_run_attr *a = attr;
    pod__pool_at(a->set)->mean_grad(a->n, a->hw, a->c, (pod_dtype)a->dtype, in[0], out[0]);
}

static pod_status mean_pool_lower(const pod_lower_args *args, pod_lowering *l)
{
    const bool is_grad = args->node->op == &pod__op_mean_pool_grad;
    const int64_t *x = is_grad ? args->out_local[0].dim : args->in_local[0].dim;
    const mean_run_attr run = {.n = x[0],
                               .hw = x[1] * x[2],
                               .c = x[3],
                               .dtype = (int32_t)args->in[0].dtype,
                               .set = pod__pool_pick(args->target->cpu)};
    return pod__lower(args, is_grad ? mean_pool_grad_run : mean_pool_run,
                      pod__pool_at(run.set)->name, &run, sizeof run, l);
}

const pod_op pod__op_mean_pool = {.name = "mean_pool",
                                  .sweep = POD_SWEEP_SUMS,
                                  .by_sample = "s>s",
                                  .n_in = 1,
                                  .n_out = 1,
                                  .infer = mean_pool_infer,
                                  .grad = mean_pool_grad_of,
                                  .cost = mean_pool_cost,
                                  .lower = mean_pool_lower};

const pod_op pod__op_mean_pool_grad = {.name = "mean_pool_grad",
                                       .sweep = POD_SWEEP_EACH,
                                       .by_sample = "s>s",
                                       .n_in = 1,
                                       .n_out = 1,
                                       .infer = mean_pool_grad_infer,
                                       .cost = mean_pool_cost,
                                       .lower = mean_pool_lower};

pod_value pod_mean_pool(pod_graph *g, pod_value x)
{
    return pod_op_add1(g, &pod__op_mean_pool, NULL, 0, &x, 1);
}
