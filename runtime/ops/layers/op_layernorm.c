/* Layer normalization over the last dimension, kernels/layernorm, alone and behind an addition.
 *
 *   layer_norm         x, gamma, beta                       -> y, mean, rstd
 *   add_layer_norm     x, res, gamma, beta                  -> sum, y, mean, rstd
 *   layer_norm_dx      x, dy, mean, rstd, gamma [, more]    -> dx, with `more` added
 *   layer_norm_params  x, dy, mean, rstd                    -> dgamma, dbeta    sums over cores
 *
 * x, res, sum, y and their gradients have type (..., C), gamma and beta float32 (C), mean and rstd
 * float32 of the dimensions before C. mean and rstd are for the gradient and have none. */
#include "runtime/ops/op_common.h"

typedef struct layernorm_attr {
    float eps;
} layernorm_attr;

/* x, which every core has whole rows of. */
static pod_status want_rows(const pod_type *x)
{
    POD_TRY(pod__want_dtype("x", x, POD__FLOATS));
    if (x->shape.n_dims < 2) return pod__want_dims("x", x, 2);
    if (x->split[x->shape.n_dims - 1])
        return pod_fail(POD_E_UNSUPPORTED, "x is split along the dimension that is normalized");
    return pod__want_no_parts("x", x);
}

static pod_status want_params(const pod_type in[], const pod_type *x, int n_params)
{
    static const char *const names[] = {"gamma", "beta"};
    for (int i = 0; i < n_params; i++) {
        POD_TRY(pod__want_channels(names[i], &in[i], x));
        POD_TRY(pod__want_no_parts(names[i], &in[i]));
    }
    return POD_OK;
}

/* One float32 a row of x. */
static pod_type moment_of(const pod_type *x)
{
    pod_type t = pod_type_of(POD_F32, x->shape.n_dims - 1, x->shape.dim);
    for (int i = 0; i < t.shape.n_dims; i++) t.split[i] = x->split[i];
    return t;
}

static pod_status want_moments(const pod_type in[], const pod_type *x)
{
    const pod_type moment = moment_of(x);
    POD_TRY(pod__want_alike("mean", &in[0], "one number a row", &moment));
    return pod__want_alike("rstd", &in[1], "one number a row", &moment);
}

typedef struct layernorm_run_attr {
    int64_t rows, c;
    int32_t dtype, set;
    float eps;
    int32_t unused;
} layernorm_run_attr;

static pod_status lower(const pod_lower_args *args, pod_run_fn *fn, pod_lowering *l)
{
    const layernorm_attr *attr = args->node->attr;
    const pod__rows_attr of = pod__rows_of(args, pod__layernorm_pick(args->target->cpu));
    const layernorm_run_attr run = {
        .rows = of.rows, .c = of.c, .dtype = of.dtype, .set = of.set, .eps = attr ? attr->eps : 0};
    return pod__lower(args, fn, pod__layernorm_at(run.set)->name, &run, sizeof run, l);
}

/* The gradients: what came to y, with what came to the sum beside it (id 0: nothing). */
static void norm_grad(pod_graph *g, pod_value x, pod_value gamma, const pod_value moments[2],
                      pod_value d_y, pod_value d_sum, bool need_x, pod_value *d_x, bool need_params,
                      pod_value d_params[2])
{
    const pod_dtype t = pod_graph_type(g, x)->dtype;
    if (d_sum.id) d_sum = pod_cast(g, d_sum, t);
    if (!d_y.id) {
        if (need_x) *d_x = d_sum;
        return;
    }
    const pod_value dy = pod_cast(g, d_y, t);
    if (need_x)
        *d_x = pod_op_add1(g, &pod__op_layer_norm_dx, NULL, 0,
                           (const pod_value[]){x, dy, moments[0], moments[1], gamma, d_sum},
                           d_sum.id ? 6 : 5);
    if (need_params)
        pod_op_add(g, &pod__op_layer_norm_params, NULL, 0,
                   (const pod_value[]){x, dy, moments[0], moments[1]}, 4, d_params);
}

/* ---- layer_norm ---------------------------------------------------------------------------- */

static pod_status layer_norm_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n, (void)n_in;
    POD_TRY(want_rows(&in[0]));
    POD_TRY(want_params(&in[1], &in[0], 2));
    out[0] = in[0];
    out[1] = out[2] = moment_of(&in[0]);
    return POD_OK;
}

static void layer_norm_grad(pod_graph *g, const pod_node *n, const pod_value d_out[],
                            const bool need[], pod_value d_in[])
{
    enum { X, GAMMA, BETA };
    const pod_value moments[2] = {pod_node_out(n, 1), pod_node_out(n, 2)}, none = {0};
    pod_value d_params[2] = {none, none};
    norm_grad(g, n->in[X], n->in[GAMMA], moments, d_out[0], none, need[X], &d_in[X],
              need[GAMMA] || need[BETA], d_params);
    if (need[GAMMA]) d_in[GAMMA] = d_params[0];
    if (need[BETA]) d_in[BETA] = d_params[1];
}

static void layer_norm_run(const void *attr, const void *const in[], void *const out[],
                           void *scratch)
{
    (void)scratch;
    const layernorm_run_attr *a = attr;
    pod__layernorm_at(a->set)->apply(a->rows, a->c, a->eps, (pod_dtype)a->dtype, in[0], NULL, in[1],
                                     in[2], NULL, out[0], out[1], out[2]);
}

static pod_status layer_norm_lower(const pod_lower_args *args, pod_lowering *l)
{
    POD_TRY(lower(args, layer_norm_run, l));
    l->in_place[0] = 0;
    return POD_OK;
}

const pod_op pod__op_layer_norm = {.name = "layer_norm",
                                   .n_in = 3,
                                   .n_out = 3,
                                   .is_cheap = true,
                                   .infer = layer_norm_infer,
                                   .grad = layer_norm_grad,
                                   .ops_each = 9,
                                   .lower = layer_norm_lower};

/* ---- add_layer_norm ------------------------------------------------------------------------ */

static pod_status add_layer_norm_infer(const pod_node *n, const pod_type in[], int n_in,
                                       pod_type out[])
{
    (void)n, (void)n_in;
    POD_TRY(want_rows(&in[0]));
    POD_TRY(pod__want_alike("x", &in[0], "what is added", &in[1]));
    POD_TRY(want_params(&in[2], &in[0], 2));
    out[0] = out[1] = in[0];
    out[2] = out[3] = moment_of(&in[0]);
    return POD_OK;
}

static void add_layer_norm_grad(pod_graph *g, const pod_node *n, const pod_value d_out[],
                                const bool need[], pod_value d_in[])
{
    enum { X, RES, GAMMA, BETA };
    const pod_value moments[2] = {pod_node_out(n, 2), pod_node_out(n, 3)}, none = {0};
    pod_value d_params[2] = {none, none}, d_x = none;
    norm_grad(g, pod_node_out(n, 0), n->in[GAMMA], moments, d_out[1], d_out[0],
              need[X] || need[RES], &d_x, need[GAMMA] || need[BETA], d_params);
    if (need[X]) d_in[X] = d_x;
    if (need[RES]) d_in[RES] = d_x;
    if (need[GAMMA]) d_in[GAMMA] = d_params[0];
    if (need[BETA]) d_in[BETA] = d_params[1];
}

static void add_layer_norm_run(const void *attr, const void *const in[], void *const out[],
                               void *scratch)
{
    (void)scratch;
    const layernorm_run_attr *a = attr;
    pod__layernorm_at(a->set)->apply(a->rows, a->c, a->eps, (pod_dtype)a->dtype, in[0], in[1],
                                     in[2], in[3], out[0], out[1], out[2], out[3]);
}

static pod_status add_layer_norm_lower(const pod_lower_args *args, pod_lowering *l)
{
    POD_TRY(lower(args, add_layer_norm_run, l));
    l->in_place[0] = 0;
    return POD_OK;
}

const pod_op pod__op_add_layer_norm = {.name = "add_layer_norm",
                                       .n_in = 4,
                                       .n_out = 4,
                                       .infer = add_layer_norm_infer,
                                       .grad = add_layer_norm_grad,
                                       .ops_each = 9,
                                       .lower = add_layer_norm_lower};

/* ---- gradients ----------------------------------------------------------------------------- */

static pod_status dx_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n;
    POD_TRY(want_rows(&in[0]));
    POD_TRY(pod__want_alike("x", &in[0], "dy", &in[1]));
    POD_TRY(want_moments(&in[2], &in[0]));
    POD_TRY(want_params(&in[4], &in[0], 1));
    if (n_in == 6) POD_TRY(pod__want_alike("x", &in[0], "what is added", &in[5]));
    out[0] = in[0];
    return POD_OK;
}

static void dx_run(const void *attr, const void *const in[], void *const out[], bool with_more)
{
    const layernorm_run_attr *a = attr;
    pod__layernorm_at(a->set)->grad_x(a->rows, a->c, (pod_dtype)a->dtype, in[0], in[1], in[2],
                                      in[3], in[4], with_more ? in[5] : NULL, out[0]);
}

static void dx_run_alone(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    dx_run(attr, in, out, false);
}

static void dx_run_with_more(const void *attr, const void *const in[], void *const out[],
                             void *scratch)
{
    (void)scratch;
    dx_run(attr, in, out, true);
}

static pod_status dx_lower(const pod_lower_args *args, pod_lowering *l)
{
    POD_TRY(lower(args, args->node->n_in == 6 ? dx_run_with_more : dx_run_alone, l));
    l->in_place[0] = 1;
    return POD_OK;
}

const pod_op pod__op_layer_norm_dx = {.name = "layer_norm_dx",
                                      .n_in = 5,
                                      .n_more = 1,
                                      .n_out = 1,
                                      .infer = dx_infer,
                                      .ops_each = 9,
                                      .lower = dx_lower};

static pod_status params_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n, (void)n_in;
    POD_TRY(want_rows(&in[0]));
    POD_TRY(pod__want_alike("x", &in[0], "dy", &in[1]));
    POD_TRY(want_moments(&in[2], &in[0]));
    out[0] = pod__channels_of(&in[0]);
    out[0].sum = pod__rows_split(&in[0]);
    out[1] = out[0];
    return POD_OK;
}

static void params_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    const layernorm_run_attr *a = attr;
    pod__layernorm_at(a->set)->grad_params(a->rows, a->c, (pod_dtype)a->dtype, in[0], in[1], in[2],
                                           in[3], out[0], out[1]);
}

static pod_status params_lower(const pod_lower_args *args, pod_lowering *l)
{
    return lower(args, params_run, l);
}

const pod_op pod__op_layer_norm_params = {.name = "layer_norm_params",
                                          .n_in = 4,
                                          .n_out = 2,
                                          .infer = params_infer,
                                          .ops_each = 9,
                                          .lower = params_lower};

/* ---- builders ------------------------------------------------------------------------------ */

typedef struct params {
    pod_value gamma, beta;
} params;

static params params_of(pod_graph *g, pod_value x)
{
    const pod_shape c = {.n_dims = 1, .dim = {pod__last(&pod_graph_type(g, x)->shape)}};
    const pod_init zero = {.kind = POD_INIT_ZERO}, one = {.kind = POD_INIT_ONE};
    const pod_value gamma = pod_weight(g, "gamma", c, one, POD_ROLE_NORM);
    return (params){gamma, pod_weight(g, "beta", c, zero, POD_ROLE_NORM)};
}

pod_value pod_layer_norm(pod_graph *g, pod_value x, float eps)
{
    if (!pod__usable(g, x)) return (pod_value){0};
    const params p = params_of(g, x);
    const layernorm_attr attr = {eps};
    pod_value out[3];
    pod_op_add(g, &pod__op_layer_norm, &attr, sizeof attr, (const pod_value[]){x, p.gamma, p.beta},
               3, out);
    return out[0];
}

pod_value pod_add_layer_norm(pod_graph *g, pod_value x, pod_value res, float eps, pod_value *sum)
{
    *sum = (pod_value){0};
    if (!pod__usable(g, x) || !pod__usable(g, res)) return (pod_value){0};
    const params p = params_of(g, x);
    const layernorm_attr attr = {eps};
    pod_value out[4];
    pod_op_add(g, &pod__op_add_layer_norm, &attr, sizeof attr,
               (const pod_value[]){x, res, p.gamma, p.beta}, 4, out);
    *sum = out[0];
    return out[1];
}
