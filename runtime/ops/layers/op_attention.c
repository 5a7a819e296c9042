/* Scaled dot-product attention over heads: kernels/attention, which stores no scores, or the plain
 * form, in which they are values between two heads_matmul.
 *
 *   attention                q, k, v [, mask] [, draws]              -> o, lse
 *   attention_grad           q, k, v, o, lse, do [, mask] [, draws]  -> dq, dk, dv
 *   attention_softmax        s [, mask]                              -> p
 *   attention_softmax_grad   p, dp [, mask]                          -> ds
 *
 * s, p, dp and ds are (N, heads, Sq, Sk), of one type; s is not yet scaled.
 * q, o, do and dq are (N, Sq, H), k, v, dk and dv (N, Sk, H), of one type; lse is float32
 * (N, heads, Sq), for the gradient, and has none. The mask is lengths (N), or q_ends and k_ends (N, P),
 * and draws are (N), all int32; the attribute says what is there. */
#include <math.h>

#include "kernels/base/hash.h"
#include "runtime/ops/op_common.h"

typedef struct attention_attr {
    int32_t n_heads, causal;
    int32_t n_mask, has_draws; /* values of the mask: 1 of lengths, 2 of ends */
    uint32_t layer;
    float scale, rate;
} attention_attr;

enum { N_ENDS = 2 };

/* ---- types --------------------------------------------------------------------------------- */

/* k, which has the samples, the features and the type of q, and its own number of tokens. */
static pod_status want_keys(const attention_attr *a, const pod_type *q, const pod_type *k)
{
    char of_q[POD__TYPE_TEXT], of_k[POD__TYPE_TEXT];
    pod_type like_q = *k;
    like_q.shape.dim[1] = q->shape.dim[1];
    if (k->dtype != q->dtype || !pod_shape_equal(&like_q.shape, &q->shape) ||
        k->split[0] != q->split[0])
        return pod_fail(POD_E_SHAPE, "q is %s, k is %s: need the same but for the tokens",
                        pod__type_print(q, of_q, sizeof of_q),
                        pod__type_print(k, of_k, sizeof of_k));
    if (a->causal && k->shape.dim[1] != q->shape.dim[1])
        return pod_fail(POD_E_SHAPE, "q is %s, k is %s: causal attention needs as many tokens",
                        pod__type_print(q, of_q, sizeof of_q),
                        pod__type_print(k, of_k, sizeof of_k));
    return POD_OK;
}

static pod_status want_per_sample(const char *what, const pod_type *t, const char *of_what,
                                  const pod_type *q)
{
    char got[POD__TYPE_TEXT], of[POD__TYPE_TEXT];
    POD_TRY(pod__want_dtype(what, t, 1u << POD_I32));
    POD_TRY(pod__want_no_parts(what, t));
    if (t->shape.n_dims == 1 && t->shape.dim[0] == q->shape.dim[0] && t->split[0] == q->split[0])
        return POD_OK;
    return pod_fail(POD_E_SHAPE, "%s are %s, %s %s: need one number a sample", what,
                    pod__type_print(t, got, sizeof got), of_what,
                    pod__type_print(q, of, sizeof of));
}

/* q_ends and k_ends behind it. */
static pod_status want_ends(const pod_type ends[], const char *of_what, const pod_type *q)
{
    POD_TRY(pod__want_dtype("the ends", &ends[0], 1u << POD_I32));
    POD_TRY(pod__want_dims("the ends", &ends[0], 2));
    POD_TRY(pod__want_only_rows_split("the ends", &ends[0]));
    POD_TRY(pod__want_no_parts("the ends", &ends[0]));
    POD_TRY(pod__want_alike("ends of queries", &ends[0], "those of keys", &ends[1]));
    pod_type of_sample = ends[0];
    of_sample.shape.n_dims = 1;
    return want_per_sample("parts", &of_sample, of_what, q);
}

static pod_status want_mask(const attention_attr *a, const pod_type mask[], const char *of_what,
                            const pod_type *of)
{
    if (a->n_mask == 1) return want_per_sample("lengths", mask, of_what, of);
    return a->n_mask == N_ENDS ? want_ends(mask, of_what, of) : POD_OK;
}

/* The inputs of both ops: q, k, v first, and behind `n_fixed` inputs what the attribute says. */
static pod_status want_inputs(const attention_attr *a, const pod_type in[], int n_in, int n_fixed)
{
    POD_TRY(pod__want_tokens("q", &in[0]));
    POD_TRY(pod__want_tokens("k", &in[1]));
    POD_TRY(want_keys(a, &in[0], &in[1]));
    POD_TRY(pod__want_alike("k", &in[1], "v", &in[2]));
    const int64_t features = in[0].shape.dim[2];
    if (features % a->n_heads != 0)
        return pod_fail(POD_E_SHAPE, "%lld features do not divide into %d heads",
                        (long long)features, (int)a->n_heads);
    POD_ASSERT(n_in == n_fixed + a->n_mask + a->has_draws, "%d inputs", n_in);
    POD_TRY(want_mask(a, &in[n_fixed], "q is", &in[0]));
    if (a->has_draws) POD_TRY(want_per_sample("draws", &in[n_fixed + a->n_mask], "q is", &in[0]));
    return POD_OK;
}

static pod_type lse_of(const attention_attr *a, const pod_type *q)
{
    const int64_t *dim = q->shape.dim;
    pod_type t = pod_type_of(POD_F32, 3, (const int64_t[]){dim[0], a->n_heads, dim[1]});
    t.split[0] = q->split[0];
    return t;
}

enum { Q, K, V, N_FIXED, O = N_FIXED, LSE, D_O, N_GRAD_FIXED };

static pod_status attention_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    POD_TRY(want_inputs(n->attr, in, n_in, N_FIXED));
    out[0] = in[Q];
    out[1] = lse_of(n->attr, &in[Q]);
    return POD_OK;
}

static pod_status grad_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    const pod_type lse = lse_of(n->attr, &in[Q]);
    POD_TRY(want_inputs(n->attr, in, n_in, N_GRAD_FIXED));
    POD_TRY(pod__want_alike("q", &in[Q], "o", &in[O]));
    POD_TRY(pod__want_alike("lse", &in[LSE], "one number a head and query", &lse));
    POD_TRY(pod__want_alike("q", &in[Q], "do", &in[D_O]));
    out[0] = in[Q];
    out[1] = in[K];
    out[2] = in[V];
    return POD_OK;
}

static void attention_grad(pod_graph *g, const pod_node *n, const pod_value d_out[],
                           const bool need[], pod_value d_in[])
{
    if (!d_out[0].id) return;
    pod_value in[POD_MAX_VALUES] = {n->in[Q], n->in[K], n->in[V], pod_node_out(n, 0),
                                    pod_node_out(n, 1)};
    pod_value d[3];
    in[D_O] = pod_cast(g, d_out[0], pod_graph_type(g, n->in[Q])->dtype);
    for (int i = N_FIXED; i < n->n_in; i++) in[N_GRAD_FIXED + i - N_FIXED] = n->in[i];
    pod_op_add(g, &pod__op_attention_grad, n->attr, n->attr_bytes, in,
               N_GRAD_FIXED + n->n_in - N_FIXED, d);
    for (int i = 0; i < 3; i++)
        if (need[i]) d_in[i] = d[i];
}

/* ---- cost ---------------------------------------------------------------------------------- */

static pod_attention_shape shape_of(const attention_attr *a, const pod_shape *q, const pod_shape *k,
                                    pod_dtype t)
{
    return (pod_attention_shape){.n = q->dim[0],
                                 .sq = q->dim[1],
                                 .sk = k->dim[1],
                                 .heads = a->n_heads,
                                 .d = q->dim[2] / a->n_heads,
                                 .t = t,
                                 .scale = a->scale,
                                 .causal = a->causal != 0,
                                 .rate = a->rate,
                                 .layer = a->layer};
}

typedef struct work {       /* per score, but for the matmuls and passes, which are of all */
    int n_needed, n_run;    /* matmuls of the formulas, and of our kernels */
    double ops, exps_apart; /* operations; exponentials that unfused sweeps compute once more */
    double ops_apart;       /* operations of unfused sweeps */
    double passes, at_once; /* pod_unfused */
} work;

/* matrix_flops counts what the formulas need for all scores, causal or padded or not: two matmuls
 * forward, four backward. `product` counts what runs: backward computes the scores again. Every sweep
 * that needs probabilities computes the exponential, and draws what dropout keeps. */
static void cost_of(const pod_node *n, const pod_type in[], const pod_type out[], const work *w,
                    pod_cost *cost)
{
    enum { EXP = 10, DROP = 3 }; /* draw, compare, multiply */
    const pod_attention_shape s = shape_of(n->attr, &in[Q].shape, &in[K].shape, in[Q].dtype);
    const double heads = (double)s.n * (double)s.heads, sq = (double)s.sq, sk = (double)s.sk;
    const double drop = s.rate > 0 ? DROP : 0, scores = heads * sq * sk;
    const int n_kept = n->op == &pod__op_attention ? n->n_in + 1 : LSE;
    pod__cost_of(n, in, out, scores * (w->ops + EXP + drop), cost);
    cost->matrix_flops = w->n_needed * pod_attention_matmul_flops(&s);
    cost->product =
        (pod_product){.count = w->n_run * heads, .rows = sq, .cols = sk, .depth = (double)s.d};
    cost->unfused =
        (pod_unfused){.matrices = heads,
                      .score_bytes = (double)pod_dtype_bytes(in[Q].dtype),
                      .matmuls = w->n_needed,
                      .vector_ops = scores * (w->ops_apart + w->exps_apart * (EXP + drop)),
                      .passes = w->passes,
                      .at_once = w->at_once,
                      .beside = n_kept};
}

/* Fused: maximum, subtract, exponential, sum. Unfused, three sweeps: the scores with mask and
 * maximum, which stay; the sum of their exponentials; the exponentials as an operand. */
static void attention_cost(const pod_node *n, const pod_type in[], const pod_type out[],
                           pod_cost *cost)
{
    static const work w = {2, 2, 3, 2, 6, 2, 1};
    cost_of(n, in, out, &w, cost);
}

/* Fused: subtract, exponential, subtract, multiply. Unfused, four matmuls: the gradient of the
 * probabilities, which is written, with the row sums of its product with them; dv, which reads the
 * scores; dq and dk, which read both. */
static void grad_cost(const pod_node *n, const pod_type in[], const pod_type out[], pod_cost *cost)
{
    static const work w = {4, 5, 3, 4, 10, 6, 2};
    cost_of(n, in, out, &w, cost);
}

/* ---- kernels ------------------------------------------------------------------------------- */

typedef struct attention_run_attr {
    int64_t n, sq, sk, heads, d, n_parts;
    int32_t dtype, causal, n_mask, has_draws, set;
    uint32_t layer;
    float scale, rate;
} attention_run_attr;

static pod_attention_shape run_shape(const attention_run_attr *a)
{
    return (pod_attention_shape){.n = a->n,
                                 .sq = a->sq,
                                 .sk = a->sk,
                                 .heads = a->heads,
                                 .d = a->d,
                                 .n_parts = a->n_parts,
                                 .t = (pod_dtype)a->dtype,
                                 .scale = a->scale,
                                 .causal = a->causal != 0,
                                 .rate = a->rate,
                                 .layer = a->layer};
}

/* Mask and draws, which are behind the fixed inputs. */
static pod_attention_inputs run_mask(const attention_run_attr *a, const void *const mask[])
{
    return (pod_attention_inputs){.lengths = a->n_mask == 1 ? mask[0] : NULL,
                                  .q_ends = a->n_mask == N_ENDS ? mask[0] : NULL,
                                  .k_ends = a->n_mask == N_ENDS ? mask[1] : NULL,
                                  .draws = a->has_draws ? mask[a->n_mask] : NULL};
}

static pod_attention_inputs run_inputs(const attention_run_attr *a, const void *const in[],
                                       int n_fixed)
{
    pod_attention_inputs inputs = run_mask(a, in + n_fixed);
    inputs.q = in[Q], inputs.k = in[K], inputs.v = in[V];
    return inputs;
}

static void attention_run(const void *attr, const void *const in[], void *const out[],
                          void *scratch)
{
    const attention_run_attr *a = attr;
    const pod_attention_shape s = run_shape(a);
    const pod_attention_inputs inputs = run_inputs(a, in, N_FIXED);
    pod__attention_kernels_at(a->set)->forward(&s, &inputs, out[0], out[1], scratch);
}

static void grad_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    const attention_run_attr *a = attr;
    const pod_attention_shape s = run_shape(a);
    const pod_attention_inputs inputs = run_inputs(a, in, N_GRAD_FIXED);
    pod__attention_kernels_at(a->set)->backward(&s, &inputs, in[O], in[LSE], in[D_O], out[0],
                                                out[1], out[2], scratch);
}

/* The inputs behind the first n_fixed are mask and draws. */
static pod_status lower(const pod_lower_args *args, int n_fixed, pod_run_fn *fn, pod_lowering *l)
{
    const attention_attr *attr = args->node->attr;
    const pod_attention_shape s =
        shape_of(attr, &args->in_local[Q], &args->in_local[K], args->in[Q].dtype);
    const attention_run_attr run = {.n = s.n,
                                    .sq = s.sq,
                                    .sk = s.sk,
                                    .heads = s.heads,
                                    .d = s.d,
                                    .n_parts =
                                        attr->n_mask == N_ENDS ? args->in_local[n_fixed].dim[1] : 0,
                                    .dtype = (int32_t)s.t,
                                    .causal = attr->causal,
                                    .n_mask = attr->n_mask,
                                    .has_draws = attr->has_draws,
                                    .set = pod__attention_kernels_pick(args->target->cpu),
                                    .layer = attr->layer,
                                    .scale = attr->scale,
                                    .rate = attr->rate};
    const pod_attention_kernels *kernels = pod__attention_kernels_at(run.set);
    POD_TRY(pod__lower(args, fn, kernels->name, &run, sizeof run, l));
    l->scratch_bytes = kernels->scratch_bytes(&s);
    return POD_OK;
}

static pod_status attention_lower(const pod_lower_args *args, pod_lowering *l)
{
    return lower(args, N_FIXED, attention_run, l);
}

static pod_status grad_lower(const pod_lower_args *args, pod_lowering *l)
{
    return lower(args, N_GRAD_FIXED, grad_run, l);
}

const pod_op pod__op_attention = {.name = "attention",
                                  .n_in = N_FIXED,
                                  .n_more = N_ENDS + 1,
                                  .n_out = 2,
                                  .infer = attention_infer,
                                  .grad = attention_grad,
                                  .cost = attention_cost,
                                  .lower = attention_lower};

const pod_op pod__op_attention_grad = {.name = "attention_grad",
                                       .n_in = N_GRAD_FIXED,
                                       .n_more = N_ENDS + 1,
                                       .n_out = 3,
                                       .infer = grad_infer,
                                       .cost = grad_cost,
                                       .lower = grad_lower};

/* ---- the plain form: softmax over the keys that a query sees -------------------------------- */

/* Inputs like scores, and the mask behind them. */
static int n_scores(const pod_node *n) { return n->op == &pod__op_attention_softmax ? 1 : 2; }

static pod_status softmax_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n_in;
    const attention_attr *a = n->attr;
    const pod_type *s = &in[0];
    POD_TRY(pod__want_dtype("scores", s, POD__FLOATS));
    POD_TRY(pod__want_dims("scores", s, 4));
    POD_TRY(pod__want_only_rows_split("scores", s));
    POD_TRY(pod__want_no_parts("scores", s));
    if (n_scores(n) > 1) POD_TRY(pod__want_alike("p", s, "dp", &in[1]));
    if (a->causal && s->shape.dim[2] != s->shape.dim[3]) {
        char got[POD__TYPE_TEXT];
        return pod_fail(POD_E_SHAPE,
                        "scores are %s: causal attention needs as many keys as queries",
                        pod__type_print(s, got, sizeof got));
    }
    out[0] = *s;
    return want_mask(a, &in[n_scores(n)], "the scores are", s);
}

static void softmax_grad_of(pod_graph *g, const pod_node *n, const pod_value d_out[],
                            const bool need[], pod_value d_in[])
{
    if (!need[0]) return;
    const pod_value p = pod_node_out(n, 0);
    pod_value in[2 + N_ENDS] = {p, pod_cast(g, d_out[0], pod_graph_type(g, p)->dtype)};
    for (int i = 1; i < n->n_in; i++) in[1 + i] = n->in[i];
    d_in[0] =
        pod_op_add1(g, &pod__op_attention_softmax_grad, n->attr, n->attr_bytes, in, 1 + n->n_in);
}

static void softmax_cost(const pod_node *n, const pod_type in[], const pod_type out[],
                         pod_cost *cost)
{
    /* Maximum, subtract, scale, exponential, sum, multiply. Gradient: multiply, sum, subtract, and
     * two factors. */
    const double ops = n_scores(n) == 1 ? 15 : 5;
    pod__cost_of(n, in, out, ops * (double)pod_shape_count(&in[0].shape), cost);
}

/* The keys that each query of sequence n sees. */
static void find_seen(const attention_run_attr *a, const void *const mask[], int64_t n,
                      pod_row_span seen[])
{
    const pod_attention_shape s = run_shape(a);
    const pod_attention_inputs inputs = run_mask(a, mask);
    pod_attention_part part = {0};
    for (int64_t r = 0; pod_attention_next_part(&s, &inputs, n, r, &part); r++)
        for (int64_t i = 0; i < part.sq; i++)
            seen[part.q + i] = (pod_row_span){part.k, part.k + pod_attention_seen(&s, &part, i)};
}

/* n_fixed: 1, or 2 of the gradient. */
static void run_heads(const attention_run_attr *a, const void *const in[], int n_fixed, void *out,
                      void *seen)
{
    const pod_activation *kernels = pod__activation_at(a->set);
    const pod_dtype t = (pod_dtype)a->dtype;
    const size_t bytes = (size_t)(a->sq * a->sk) * pod_dtype_bytes(t);
    for (int64_t i = 0; i < a->n * a->heads; i++) {
        const void *x = (const char *)in[0] + (size_t)i * bytes;
        void *y = (char *)out + (size_t)i * bytes;
        if (i % a->heads == 0) find_seen(a, in + n_fixed, i / a->heads, seen);
        if (n_fixed == 1)
            kernels->softmax(a->sq, a->sk, t, a->scale, seen, x, y);
        else
            kernels->softmax_grad(a->sq, a->sk, t, a->scale, seen, x,
                                  (const char *)in[1] + (size_t)i * bytes, y);
    }
}

static void softmax_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    run_heads(attr, in, 1, out[0], scratch);
}

static void softmax_grad_run(const void *attr, const void *const in[], void *const out[],
                             void *scratch)
{
    run_heads(attr, in, 2, out[0], scratch);
}

static pod_status softmax_lower(const pod_lower_args *args, pod_lowering *l)
{
    const attention_attr *attr = args->node->attr;
    const int64_t *dim = args->in_local[0].dim;
    const int n = n_scores(args->node);
    const attention_run_attr run = {.n = dim[0],
                                    .sq = dim[2],
                                    .sk = dim[3],
                                    .heads = dim[1],
                                    .n_parts =
                                        attr->n_mask == N_ENDS ? args->in_local[n].dim[1] : 0,
                                    .dtype = (int32_t)args->in[0].dtype,
                                    .causal = attr->causal,
                                    .n_mask = attr->n_mask,
                                    .set = pod__activation_pick(args->target->cpu),
                                    .scale = attr->scale};
    POD_TRY(pod__lower(args, n == 1 ? softmax_run : softmax_grad_run,
                       pod__activation_at(run.set)->name, &run, sizeof run, l));
    l->scratch_bytes = sizeof(pod_row_span) * (size_t)run.sq;
    l->in_place[0] = (int8_t)(n - 1);
    return POD_OK;
}

const pod_op pod__op_attention_softmax = {.name = "attention_softmax",
                                          .n_in = 1,
                                          .n_more = N_ENDS,
                                          .n_out = 1,
                                          .infer = softmax_infer,
                                          .grad = softmax_grad_of,
                                          .cost = softmax_cost,
                                          .lower = softmax_lower};

const pod_op pod__op_attention_softmax_grad = {.name = "attention_softmax_grad",
                                               .n_in = 2,
                                               .n_more = N_ENDS,
                                               .n_out = 1,
                                               .infer = softmax_infer,
                                               .cost = softmax_cost,
                                               .lower = softmax_lower};

/* ---- builder ------------------------------------------------------------------------------- */

/* Scores and probabilities are values of the graph; dropout draws the numbers of pod_dropout. */
static pod_value attend_plainly(pod_graph *g, const pod_value qkv[N_FIXED], const pod_value mask[],
                                int n_mask, pod_value draws, const attention_attr *a)
{
    pod_value in[1 + N_ENDS] = {pod_heads_matmul(g, POD_HEADS_SCORES, a->n_heads, qkv[Q], qkv[K])};
    for (int i = 0; i < n_mask; i++) in[1 + i] = mask[i];
    pod_value p = pod_op_add1(g, &pod__op_attention_softmax, a, sizeof *a, in, 1 + n_mask);
    if (a->has_draws) p = pod_dropout(g, p, draws, a->rate);
    return pod_heads_matmul(g, POD_HEADS_QUERIES, a->n_heads, p, qkv[V]);
}

static float scale_of(pod_graph *g, pod_value q, const pod_attention_attr *attr)
{
    if (attr->scale > 0) return attr->scale;
    return 1 / sqrtf((float)pod__last(&pod_graph_type(g, q)->shape) / (float)attr->n_heads);
}

/* mask: n_mask values */
static pod_value attend(pod_graph *g, const pod_value qkv[N_FIXED], const pod_value mask[],
                        int n_mask, pod_value draws, const pod_attention_attr *attr)
{
    const pod_value none = {0}, q = qkv[Q];
    if (!pod__usable(g, q)) return none;
    if (pod_graph_type(g, q)->shape.n_dims < 1)
        return pod_graph_fail(g, POD_E_SHAPE, "attention: q is a scalar, need (N, Sq, H)");
    if (attr->n_heads < 1)
        return pod_graph_fail(g, POD_E_INVALID, "attention: %d heads, need 1 or more",
                              attr->n_heads);
    if (!(attr->scale >= 0) || isinf(attr->scale))
        return pod_graph_fail(g, POD_E_INVALID,
                              "attention: a scale of %g, need a positive number, "
                              "or 0 for 1 / sqrt(features of a head)",
                              (double)attr->scale);
    if (!(attr->dropout >= 0 && attr->dropout < 1))
        return pod_graph_fail(g, POD_E_INVALID, "attention: dropout of %g, need 0 to below 1",
                              (double)attr->dropout);
    const bool drops = attr->dropout > 0;
    if (drops && !pod__usable(g, draws)) return none;
    const attention_attr a = {
        .n_heads = attr->n_heads,
        .causal = attr->causal,
        .n_mask = n_mask,
        .has_draws = drops,
        .layer = drops ? (uint32_t)pod_hash_text(POD_HASH_START, pod_graph_scope(g)) : 0,
        .scale = scale_of(g, q, attr),
        .rate = attr->dropout};
    if (attr->plain) return attend_plainly(g, qkv, mask, n_mask, draws, &a);
    pod_value in[N_FIXED + N_ENDS + 1] = {qkv[Q], qkv[K], qkv[V]}, out[2];
    int n = N_FIXED;
    for (int i = 0; i < n_mask; i++) in[n++] = mask[i];
    if (drops) in[n++] = draws;
    pod_op_add(g, &pod__op_attention, &a, sizeof a, in, n, out);
    return out[0];
}

pod_value pod_attention(pod_graph *g, pod_value q, pod_value k, pod_value v, pod_value lengths,
                        pod_value draws, pod_attention_attr attr)
{
    return attend(g, (const pod_value[]){q, k, v}, &lengths, lengths.id != 0, draws, &attr);
}

pod_value pod_attention_packed(pod_graph *g, pod_value q, pod_value k, pod_value v,
                               pod_value q_ends, pod_value k_ends, pod_value draws,
                               pod_attention_attr attr)
{
    return attend(g, (const pod_value[]){q, k, v}, (const pod_value[]){q_ends, k_ends}, N_ENDS,
                  draws, &attr);
}
