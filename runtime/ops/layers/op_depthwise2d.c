/* depthwise2d and its two gradients.
 *
 *   depthwise2d       x (N, H, W, C), w (R, S, C)  -> y  (N, P, Q, C), of x's type
 *   depthwise2d_dx    dy (N, P, Q, C), w           -> dx (N, H, W, C), of dy's type
 *   depthwise2d_dw    x, dy                        -> dw (R, S, C), float32; the sum over the
 *                                                     cores' samples
 *   depthwise2d_sums  x, w                         -> y, and as bn_sums of it sum and sum_sq (C);
 *                                                     of passes
 *
 * Over a mesh only N is split. */
#include <inttypes.h>

#include "kernels/depthwise/depthwise.h"
#include "runtime/ops/op_common.h"

/* One attr for the three, so that cost and lowering are shared. */
typedef struct depthwise_attr {
    int64_t stride;
    pod__padding pad;
    int64_t rows, cols; /* depthwise2d_dx: of the image; depthwise2d_dw: of the filter; else 0 */
    int64_t pass;
} depthwise_attr;

/* Which of (in 0, in 1, out) are x, w and y. */
static const struct {
    int x, w, y;
} role[POD_N_DEPTHWISE_PASSES] = {[POD_DEPTHWISE_FORWARD] = {0, 1, 2},
                                  [POD_DEPTHWISE_INPUT_GRAD] = {2, 1, 0},
                                  [POD_DEPTHWISE_WEIGHT_GRAD] = {0, 2, 1}};

static pod_depthwise_shape depthwise_shape(const depthwise_attr *a, const pod_shape *in0,
                                           const pod_shape *in1, const pod_shape *out)
{
    const pod_shape *const all[] = {in0, in1, out};
    const int64_t *x = all[role[a->pass].x]->dim, *w = all[role[a->pass].w]->dim,
                  *y = all[role[a->pass].y]->dim;
    return (pod_depthwise_shape){.n = x[0],
                                 .h = x[1],
                                 .w = x[2],
                                 .c = x[3],
                                 .p = y[1],
                                 .q = y[2],
                                 .r = w[0],
                                 .s = w[1],
                                 .stride = a->stride,
                                 .pad_h = a->pad.before[0],
                                 .pad_w = a->pad.before[1]};
}

static pod_status check_images(const char *name, const pod_type *images)
{
    POD_TRY(pod__want_dims(name, images, 4));
    POD_TRY(pod__want_dtype(name, images, POD__FLOATS));
    return pod__want_only_rows_split(name, images);
}

static pod_status check_filter(const pod_type *filter, pod_dtype dtype)
{
    POD_TRY(pod__want_dims("the filter", filter, 3));
    POD_TRY(pod__want_dtype("the filter", filter, 1u << dtype));
    return pod__want_whole("the filter", filter);
}

static int64_t extent_out(const depthwise_attr *a, const pod_shape *x, const pod_shape *w, int d)
{
    return pod__windows(x->dim[1 + d], w->dim[d], a->stride, &a->pad, d);
}

/* Checks that y is (N, P, Q, C) as x and w make it. */
static pod_status check_fit(const depthwise_attr *a, const pod_type *in0, const pod_type *in1,
                            const pod_shape *x, const pod_shape *w, const pod_shape *y)
{
    const int64_t p = extent_out(a, x, w, 0), q = extent_out(a, x, w, 1);
    if (p > 0 && q > 0 && x->dim[3] == w->dim[2] && y->dim[0] == x->dim[0] && y->dim[1] == p &&
        y->dim[2] == q && y->dim[3] == x->dim[3])
        return POD_OK;
    char t0[POD__TYPE_TEXT], t1[POD__TYPE_TEXT], pad[POD__PADDING_TEXT];
    return pod_fail(POD_E_SHAPE,
                    "%s is %s, %s is %s, stride %" PRId64 ", %s"
                    ": they do not fit (images (N, H, W, C), filters (R, S, C))",
                    role[a->pass].x == 0 ? "x" : "dy", pod__type_print(in0, t0, sizeof t0),
                    role[a->pass].w == 1 ? "the filter" : "dy", pod__type_print(in1, t1, sizeof t1),
                    a->stride, pod__padding_print(&a->pad, pad));
}

static pod_type images(const pod_type *like, int64_t h, int64_t w)
{
    const int64_t *dim = like->shape.dim;
    pod_type type = pod_type_of(like->dtype, 4, (const int64_t[]){dim[0], h, w, dim[3]});
    type.split[0] = like->split[0];
    return type;
}

static pod_status depthwise2d_infer(const pod_node *n, const pod_type in[], int n_in,
                                    pod_type out[])
{
    (void)n_in;
    const depthwise_attr *a = n->attr;
    POD_TRY(check_images("x", &in[0]));
    POD_TRY(check_filter(&in[1], in[0].dtype));
    const pod_shape *x = &in[0].shape, *w = &in[1].shape;
    out[0] = images(&in[0], extent_out(a, x, w, 0), extent_out(a, x, w, 1));
    return check_fit(a, &in[0], &in[1], &in[0].shape, &in[1].shape, &out[0].shape);
}

static pod_status depthwise2d_sums_infer(const pod_node *n, const pod_type in[], int n_in,
                                         pod_type out[])
{
    POD_TRY(depthwise2d_infer(n, in, n_in, out));
    out[1] = pod__channels_of(&out[0]);
    out[1].sum = pod__rows_split(&out[0]);
    out[2] = out[1];
    return POD_OK;
}

static pod_status depthwise2d_dx_infer(const pod_node *n, const pod_type in[], int n_in,
                                       pod_type out[])
{
    (void)n_in;
    const depthwise_attr *a = n->attr;
    POD_TRY(check_images("dy", &in[0]));
    POD_TRY(check_filter(&in[1], in[0].dtype));
    out[0] = images(&in[0], a->rows, a->cols);
    return check_fit(a, &in[0], &in[1], &out[0].shape, &in[1].shape, &in[0].shape);
}

static pod_status depthwise2d_dw_infer(const pod_node *n, const pod_type in[], int n_in,
                                       pod_type out[])
{
    (void)n_in;
    const depthwise_attr *a = n->attr;
    POD_TRY(check_images("x", &in[0]));
    POD_TRY(check_images("dy", &in[1]));
    POD_TRY(pod__want_dtype("dy", &in[1], 1u << in[0].dtype));
    out[0] = pod_type_of(POD_F32, 3, (const int64_t[]){a->rows, a->cols, in[0].shape.dim[3]});
    out[0].sum = in[0].split[0];
    if (in[0].split[0] != in[1].split[0]) return pod__want_alike("x", &in[0], "dy", &in[1]);
    return check_fit(a, &in[0], &in[1], &in[0].shape, &out[0].shape, &in[1].shape);
}

static void depthwise2d_grad(pod_graph *g, const pod_node *n, const pod_value d_out[],
                             const bool need[], pod_value d_in[])
{
    const depthwise_attr *a = n->attr;
    pod_value x = n->in[0], w = n->in[1];
    const pod_type x_type = *pod_graph_type(g, x), w_type = *pod_graph_type(g, w);
    pod_value dy = pod_cast(g, d_out[0], x_type.dtype);
    if (need[0]) {
        const depthwise_attr dx = {a->stride, a->pad, x_type.shape.dim[1], x_type.shape.dim[2],
                                   POD_DEPTHWISE_INPUT_GRAD};
        d_in[0] =
            pod_op_add1(g, &pod__op_depthwise2d_dx, &dx, sizeof dx, (const pod_value[]){dy, w}, 2);
    }
    if (need[1]) {
        const depthwise_attr dw = {a->stride, a->pad, w_type.shape.dim[0], w_type.shape.dim[1],
                                   POD_DEPTHWISE_WEIGHT_GRAD};
        d_in[1] =
            pod_op_add1(g, &pod__op_depthwise2d_dw, &dw, sizeof dw, (const pod_value[]){x, dy}, 2);
    }
}

static void depthwise_cost(const pod_node *n, const pod_type in[], const pod_type out[],
                           pod_cost *cost)
{
    const pod_depthwise_shape s =
        depthwise_shape(n->attr, &in[0].shape, &in[1].shape, &out[0].shape);
    pod__cost_of(n, in, out, 0, cost);
    cost->matrix_flops = pod_depthwise_flops(&s);
    if (n->n_out > 1) cost->vector_ops = 3 * (double)pod_shape_count(&out[0].shape);
}

typedef struct depthwise_run_attr {
    pod_depthwise_shape shape;
    int32_t pass, dtype, set, fused;
} depthwise_run_attr;

static pod_depthwise_call call_of(const depthwise_run_attr *a)
{
    return (pod_depthwise_call){.shape = a->shape,
                                .pass = (pod_depthwise_pass)a->pass,
                                .dtype = (pod_dtype)a->dtype,
                                .fused = (unsigned)a->fused};
}

static void depthwise_run(const void *attr, const void *const in[], void *const out[],
                          void *scratch)
{
    const depthwise_run_attr *a = attr;
    pod_depthwise_call call = call_of(a);
    call.a = in[0];
    call.b = in[1];
    call.out = out[0];
    if (call.fused & POD_DEPTHWISE_SUMS) {
        call.sum = out[1];
        call.sum_sq = out[2];
    }
    pod__depthwise_at(a->set)->run(&call, scratch);
}

static pod_status depthwise_lower(const pod_lower_args *args, pod_lowering *l)
{
    const depthwise_attr *a = args->node->attr;
    depthwise_run_attr run = {
        .shape = depthwise_shape(a, &args->in_local[0], &args->in_local[1], &args->out_local[0]),
        .pass = (int32_t)a->pass,
        .dtype = (int32_t)args->in[0].dtype,
        .fused = args->node->op == &pod__op_depthwise2d_sums ? POD_DEPTHWISE_SUMS : 0};
    const pod_depthwise_call call = call_of(&run);
    POD_TRY(pod_depthwise_check(&call));
    run.set = pod__depthwise_pick(args->target->cpu);
    const pod_depthwise *set = pod__depthwise_at(run.set);
    POD_TRY(pod__lower(args, depthwise_run, set->name, &run, sizeof run, l));
    l->scratch_bytes = set->scratch_bytes(&call);
    return POD_OK;
}

#define DEPTHWISE_OP(op_name, outputs, samples, infer_fn, grad_fn) \
    const pod_op pod__op_##op_name = {.name = #op_name,            \
                                      .by_sample = (samples),      \
                                      .n_in = 2,                   \
                                      .n_out = (outputs),          \
                                      .infer = (infer_fn),         \
                                      .grad = (grad_fn),           \
                                      .cost = depthwise_cost,      \
                                      .lower = depthwise_lower}
DEPTHWISE_OP(depthwise2d, 1, "sw>s", depthwise2d_infer, depthwise2d_grad);
DEPTHWISE_OP(depthwise2d_dx, 1, "sw>s", depthwise2d_dx_infer, NULL);
DEPTHWISE_OP(depthwise2d_dw, 1, "ss>+", depthwise2d_dw_infer, NULL);
DEPTHWISE_OP(depthwise2d_sums, 3, "sw>s++", depthwise2d_sums_infer, NULL);

pod_value pod_depthwise2d(pod_graph *g, pod_value x, pod_value w, pod_conv2d_attr attr)
{
    if (!pod__usable(g, x)) return (pod_value){0};
    if (attr.stride < 1 || attr.pad < 0)
        return pod_graph_fail(g, POD_E_INVALID, "depthwise2d: stride %d, padding %d", attr.stride,
                              attr.pad);
    const depthwise_attr a = {.stride = attr.stride,
                              .pad = pod__padding_of(g, x, w, 0, attr.stride, attr.pad, attr.same),
                              .pass = POD_DEPTHWISE_FORWARD};
    w = pod_cast(g, w, pod_graph_type(g, x)->dtype);
    return pod_op_add1(g, &pod__op_depthwise2d, &a, sizeof a, (const pod_value[]){x, w}, 2);
}
