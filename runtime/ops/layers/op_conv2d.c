/* conv2d and its two gradients.
 *
 *   conv2d     x (N, H, W, C), w (K, R, S, C)  -> y  (N, P, Q, K), of x's type
 *   conv2d_dx  dy (N, P, Q, K), w              -> dx (N, H, W, C), of dy's type
 *   conv2d_dw  x, dy                           -> dw (K, R, S, C), float32; the sum over the cores'
 *                                                 samples
 *
 * and those that only passes make (the fused bits of kernels/conv):
 *
 *   conv2d_bias      x, w, bias (K)       -> y               with the bias, or its relu
 *   conv2d_sums      x, w                 -> y, sum, sum_sq  of y's channels, sums over cores
 *   conv2d_act       x, w, scale, shift   -> y               of x scale + shift, or its relu
 *   conv2d_act_sums  x, w, scale, shift   -> y, sum, sum_sq
 *   conv2d_dw_act    x, dy, scale, shift  -> dw
 *   conv2d_pack      w                    -> bytes           w as the kernel of a conv2d or
 *                                                            conv2d_dx reads it, which takes it
 *                                                            for w
 *
 * Over a mesh only N is split; scale and shift may vary. */
#include <inttypes.h>

#include "kernels/conv/conv.h"
#include "runtime/ops/fused.h"
#include "runtime/ops/op_common.h"

/* One attr for all, so that cost and lowering are shared. */
typedef struct conv_attr {
    int64_t stride;
    pod__padding pad;
    int64_t rows, cols; /* conv2d_dx: of the image; conv2d_dw: of the filter; else 0 */
    int64_t pass, fused;
} conv_attr;

/* Attribute of kernels that take a packed filter, whose shape can no longer be read off the
 * value. */
typedef struct packed_attr {
    conv_attr conv;
    pod_conv_shape shape;
    int64_t dtype, kernel;
} packed_attr;

/* Which of (in 0, in 1, out) are x, w and y. */
static const struct {
    int x, w, y;
} role[POD_N_CONV_PASSES] = {[POD_CONV_FORWARD] = {0, 1, 2},
                             [POD_CONV_INPUT_GRAD] = {2, 1, 0},
                             [POD_CONV_WEIGHT_GRAD] = {0, 2, 1}};

static pod_conv_shape conv_shape(const conv_attr *a, const pod_shape *in0, const pod_shape *in1,
                                 const pod_shape *out)
{
    const pod_shape *const all[] = {in0, in1, out};
    const int64_t *x = all[role[a->pass].x]->dim, *w = all[role[a->pass].w]->dim,
                  *y = all[role[a->pass].y]->dim;
    if (a->fused & POD_CONV_PACKED_W) {
        pod_conv_shape packed = ((const packed_attr *)a)->shape;
        packed.n = x[0];
        return packed;
    }
    return (pod_conv_shape){.n = x[0],
                            .h = x[1],
                            .w = x[2],
                            .c = x[3],
                            .p = y[1],
                            .q = y[2],
                            .k = y[3],
                            .r = w[1],
                            .s = w[2],
                            .stride = a->stride,
                            .pad_h = a->pad.before[0],
                            .pad_w = a->pad.before[1]};
}

/* Both operands: images and filters of one floating type, only samples split. */
static pod_status check_operands(const char *name0, const pod_type *in0, const char *name1,
                                 const pod_type *in1, bool in1_has_samples)
{
    POD_TRY(pod__want_dims(name0, in0, 4));
    POD_TRY(pod__want_dims(name1, in1, 4));
    POD_TRY(pod__want_dtype(name0, in0, POD__FLOATS));
    POD_TRY(pod__want_dtype(name1, in1, 1u << in0->dtype));
    POD_TRY(pod__want_only_rows_split(name0, in0));
    return in1_has_samples ? pod__want_only_rows_split(name1, in1) : pod__want_whole(name1, in1);
}

static int64_t extent_out(const conv_attr *a, const pod_shape *x, const pod_shape *w, int d)
{
    return pod__windows(x->dim[1 + d], w->dim[1 + d], a->stride, &a->pad, d);
}

/* Checks that y is (N, P, Q, K) as x and w make it. */
static pod_status check_fit(const conv_attr *a, const pod_type *in0, const pod_type *in1,
                            const pod_shape *x, const pod_shape *w, const pod_shape *y)
{
    const int64_t p = extent_out(a, x, w, 0), q = extent_out(a, x, w, 1);
    if (p > 0 && q > 0 && x->dim[3] == w->dim[3] && y->dim[0] == x->dim[0] && y->dim[1] == p &&
        y->dim[2] == q && y->dim[3] == w->dim[0])
        return POD_OK;
    char t0[POD__TYPE_TEXT], t1[POD__TYPE_TEXT], pad[POD__PADDING_TEXT];
    return pod_fail(POD_E_SHAPE,
                    "%s is %s, %s is %s, stride %" PRId64 ", %s"
                    ": they do not fit (images (N, H, W, C), filters (K, R, S, C))",
                    role[a->pass].x == 0 ? "x" : "dy", pod__type_print(in0, t0, sizeof t0),
                    role[a->pass].w == 1 ? "the filter" : "dy", pod__type_print(in1, t1, sizeof t1),
                    a->stride, pod__padding_print(&a->pad, pad));
}

static pod_type images(pod_dtype t, int64_t n, int64_t h, int64_t w, int64_t c, uint8_t split)
{
    pod_type type = pod_type_of(t, 4, (const int64_t[]){n, h, w, c});
    type.split[0] = split;
    return type;
}

static pod_status conv2d_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n_in;
    const conv_attr *a = n->attr;
    POD_TRY(check_operands("x", &in[0], "the filter", &in[1], false));
    const pod_shape *x = &in[0].shape, *w = &in[1].shape;
    out[0] = images(in[0].dtype, x->dim[0], extent_out(a, x, w, 0), extent_out(a, x, w, 1),
                    w->dim[0], in[0].split[0]);
    return check_fit(a, &in[0], &in[1], &in[0].shape, &in[1].shape, &out[0].shape);
}

static pod_status conv2d_dx_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n_in;
    const conv_attr *a = n->attr;
    POD_TRY(check_operands("dy", &in[0], "the filter", &in[1], false));
    out[0] = images(in[0].dtype, in[0].shape.dim[0], a->rows, a->cols, in[1].shape.dim[3],
                    in[0].split[0]);
    return check_fit(a, &in[0], &in[1], &out[0].shape, &in[1].shape, &in[0].shape);
}

static pod_status conv2d_dw_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n_in;
    const conv_attr *a = n->attr;
    POD_TRY(check_operands("x", &in[0], "dy", &in[1], true));
    out[0] = images(POD_F32, in[1].shape.dim[3], a->rows, a->cols, in[0].shape.dim[3], 0);
    out[0].sum = in[0].split[0];
    if (in[0].split[0] != in[1].split[0]) return pod__want_alike("x", &in[0], "dy", &in[1]);
    return check_fit(a, &in[0], &in[1], &in[0].shape, &out[0].shape, &in[1].shape);
}

/* A core's own samples, with its own scale and shift, give its share of the whole. */
static pod_status check_act(const pod_type in[])
{
    POD_TRY(pod__want_no_parts("x", &in[0]));
    POD_TRY(pod__want_no_parts("the second operand", &in[1]));
    POD_TRY(pod__want_channels("the scale", &in[2], &in[0]));
    return pod__want_alike("the scale", &in[2], "the shift", &in[3]);
}

static void infer_sums(pod_type out[])
{
    out[1] = pod__channels_of(&out[0]);
    out[1].sum = pod__rows_split(&out[0]);
    out[2] = out[1];
}

static pod_status conv2d_fused_infer(const pod_node *n, const pod_type in[], int n_in,
                                     pod_type out[])
{
    const conv_attr *a = n->attr;
    POD_TRY(conv2d_infer(n, in, n_in, out));
    if (a->fused & POD_CONV_AFFINE_X) POD_TRY(check_act(in));
    if (a->fused & POD_CONV_SUMS) infer_sums(out);
    if (a->fused & POD_CONV_BIAS) return pod__want_channels("the bias", &in[2], &out[0]);
    return POD_OK;
}

static pod_status conv2d_dw_act_infer(const pod_node *n, const pod_type in[], int n_in,
                                      pod_type out[])
{
    POD_TRY(conv2d_dw_infer(n, in, n_in, out));
    return check_act(in);
}

static void conv2d_grad(pod_graph *g, const pod_node *n, const pod_value d_out[], const bool need[],
                        pod_value d_in[])
{
    const conv_attr *a = n->attr;
    pod_value x = n->in[0], w = n->in[1];
    const pod_type x_type = *pod_graph_type(g, x), w_type = *pod_graph_type(g, w);
    pod_value dy = pod_cast(g, d_out[0], x_type.dtype);
    if (need[0]) {
        const conv_attr dx = {a->stride,           a->pad, x_type.shape.dim[1], x_type.shape.dim[2],
                              POD_CONV_INPUT_GRAD, 0};
        d_in[0] = pod_op_add1(g, &pod__op_conv2d_dx, &dx, sizeof dx, (const pod_value[]){dy, w}, 2);
    }
    if (need[1]) {
        const conv_attr dw = {
            a->stride, a->pad, w_type.shape.dim[1], w_type.shape.dim[2], POD_CONV_WEIGHT_GRAD, 0};
        d_in[1] = pod_op_add1(g, &pod__op_conv2d_dw, &dw, sizeof dw, (const pod_value[]){x, dy}, 2);
    }
}

static pod_product conv_product(const pod_conv_shape *s, pod_conv_pass pass)
{
    const double window = (double)(s->r * s->s), stride = (double)(s->stride * s->stride);
    const double c = (double)s->c, k = (double)s->k;
    const double y_rows = (double)(s->n * s->p * s->q), x_rows = (double)(s->n * s->h * s->w);
    if (pass == POD_CONV_INPUT_GRAD) /* of a window, the places that the stride meets */
        return (pod_product){1, x_rows, c, window > stride ? window * k / stride : k};
    if (pass == POD_CONV_WEIGHT_GRAD) return (pod_product){1, k, window * c, y_rows};
    return (pod_product){1, y_rows, k, window * c};
}

static void conv_cost(const pod_node *n, const pod_type in[], const pod_type out[], pod_cost *cost)
{
    const conv_attr *a = n->attr;
    const pod_conv_shape s = conv_shape(a, &in[0].shape, &in[1].shape, &out[0].shape);
    pod__cost_of(n, in, out, 0, cost);
    cost->matrix_flops = pod_conv_flops(&s);
    cost->product = conv_product(&s, (pod_conv_pass)a->pass);
}

typedef struct conv_run_attr {
    pod_conv_shape shape;
    int32_t pass, dtype, kernel, fused;
} conv_run_attr;

static pod_conv_call call_of(const conv_run_attr *a)
{
    return (pod_conv_call){.shape = a->shape,
                           .pass = (pod_conv_pass)a->pass,
                           .dtype = (pod_dtype)a->dtype,
                           .fused = (unsigned)a->fused};
}

static void conv_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    const conv_run_attr *a = attr;
    int n;
    pod_conv_call call = call_of(a);
    call.a = in[0];
    call.b = in[1];
    call.out = out[0];
    if (call.fused & POD_CONV_AFFINE_X) {
        call.x_scale = in[2];
        call.x_shift = in[3];
    }
    if (call.fused & POD_CONV_BIAS) call.bias = in[2];
    if (call.fused & POD_CONV_SUMS) {
        call.sum = out[1];
        call.sum_sq = out[2];
    }
    pod_conv_kernels(&n)[a->kernel].run(&call, scratch);
}

static conv_run_attr run_attr_of(const pod_lower_args *args)
{
    const conv_attr *a = args->node->attr;
    return (conv_run_attr){
        .shape = conv_shape(a, &args->in_local[0], &args->in_local[1], &args->out_local[0]),
        .pass = (int32_t)a->pass,
        .dtype = (int32_t)args->in[0].dtype,
        .fused = (int32_t)a->fused};
}

static pod_status conv_lower(const pod_lower_args *args, pod_lowering *l)
{
    const conv_attr *a = args->node->attr;
    conv_run_attr run = run_attr_of(args);
    const pod_conv_call call = call_of(&run);
    POD_TRY(pod_conv_check(&call));
    int n;
    const pod_conv_kernel *const kernels = pod_conv_kernels(&n);
    const pod_choice how = pod_target_choice(args->target);
    const pod_conv_kernel *kernel = a->fused & POD_CONV_PACKED_W
                                        ? &kernels[((const packed_attr *)a)->kernel]
                                        : pod_conv_pick(&how, &call);
    run.kernel = (int32_t)(kernel - kernels);
    POD_TRY(pod__lower(args, conv_run, kernel->name, &run, sizeof run, l));
    l->scratch_bytes = kernel->scratch_bytes(&call);
    return POD_OK;
}

/* ---- packed filters ------------------------------------------------------------------------ */

static pod_status conv_packing(const pod_lower_args *args, pod_packing *out)
{
    const conv_attr *a = args->node->attr;
    const conv_run_attr run = run_attr_of(args);
    pod_conv_call call = call_of(&run);
    int n;
    const pod_choice how = pod_target_choice(args->target);
    const pod_conv_kernel *kernel = pod_conv_pick(&how, &call);
    call.fused |= POD_CONV_PACKED_W;
    out->bytes = 0;
    if (a->pass == POD_CONV_WEIGHT_GRAD || !kernel->pack || pod_conv_pick(&how, &call) != kernel)
        return POD_OK;
    const packed_attr packed = {.conv = *a,
                                .shape = run.shape,
                                .dtype = run.dtype,
                                .kernel = kernel - pod_conv_kernels(&n)};
    packed_attr *attr = pod_arena_copy(args->arena, &packed, _Alignof(packed_attr), sizeof packed);
    if (!attr) return POD_E_NOMEM;
    attr->conv.fused |= POD_CONV_PACKED_W;
    *out = (pod_packing){.input = 1,
                         .bytes = kernel->packed_bytes(&call),
                         .op = &pod__op_conv2d_pack,
                         .attr = attr,
                         .attr_bytes = sizeof *attr};
    return POD_OK;
}

typedef struct pack_run_attr {
    pod_conv_shape shape;
    int32_t pass, dtype, kernel, fused, from, unused;
} pack_run_attr;

static pod_conv_call packed_call(const pack_run_attr *a)
{
    return (pod_conv_call){.shape = a->shape,
                           .pass = (pod_conv_pass)a->pass,
                           .dtype = (pod_dtype)a->dtype,
                           .fused = (unsigned)a->fused};
}

static void conv2d_pack_run(const void *attr, const void *const in[], void *const out[],
                            void *scratch)
{
    (void)scratch;
    const pack_run_attr *a = attr;
    const pod_conv_call call = packed_call(a);
    int n;
    pod_conv_kernels(&n)[a->kernel].pack(&call, (pod_dtype)a->from, in[0], out[0]);
}

static pack_run_attr pack_attr_of(const packed_attr *a, pod_dtype from)
{
    return (pack_run_attr){.shape = a->shape,
                           .pass = (int32_t)a->conv.pass,
                           .dtype = (int32_t)a->dtype,
                           .kernel = (int32_t)a->kernel,
                           .fused = (int32_t)a->conv.fused,
                           .from = (int32_t)from};
}

static pod_status conv2d_pack_infer(const pod_node *n, const pod_type in[], int n_in,
                                    pod_type out[])
{
    const packed_attr *a = n->attr;
    const pack_run_attr run = pack_attr_of(a, in[0].dtype);
    const pod_conv_call call = packed_call(&run);
    int n_kernels;
    (void)n_in;
    POD_TRY(pod__want_dtype("the filter", &in[0], POD__FLOATS));
    POD_TRY(pod__want_whole("the filter", &in[0]));
    out[0] = pod_type_of(
        POD_U8, 1,
        (const int64_t[]){(int64_t)pod_conv_kernels(&n_kernels)[a->kernel].packed_bytes(&call)});
    return POD_OK;
}

static pod_status conv2d_pack_lower(const pod_lower_args *args, pod_lowering *l)
{
    const packed_attr *a = args->node->attr;
    const pack_run_attr run = pack_attr_of(a, args->in[0].dtype);
    int n;
    return pod__lower(args, conv2d_pack_run, pod_conv_kernels(&n)[a->kernel].name, &run, sizeof run,
                      l);
}

const pod_op pod__op_conv2d_pack = {.name = "conv2d_pack",
                                    .n_in = 1,
                                    .n_out = 1,
                                    .infer = conv2d_pack_infer,
                                    .ops_each = 1,
                                    .lower = conv2d_pack_lower};

/* ---- the table ----------------------------------------------------------------------------- */

#define CONV_OP(op_name, inputs, outputs, parts, samples, infer_fn, grad_fn) \
    const pod_op pod__op_##op_name = {.name = #op_name,                      \
                                      .n_in = (inputs),                      \
                                      .n_out = (outputs),                    \
                                      .takes_parts = (parts),                \
                                      .by_sample = (samples),                \
                                      .infer = (infer_fn),                   \
                                      .grad = (grad_fn),                     \
                                      .cost = conv_cost,                     \
                                      .packing = conv_packing,               \
                                      .lower = conv_lower}
CONV_OP(conv2d, 2, 1, false, "sw>s", conv2d_infer, conv2d_grad);
CONV_OP(conv2d_dx, 2, 1, false, "sw>s", conv2d_dx_infer, NULL);
CONV_OP(conv2d_dw, 2, 1, false, "ss>+", conv2d_dw_infer, NULL);
CONV_OP(conv2d_bias, 3, 1, false, "sww>s", conv2d_fused_infer, NULL);
CONV_OP(conv2d_sums, 2, 3, false, "sw>s++", conv2d_fused_infer, NULL);
CONV_OP(conv2d_act, 4, 1, true, "swww>s", conv2d_fused_infer, NULL);
CONV_OP(conv2d_act_sums, 4, 3, true, "swww>s++", conv2d_fused_infer, NULL);
CONV_OP(conv2d_dw_act, 4, 1, true, "ssww>+", conv2d_dw_act_infer, NULL);

pod_value pod_conv2d(pod_graph *g, pod_value x, pod_value w, pod_conv2d_attr attr)
{
    if (!pod__usable(g, x)) return (pod_value){0};
    if (attr.stride < 1 || attr.pad < 0)
        return pod_graph_fail(g, POD_E_INVALID, "conv2d: stride %d, padding %d", attr.stride,
                              attr.pad);
    const conv_attr a = {.stride = attr.stride,
                         .pad = pod__padding_of(g, x, w, 1, attr.stride, attr.pad, attr.same),
                         .pass = POD_CONV_FORWARD};
    w = pod_cast(g, w, pod_graph_type(g, x)->dtype);
    return pod_op_add1(g, &pod__op_conv2d, &a, sizeof a, (const pod_value[]){x, w}, 2);
}

/* ---- for the pass that fuses --------------------------------------------------------------- */

const char *pod_conv2d_why_not(const pod_fuse_args *args, unsigned bits)
{
    const conv_attr *a = args->node->attr;
    pod_conv_call call = {
        .shape = conv_shape(a, &args->in[0].shape, &args->in[1].shape, &args->out[0].shape),
        .pass = (pod_conv_pass)a->pass,
        .dtype = args->in[0].dtype,
        .fused = (unsigned)a->fused};
    call.shape.n = args->samples;
    int n;
    const pod_conv_kernel *first = pod_conv_kernels(&n);
    pod__rechoice r = {.how = &args->how, .kind = pod_conv_kind(&call)};
    r.now = (int)(pod_conv_pick(&args->how, &call) - first);
    call.fused |= bits;
    r.then = (int)(pod_conv_pick(&args->how, &call) - first);
    r.n = pod_conv_candidates(&call, r.candidate);
    return pod__why_no_gain(&r, args->arena);
}

pod_status pod_conv2d_fuse(pod_node *node, unsigned bits, pod_arena *arena)
{
    conv_attr attr = *(const conv_attr *)node->attr;
    attr.fused |= bits;
    const conv_attr *copy = pod_arena_copy(arena, &attr, _Alignof(conv_attr), sizeof attr);
    if (!copy) return POD_E_NOMEM;
    node->attr = copy;
    if (attr.pass == POD_CONV_WEIGHT_GRAD)
        node->op = &pod__op_conv2d_dw_act;
    else if (attr.fused & POD_CONV_BIAS)
        node->op = &pod__op_conv2d_bias;
    else if (!(attr.fused & POD_CONV_SUMS))
        node->op = &pod__op_conv2d_act;
    else
        node->op = attr.fused & POD_CONV_AFFINE_X ? &pod__op_conv2d_act_sums : &pod__op_conv2d_sums;
    return POD_OK;
}
