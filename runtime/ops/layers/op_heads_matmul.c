/* heads_matmul: matmuls of each head, whose rows lie among those of the other heads; nothing is
 * transposed or copied in memory. Tokens x are (N, S, H) with H = heads D: head h of x is features
 * [h D, (h + 1) D). Scores are (N, heads, Sq, Sk), all of one type. For each sequence and head
 *
 *   SCORES  x (N, Sq, H), y (N, Sk, H)             -> x y^T, scores
 *   QUERIES p (N, heads, Sq, Sk), y (N, Sk, H)     -> p y (N, Sq, H)
 *   KEYS    p (N, heads, Sq, Sk), x (N, Sq, H)     -> p^T x (N, Sk, H)
 *
 * The gradients of each form are made of the two others. */
#include "kernels/gemm/gemm.h"
#include "runtime/ops/op_common.h"

typedef struct heads_attr {
    int32_t form, n_heads;
} heads_attr;

/* ---- types --------------------------------------------------------------------------------- */

static pod_status want_heads(const char *what, const pod_type *t, int n_heads)
{
    POD_TRY(pod__want_tokens(what, t));
    if (n_heads < 1) return pod_fail(POD_E_SHAPE, "%d heads, need 1 or more", n_heads);
    if (t->shape.dim[2] % n_heads == 0) return POD_OK;
    return pod_fail(POD_E_SHAPE, "%lld features do not divide into %d heads",
                    (long long)t->shape.dim[2], n_heads);
}

/* b, beside what it is to have of a's samples, and of one of a's dimensions. */
static pod_status want_b(const pod_type *a, const pod_type *b, int d, int of_a, const char *what)
{
    char text_a[POD__TYPE_TEXT], text_b[POD__TYPE_TEXT];
    if (a->dtype == b->dtype && a->shape.dim[0] == b->shape.dim[0] && a->split[0] == b->split[0] &&
        a->shape.dim[of_a] == b->shape.dim[d])
        return POD_OK;
    return pod_fail(POD_E_SHAPE, "a is %s, b is %s: need the same type, samples and %s",
                    pod__type_print(a, text_a, sizeof text_a),
                    pod__type_print(b, text_b, sizeof text_b), what);
}

static pod_status scores_infer(const heads_attr *attr, const pod_type in[], pod_type out[])
{
    const pod_type *x = &in[0], *y = &in[1];
    POD_TRY(want_heads("a", x, attr->n_heads));
    POD_TRY(want_b(x, y, 2, 2, "features"));
    const int64_t dim[] = {x->shape.dim[0], attr->n_heads, x->shape.dim[1], y->shape.dim[1]};
    out[0] = pod_type_of(x->dtype, 4, dim);
    out[0].split[0] = x->split[0];
    return POD_OK;
}

static pod_status heads_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n_in;
    const heads_attr *attr = n->attr;
    const pod_type *p = &in[0], *x = &in[1];
    POD_TRY(want_heads("b", x, attr->n_heads));
    if (attr->form == POD_HEADS_SCORES) return scores_infer(attr, in, out);
    const int of_p =
        attr->form == POD_HEADS_QUERIES ? 3 : 2; /* the dimension that is summed over */
    POD_TRY(pod__want_dims("a", p, 4));
    POD_TRY(pod__want_only_rows_split("a", p));
    POD_TRY(pod__want_no_parts("a", p));
    if (p->shape.dim[1] != attr->n_heads)
        return pod_fail(POD_E_SHAPE, "a has %lld heads, need %d", (long long)p->shape.dim[1],
                        (int)attr->n_heads);
    POD_TRY(want_b(p, x, 1, of_p, of_p == 3 ? "keys" : "queries"));
    out[0] = *x;
    out[0].shape.dim[1] = p->shape.dim[5 - of_p];
    return POD_OK;
}

/* ---- gradients ----------------------------------------------------------------------------- */

pod_value pod_heads_matmul(pod_graph *g, pod_heads_form form, int n_heads, pod_value a, pod_value b)
{
    const heads_attr attr = {(int32_t)form, n_heads};
    return pod_op_add1(g, &pod__op_heads_matmul, &attr, sizeof attr, (const pod_value[]){a, b}, 2);
}

static void heads_grad(pod_graph *g, const pod_node *n, const pod_value d_out[], const bool need[],
                       pod_value d_in[])
{
    const heads_attr *attr = n->attr;
    const int h = attr->n_heads;
    const pod_value a = n->in[0], b = n->in[1];
    const pod_value d = pod_cast(g, d_out[0], pod_graph_type(g, a)->dtype);
    switch ((pod_heads_form)attr->form) {
    case POD_HEADS_SCORES:
        if (need[0]) d_in[0] = pod_heads_matmul(g, POD_HEADS_QUERIES, h, d, b);
        if (need[1]) d_in[1] = pod_heads_matmul(g, POD_HEADS_KEYS, h, d, a);
        break;
    case POD_HEADS_QUERIES:
        if (need[0]) d_in[0] = pod_heads_matmul(g, POD_HEADS_SCORES, h, d, b);
        if (need[1]) d_in[1] = pod_heads_matmul(g, POD_HEADS_KEYS, h, a, d);
        break;
    default:
        if (need[0]) d_in[0] = pod_heads_matmul(g, POD_HEADS_SCORES, h, b, d);
        if (need[1]) d_in[1] = pod_heads_matmul(g, POD_HEADS_QUERIES, h, a, d);
    }
}

/* ---- kernels ------------------------------------------------------------------------------- */

typedef struct heads_run_attr {
    int64_t n, sq, sk, heads, d;
    int32_t form, dtype, kernel, unused;
} heads_run_attr;

/* All heads of a sequence; pointers are not set. */
static pod_gemm_call call_of(const heads_run_attr *a)
{
    const int64_t h = a->heads * a->d, scores = a->sq * a->sk;
    pod_gemm_call call = {.n_batch = a->heads,
                          .stride_a = scores,
                          .stride_b = a->d,
                          .stride_c = a->d,
                          .ab_dtype = (pod_dtype)a->dtype,
                          .c_dtype = (pod_dtype)a->dtype,
                          .lda = a->sk,
                          .ldb = h,
                          .ldc = h};
    switch ((pod_heads_form)a->form) {
    case POD_HEADS_SCORES:
        call.shape = (pod_gemm_shape){a->sq, a->sk, a->d};
        call.trans_b = true;
        call.stride_a = a->d, call.stride_c = scores;
        call.lda = h, call.ldc = a->sk;
        break;
    case POD_HEADS_QUERIES: call.shape = (pod_gemm_shape){a->sq, a->d, a->sk}; break;
    default: call.shape = (pod_gemm_shape){a->sk, a->d, a->sq}; call.trans_a = true;
    }
    return call;
}

static size_t bytes_of(int64_t elements, int32_t dtype)
{
    return (size_t)elements * pod_dtype_bytes((pod_dtype)dtype);
}

static void heads_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    const heads_run_attr *a = attr;
    const int64_t h = a->heads * a->d, q = a->sq * h, k = a->sk * h;
    const int64_t scores = a->heads * a->sq * a->sk;
    const bool to_scores = a->form == POD_HEADS_SCORES, to_keys = a->form == POD_HEADS_KEYS;
    const size_t a_bytes = bytes_of(to_scores ? q : scores, a->dtype);
    const size_t b_bytes = bytes_of(to_keys ? q : k, a->dtype);
    const size_t c_bytes = bytes_of(to_scores ? scores : to_keys ? k : q, a->dtype);
    int n_kernels;
    const pod_gemm_kernel *kernel = &pod_gemm_kernels(&n_kernels)[a->kernel];
    pod_gemm_call call = call_of(a);
    for (int64_t n = 0; n < a->n; n++) {
        call.a = (const char *)in[0] + (size_t)n * a_bytes;
        call.b = (const char *)in[1] + (size_t)n * b_bytes;
        call.c = (char *)out[0] + (size_t)n * c_bytes;
        kernel->run(&call, scratch);
    }
}

/* Of all samples, or of those of a core. */
static heads_run_attr run_attr_of(const heads_attr *attr, const pod_shape *a, const pod_shape *b,
                                  pod_dtype t)
{
    const bool to_scores = attr->form == POD_HEADS_SCORES;
    return (heads_run_attr){.n = a->dim[0],
                            .sq = a->dim[to_scores ? 1 : 2],
                            .sk = to_scores ? b->dim[1] : a->dim[3],
                            .heads = attr->n_heads,
                            .d = b->dim[2] / attr->n_heads,
                            .form = attr->form,
                            .dtype = (int32_t)t};
}

static void heads_cost(const pod_node *n, const pod_type in[], const pod_type out[], pod_cost *cost)
{
    const heads_run_attr a = run_attr_of(n->attr, &in[0].shape, &in[1].shape, in[0].dtype);
    const pod_gemm_shape s = call_of(&a).shape;
    pod__cost_of(n, in, out, 0, cost);
    cost->product = (pod_product){.count = (double)a.n * (double)a.heads,
                                  .rows = (double)s.m,
                                  .cols = (double)s.n,
                                  .depth = (double)s.k};
    cost->matrix_flops =
        2 * cost->product.count * cost->product.rows * cost->product.cols * cost->product.depth;
}

static pod_status heads_lower(const pod_lower_args *args, pod_lowering *l)
{
    heads_run_attr run =
        run_attr_of(args->node->attr, &args->in_local[0], &args->in_local[1], args->in[0].dtype);
    const pod_gemm_call call = call_of(&run);
    const pod_choice how = pod_target_choice(args->target);
    int n;
    POD_TRY(pod_gemm_check(&call));
    const pod_gemm_kernel *kernel = pod_gemm_pick(&how, &call);
    run.kernel = (int32_t)(kernel - pod_gemm_kernels(&n));
    POD_TRY(pod__lower(args, heads_run, kernel->name, &run, sizeof run, l));
    l->scratch_bytes = kernel->scratch_bytes(&call);
    return POD_OK;
}

const pod_op pod__op_heads_matmul = {.name = "heads_matmul",
                                     .n_in = 2,
                                     .n_out = 1,
                                     .infer = heads_infer,
                                     .grad = heads_grad,
                                     .cost = heads_cost,
                                     .lower = heads_lower};
