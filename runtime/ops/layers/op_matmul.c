/* matmul: (M, K) by (K, N), or batched (B, M, K) by (B, K, N), with transposes.
 *
 *   matmul_bias  a, b, bias (N)  -> c  the product of matrices and bias, or its relu; only passes
 *                                      make it (the fused bits of kernels/gemm) */
#include <math.h>

#include "kernels/gemm/gemm.h"
#include "runtime/ops/fused.h"
#include "runtime/ops/op_common.h"

typedef struct matmul_attr {
    int32_t trans_a, trans_b, c_dtype, fused;
} matmul_attr;

/* The positions of a matmul's dimensions in its operands. */
typedef struct places {
    int b; /* the batch's dimension in all three: 0, or -1 without a batch */
    int am, ak, bk, bn;
} places;

static places places_of(const matmul_attr *attr, int n_dims)
{
    const int first = n_dims - 2;
    return (places){.b = first - 1,
                    .am = first + (attr->trans_a ? 1 : 0),
                    .ak = first + (attr->trans_a ? 0 : 1),
                    .bk = first + (attr->trans_b ? 1 : 0),
                    .bn = first + (attr->trans_b ? 0 : 1)};
}

static pod_status do_not_fit(const matmul_attr *attr, const pod_type *a, const pod_type *b)
{
    char text_a[POD__TYPE_TEXT], text_b[POD__TYPE_TEXT];
    return pod_fail(POD_E_SHAPE, "a is %s%s, b is %s%s: they cannot be multiplied",
                    pod__type_print(a, text_a, sizeof text_a), attr->trans_a ? " transposed" : "",
                    pod__type_print(b, text_b, sizeof text_b), attr->trans_b ? " transposed" : "");
}

static pod_status matmul_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n_in;
    const matmul_attr *attr = n->attr;
    const pod_type *a = &in[0], *b = &in[1];
    const int n_dims = a->shape.n_dims;
    POD_TRY(pod__want_dtype("a", a, POD__FLOATS));
    if ((n_dims != 2 && n_dims != 3) || b->shape.n_dims != n_dims || b->dtype != a->dtype)
        return do_not_fit(attr, a, b);
    const places at = places_of(attr, n_dims);
    const bool batched = at.b >= 0;
    if (a->shape.dim[at.ak] != b->shape.dim[at.bk] || a->split[at.ak] != b->split[at.bk] ||
        (batched && (a->shape.dim[0] != b->shape.dim[0] || a->split[0] != b->split[0])))
        return do_not_fit(attr, a, b);
    const unsigned batch_split = batched ? a->split[0] : 0;
    const unsigned m = a->split[at.am], k = a->split[at.ak], cols = b->split[at.bn];
    if ((m & cols) || (k & (m | cols)) || (batch_split & (m | k | cols)))
        return do_not_fit(attr, a, b);
    pod_type c = {.dtype = (pod_dtype)attr->c_dtype, .shape = {.n_dims = n_dims}};
    if (batched) c.shape.dim[0] = a->shape.dim[0], c.split[0] = a->split[0];
    c.shape.dim[n_dims - 2] = a->shape.dim[at.am], c.split[n_dims - 2] = a->split[at.am];
    c.shape.dim[n_dims - 1] = b->shape.dim[at.bn], c.split[n_dims - 1] = b->split[at.bn];
    c.sum = a->split[at.ak];
    out[0] = c;
    return pod__want_dtype("the result", &c, POD__FLOATS);
}

static pod_status matmul_bias_infer(const pod_node *n, const pod_type in[], int n_in,
                                    pod_type out[])
{
    POD_TRY(matmul_infer(n, in, n_in, out));
    POD_TRY(pod__want_dims("a", &in[0], 2));
    POD_TRY(pod__want_no_parts("the product", &out[0]));
    return pod__want_channels("the bias", &in[2], &out[0]);
}

/* The type an operand's gradient is made in: that of what it was cast from, so that weights get
 * float32 straight from the accumulators. */
static int32_t grad_dtype(const pod_graph *g, pod_value operand)
{
    const pod_node *maker = pod_graph_maker(g, operand);
    pod_value origin = maker->op == &pod__op_cast ? maker->in[0] : operand;
    return (int32_t)pod_graph_type(g, origin)->dtype;
}

static pod_value product(pod_graph *g, pod_value a, pod_value b, bool trans_a, bool trans_b,
                         int32_t c_dtype)
{
    const matmul_attr attr = {trans_a, trans_b, c_dtype, 0};
    return pod_op_add1(g, &pod__op_matmul, &attr, sizeof attr, (pod_value[]){a, b}, 2);
}

static void matmul_grad(pod_graph *g, const pod_node *n, const pod_value d_out[], const bool need[],
                        pod_value d_in[])
{
    const matmul_attr *attr = n->attr;
    const bool ta = attr->trans_a != 0, tb = attr->trans_b != 0;
    pod_value a = n->in[0], b = n->in[1];
    pod_value dc = pod_cast(g, d_out[0], pod_graph_type(g, a)->dtype);
    /* A weight's first: then its all-reduce starts sooner, and a may be gone before its gradient
     * comes. */
    if (need[1])
        d_in[1] = tb ? product(g, dc, a, true, ta, grad_dtype(g, b))
                     : product(g, a, dc, !ta, false, grad_dtype(g, b));
    if (need[0])
        d_in[0] = ta ? product(g, b, dc, tb, true, grad_dtype(g, a))
                     : product(g, dc, b, false, !tb, grad_dtype(g, a));
}

static void matmul_cost(const pod_node *n, const pod_type in[], const pod_type out[],
                        pod_cost *cost)
{
    const places at = places_of(n->attr, in[0].shape.n_dims);
    const int64_t *a = in[0].shape.dim;
    pod__cost_of(n, in, out, 0, cost);
    cost->matrix_flops = 2 * (double)pod_shape_count(&out[0].shape) * (double)a[at.ak];
    cost->product = (pod_product){.count = at.b < 0 ? 1 : (double)a[at.b],
                                  .rows = (double)a[at.am],
                                  .cols = (double)pod__last(&out[0].shape),
                                  .depth = (double)a[at.ak]};
}

typedef struct matmul_run_attr {
    int64_t m, n, k, n_batch;
    int32_t trans_a, trans_b, ab_dtype, c_dtype, kernel, fused;
} matmul_run_attr;

static pod_gemm_call call_of(const matmul_run_attr *a)
{
    return (pod_gemm_call){.shape = {a->m, a->n, a->k},
                           .n_batch = a->n_batch,
                           .stride_a = a->m * a->k,
                           .stride_b = a->k * a->n,
                           .stride_c = a->m * a->n,
                           .trans_a = a->trans_a != 0,
                           .trans_b = a->trans_b != 0,
                           .ab_dtype = (pod_dtype)a->ab_dtype,
                           .c_dtype = (pod_dtype)a->c_dtype,
                           .lda = a->trans_a ? a->m : a->k,
                           .ldb = a->trans_b ? a->k : a->n,
                           .ldc = a->n,
                           .fused = (unsigned)a->fused};
}

static void matmul_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    const matmul_run_attr *a = attr;
    int n;
    pod_gemm_call call = call_of(a);
    call.a = in[0];
    call.b = in[1];
    call.c = out[0];
    if (call.fused & POD_GEMM_BIAS) call.bias = in[2];
    pod_gemm_kernels(&n)[a->kernel].run(&call, scratch);
}

/* `a` and `c` as one core holds them. */
static matmul_run_attr run_attr_of(const matmul_attr *attr, const pod_shape *a, const pod_shape *c,
                                   pod_dtype ab_dtype)
{
    const places at = places_of(attr, a->n_dims);
    return (matmul_run_attr){.m = c->dim[c->n_dims - 2],
                             .n = c->dim[c->n_dims - 1],
                             .k = a->dim[at.ak],
                             .n_batch = at.b >= 0 ? a->dim[0] : 1,
                             .trans_a = attr->trans_a,
                             .trans_b = attr->trans_b,
                             .ab_dtype = (int32_t)ab_dtype,
                             .c_dtype = attr->c_dtype,
                             .fused = attr->fused};
}

/* Attribute of kernels that take a packed b, whose shape can no longer be read off the value. */
typedef struct packed_attr {
    matmul_attr matmul;
    int32_t kernel; /* packs and multiplies */
    int32_t unused; /* no padding: the fingerprint is of all bytes */
    matmul_run_attr run;
} packed_attr;

static pod_status matmul_lower(const pod_lower_args *args, pod_lowering *l)
{
    const matmul_attr *attr = args->node->attr;
    matmul_run_attr run =
        run_attr_of(attr, &args->in_local[0], &args->out_local[0], args->in[0].dtype);
    const pod_gemm_call call = call_of(&run);
    POD_TRY(pod_gemm_check(&call));
    int n;
    const pod_gemm_kernel *const kernels = pod_gemm_kernels(&n);
    const pod_choice how = pod_target_choice(args->target);
    const pod_gemm_kernel *kernel = attr->fused & POD_GEMM_PACKED_B
                                        ? &kernels[((const packed_attr *)args->node->attr)->kernel]
                                        : pod_gemm_pick(&how, &call);
    run.kernel = (int32_t)(kernel - kernels);
    POD_TRY(pod__lower(args, matmul_run, kernel->name, &run, sizeof run, l));
    l->scratch_bytes = kernel->scratch_bytes(&call);
    return POD_OK;
}

/* ---- a packed b ---------------------------------------------------------------------------- */

static pod_status matmul_packing(const pod_lower_args *args, pod_packing *out)
{
    const matmul_attr *a = args->node->attr;
    const matmul_run_attr run =
        run_attr_of(a, &args->in_local[0], &args->out_local[0], args->in[0].dtype);
    pod_gemm_call call = call_of(&run);
    int n;
    const pod_choice how = pod_target_choice(args->target);
    const pod_gemm_kernel *kernel = pod_gemm_pick(&how, &call);
    call.fused |= POD_GEMM_PACKED_B;
    out->bytes = 0;
    if (args->in[0].shape.n_dims != 2 || !kernel->pack || pod_gemm_pick(&how, &call) != kernel)
        return POD_OK;
    const packed_attr packed = {
        .matmul = *a, .kernel = (int32_t)(kernel - pod_gemm_kernels(&n)), .run = run};
    packed_attr *attr = pod_arena_copy(args->arena, &packed, _Alignof(packed_attr), sizeof packed);
    if (!attr) return POD_E_NOMEM;
    attr->matmul.fused |= POD_GEMM_PACKED_B;
    attr->run.kernel = attr->kernel;
    *out = (pod_packing){.input = 1,
                         .bytes = kernel->packed_bytes(&call),
                         .op = &pod__op_matmul_pack,
                         .attr = attr,
                         .attr_bytes = sizeof *attr};
    return POD_OK;
}

typedef struct pack_run_attr {
    matmul_run_attr of;
    int64_t from;
} pack_run_attr;

static void matmul_pack_run(const void *attr, const void *const in[], void *const out[],
                            void *scratch)
{
    (void)scratch;
    const pack_run_attr *a = attr;
    const pod_gemm_call call = call_of(&a->of);
    int n;
    pod_gemm_kernels(&n)[a->of.kernel].pack(&call, (pod_dtype)a->from, in[0], out[0]);
}

static pod_status matmul_pack_infer(const pod_node *n, const pod_type in[], int n_in,
                                    pod_type out[])
{
    const packed_attr *a = n->attr;
    const pod_gemm_call call = call_of(&a->run);
    int n_kernels;
    (void)n_in;
    POD_TRY(pod__want_dtype("b", &in[0], POD__FLOATS));
    POD_TRY(pod__want_whole("b", &in[0]));
    out[0] = pod_type_of(
        POD_U8, 1,
        (const int64_t[]){(int64_t)pod_gemm_kernels(&n_kernels)[a->kernel].packed_bytes(&call)});
    return POD_OK;
}

static pod_status matmul_pack_lower(const pod_lower_args *args, pod_lowering *l)
{
    const packed_attr *a = args->node->attr;
    const pack_run_attr run = {a->run, args->in[0].dtype};
    int n;
    return pod__lower(args, matmul_pack_run, pod_gemm_kernels(&n)[a->kernel].name, &run, sizeof run,
                      l);
}

const pod_op pod__op_matmul_pack = {.name = "matmul_pack",
                                    .n_in = 1,
                                    .n_out = 1,
                                    .infer = matmul_pack_infer,
                                    .ops_each = 1,
                                    .lower = matmul_pack_lower};

const pod_op pod__op_matmul = {.name = "matmul",
                               .n_in = 2,
                               .n_out = 1,
                               .infer = matmul_infer,
                               .grad = matmul_grad,
                               .cost = matmul_cost,
                               .packing = matmul_packing,
                               .lower = matmul_lower};

const pod_op pod__op_matmul_bias = {.name = "matmul_bias",
                                    .n_in = 3,
                                    .n_out = 1,
                                    .infer = matmul_bias_infer,
                                    .cost = matmul_cost,
                                    .packing = matmul_packing,
                                    .lower = matmul_lower};

pod_value pod_matmul(pod_graph *g, pod_value a, pod_value b, pod_matmul_attr attr)
{
    return product(g, a, b, attr.trans_a, attr.trans_b, (int32_t)attr.c_dtype);
}

/* Weights start normal with variance 1/F, which keeps the variance of what passes through (LeCun et
 * al., "Efficient BackProp", 1998, section 4.6). */
pod_value pod_dense(pod_graph *g, pod_value x, int64_t units, bool with_bias)
{
    if (!pod__usable(g, x)) return (pod_value){0};
    const pod_type t = *pod_graph_type(g, x);
    if (t.shape.n_dims != 2) {
        char got[POD__TYPE_TEXT];
        return pod_graph_fail(g, POD_E_SHAPE, "dense: input is %s, need (N, F)",
                              pod__type_print(&t, got, sizeof got));
    }
    const int64_t features = t.shape.dim[1];
    pod_value w =
        pod_weight(g, "w", (pod_shape){.n_dims = 2, .dim = {features, units}},
                   (pod_init){.kind = POD_INIT_NORMAL, .scale = sqrtf(1.0f / (float)features)},
                   POD_ROLE_WEIGHT);
    pod_value y = pod_matmul(g, x, pod_cast(g, w, t.dtype), (pod_matmul_attr){.c_dtype = t.dtype});
    if (!with_bias) return y;
    pod_value b = pod_weight(g, "b", (pod_shape){.n_dims = 1, .dim = {units}},
                             (pod_init){.kind = POD_INIT_ZERO}, POD_ROLE_BIAS);
    return pod_bias_add(g, y, b);
}

/* ---- for the pass that fuses --------------------------------------------------------------- */

const char *pod_matmul_why_not(const pod_fuse_args *args, unsigned bits, pod_dtype c_dtype)
{
    const matmul_attr *attr = args->node->attr;
    pod_shape c = args->out[0].shape;
    c.dim[0] = args->samples;
    if (c.n_dims != 2 || attr->trans_a) return "not rows of samples by a matrix";
    const matmul_run_attr run = run_attr_of(attr, &args->in[0].shape, &c, args->in[0].dtype);
    pod_gemm_call call = call_of(&run);
    int n;
    const pod_gemm_kernel *first = pod_gemm_kernels(&n);
    pod__rechoice r = {.how = &args->how, .kind = pod_gemm_kind(&call)};
    r.now = (int)(pod_gemm_pick(&args->how, &call) - first);
    call.fused |= bits;
    call.c_dtype = c_dtype;
    r.then = (int)(pod_gemm_pick(&args->how, &call) - first);
    r.n = pod_gemm_candidates(&call, r.candidate);
    return pod__why_no_gain(&r, args->arena);
}

pod_status pod_matmul_fuse(pod_node *node, unsigned bits, pod_dtype c_dtype, pod_arena *arena)
{
    matmul_attr attr = *(const matmul_attr *)node->attr;
    attr.fused |= (int32_t)bits;
    attr.c_dtype = (int32_t)c_dtype;
    const matmul_attr *copy = pod_arena_copy(arena, &attr, _Alignof(matmul_attr), sizeof attr);
    if (!copy) return POD_E_NOMEM;
    node->attr = copy;
    node->op = &pod__op_matmul_bias;
    return POD_OK;
}
