/* The loss of rows projected onto a vocabulary, kernels/vocab_loss: logits exist only in blocks.
 *
 *   vocab_loss       h (..., H), table (V, H), labels (...), weights (...) [, bias (V)]
 *                    -> loss, weight, correct: scalars;  lse (...), for the gradient
 *   vocab_loss_grad  h, table, labels, weights, lse, d_loss [, bias]
 *                    -> dh, dtable (V, H), dbias (V)
 *   vocab_loss_both  h, table, labels, weights, d_loss [, bias]
 *                    -> loss, weight, correct, dh, dtable, dbias
 *
 * h and table have one type, and so has dh; labels are int32, all else float32. The scalars, dtable
 * and dbias are sums over the cores' rows. R, the number of rows, is the product of the dimensions
 * before H. */
#include "kernels/vocab_loss/vocab_loss.h"
#include "runtime/ops/fused.h"
#include "runtime/ops/op_common.h"

enum {
    N_SUMS = 3, /* loss, weight, correct */
    /* Whose logits are kept. The table's gradient is read and written once for each block of rows;
     * with about 40 rows that costs as much as the product which is saved, at 8 bytes and 10 GB/s
     * against 2 operations a row and 90 GFLOP/s. */
    FEWEST_ROWS = 64
};

typedef struct vocab_attr {
    float smoothing;
} vocab_attr;

/* One number for each row of h. */
static pod_type of_rows(const pod_type *h, pod_dtype t)
{
    pod_type rows = *h;
    rows.dtype = t;
    rows.shape.n_dims--;
    return rows;
}

static pod_status want_head(const pod_type *h, const pod_type *table, const pod_type *labels,
                            const pod_type *weights)
{
    POD_TRY(pod__want_dtype("h", h, POD__FLOATS));
    if (h->shape.n_dims < 2) return pod__want_dims("h", h, 2);
    POD_TRY(pod__want_only_rows_split("h", h));
    POD_TRY(pod__want_no_parts("h", h));
    if (table->dtype != h->dtype || table->shape.n_dims != 2 ||
        table->shape.dim[1] != pod__last(&h->shape)) {
        char got[POD__TYPE_TEXT], of[POD__TYPE_TEXT];
        return pod_fail(POD_E_SHAPE, "the table is %s, h is %s: need (V, H) of h's type",
                        pod__type_print(table, got, sizeof got), pod__type_print(h, of, sizeof of));
    }
    POD_TRY(pod__want_whole("the table", table));
    const pod_type label = of_rows(h, POD_I32), weight = of_rows(h, POD_F32);
    POD_TRY(pod__want_alike("labels", labels, "one for each row of h", &label));
    return pod__want_alike("weights", weights, "one for each row of h", &weight);
}

static pod_status want_bias(const pod_type *bias, const pod_type *table)
{
    const pod_type want = pod_type_of(POD_F32, 1, table->shape.dim);
    return pod__want_alike("the bias", bias, "one for each row of the table", &want);
}

static void sum_types(const pod_type in[], pod_type out[])
{
    for (int k = 0; k < N_SUMS; k++) {
        out[k] = pod_type_of(POD_F32, 0, NULL);
        out[k].sum = in[0].split[0];
    }
}

static pod_status vocab_loss_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n;
    POD_TRY(want_head(&in[0], &in[1], &in[2], &in[3]));
    if (n_in == 5) POD_TRY(want_bias(&in[4], &in[1]));
    sum_types(in, out);
    out[N_SUMS] = of_rows(&in[0], POD_F32);
    return POD_OK;
}

static void gradient_types(const pod_type in[], pod_type out[])
{
    out[0] = in[0];
    out[1] = pod_type_of(POD_F32, 2, in[1].shape.dim);
    out[2] = pod_type_of(POD_F32, 1, in[1].shape.dim);
    out[1].sum = out[2].sum = in[0].split[0];
}

static pod_status vocab_loss_grad_infer(const pod_node *n, const pod_type in[], int n_in,
                                        pod_type out[])
{
    (void)n;
    POD_TRY(want_head(&in[0], &in[1], &in[2], &in[3]));
    POD_TRY(pod__want_alike("lse", &in[4], "weights", &in[3]));
    POD_TRY(pod__want_scalar("d_loss", &in[5]));
    if (n_in == 7) POD_TRY(want_bias(&in[6], &in[1]));
    gradient_types(in, out);
    return POD_OK;
}

static pod_status vocab_loss_both_infer(const pod_node *n, const pod_type in[], int n_in,
                                        pod_type out[])
{
    (void)n;
    POD_TRY(want_head(&in[0], &in[1], &in[2], &in[3]));
    POD_TRY(pod__want_scalar("d_loss", &in[4]));
    if (n_in == 6) POD_TRY(want_bias(&in[5], &in[1]));
    sum_types(in, out);
    gradient_types(in, out + N_SUMS);
    return POD_OK;
}

/* Only the loss has a gradient. That of the table is float32 whatever the table is, straight from
 * the accumulators. */
static void vocab_loss_grad_of(pod_graph *g, const pod_node *n, const pod_value d_out[],
                               const bool need[], pod_value d_in[])
{
    enum { H, TABLE, LABELS, WEIGHTS, BIAS };
    const bool with_bias = n->n_in > BIAS;
    if (!d_out[0].id || !(need[H] || need[TABLE] || (with_bias && need[BIAS]))) return;
    const pod_value in[] = {n->in[H],
                            n->in[TABLE],
                            n->in[LABELS],
                            n->in[WEIGHTS],
                            pod_node_out(n, 3),
                            d_out[0],
                            n->in[with_bias ? BIAS : H]};
    pod_value d[3];
    pod_op_add(g, &pod__op_vocab_loss_grad, n->attr, n->attr_bytes, in, with_bias ? 7 : 6, d);
    if (need[H]) d_in[H] = d[0];
    if (need[TABLE]) d_in[TABLE] = d[1];
    if (with_bias && need[BIAS]) d_in[BIAS] = d[2];
}

static int what_of(const pod_op *op)
{
    return op == &pod__op_vocab_loss        ? POD_VOCAB_LOSS_LOSS
           : op == &pod__op_vocab_loss_grad ? POD_VOCAB_LOSS_GRAD
                                            : POD_VOCAB_LOSS_BOTH;
}

static pod_vocab_loss_shape shape_of(const pod_shape *h, const pod_shape *table)
{
    return (pod_vocab_loss_shape){pod__rows(h), table->dim[0], table->dim[1]};
}

/* The gradient alone makes the logits again, so that three products run. Unfused, forward leaves the logits,
 * in float32, with their maximum, and reads them once more for the sum of their exponentials; each of
 * backward's two products reads them as probabilities. */
static void vocab_cost(const pod_node *n, const pod_type in[], const pod_type out[], pod_cost *cost)
{
    const int what = what_of(n->op);
    const bool is_grad = what == POD_VOCAB_LOSS_GRAD, both = what == POD_VOCAB_LOSS_BOTH;
    const pod_vocab_loss_shape s = shape_of(&in[0].shape, &in[1].shape);
    const double ops = both ? 31 : is_grad ? 16 : 15; /* exponentials, sums */
    const double logits = (double)s.rows * (double)s.vocab;
    pod__cost_of(n, in, out, ops * logits, cost);
    cost->matrix_flops = (both ? 3 : is_grad ? 2 : 1) * 2 * logits * (double)s.hidden;
    cost->product = (pod_product){.count = both || is_grad ? 3 : 1,
                                  .rows = (double)s.rows,
                                  .cols = (double)s.vocab,
                                  .depth = (double)s.hidden};
    if (both) return;
    cost->unfused = (pod_unfused){.matrices = 1,
                                  .score_bytes = sizeof(float),
                                  .matmuls = is_grad ? 2 : 1,
                                  .vector_ops = logits * (is_grad ? 28 : ops),
                                  .passes = 1,
                                  .at_once = 1,
                                  .beside = is_grad ? 4 : n->n_in + 3};
}

static pod_vocab_loss_in in_of(const void *const in[], const float *bias)
{
    return (pod_vocab_loss_in){in[0], in[1], bias, in[2], in[3]};
}

static void vocab_loss_run(const void *attr, const void *const in[], void *const out[],
                           void *scratch)
{
    const pod_vocab_loss_plan *p = attr;
    const pod_vocab_loss_in from = in_of(in, p->with_bias ? in[4] : NULL);
    pod_vocab_loss_run(p, &from, out[0], out[1], out[2], out[3], scratch);
}

static void vocab_loss_grad_run(const void *attr, const void *const in[], void *const out[],
                                void *scratch)
{
    const pod_vocab_loss_plan *p = attr;
    const pod_vocab_loss_in from = in_of(in, p->with_bias ? in[6] : NULL);
    pod_vocab_loss_grad(p, &from, in[4], *(const float *)in[5], out[0], out[1], out[2], scratch);
}

static void vocab_loss_both_run(const void *attr, const void *const in[], void *const out[],
                                void *scratch)
{
    const pod_vocab_loss_plan *p = attr;
    const pod_vocab_loss_in from = in_of(in, p->with_bias ? in[5] : NULL);
    pod_vocab_loss_both(p, &from, *(const float *)in[4], out[0], out[1], out[2], out[3], out[4],
                        out[5], scratch);
}

static pod_status vocab_lower(const pod_lower_args *args, pod_lowering *l)
{
    const vocab_attr *a = args->node->attr;
    static pod_run_fn *const run[] = {vocab_loss_run, vocab_loss_grad_run, vocab_loss_both_run};
    const int what = what_of(args->node->op);
    const pod_choice how = pod_target_choice(args->target);
    const pod_vocab_loss_plan plan = pod_vocab_loss_plan_of(
        &how, shape_of(&args->in_local[0], &args->in_local[1]), args->in[0].dtype, a->smoothing,
        args->node->n_in > args->node->op->n_in, what);
    POD_TRY(
        pod__lower(args, run[what], pod_vocab_loss_sets()[plan.set]->name, &plan, sizeof plan, l));
    l->scratch_bytes = pod_vocab_loss_scratch_bytes(&plan);
    return POD_OK;
}

const pod_op pod__op_vocab_loss = {.name = "vocab_loss",
                                   .n_in = 4,
                                   .n_more = 1,
                                   .n_out = 4,
                                   .infer = vocab_loss_infer,
                                   .grad = vocab_loss_grad_of,
                                   .cost = vocab_cost,
                                   .lower = vocab_lower};

const pod_op pod__op_vocab_loss_grad = {.name = "vocab_loss_grad",
                                        .n_in = 6,
                                        .n_more = 1,
                                        .n_out = 3,
                                        .infer = vocab_loss_grad_infer,
                                        .cost = vocab_cost,
                                        .lower = vocab_lower};

const pod_op pod__op_vocab_loss_both = {.name = "vocab_loss_both",
                                        .n_in = 5,
                                        .n_more = 1,
                                        .n_out = 6,
                                        .infer = vocab_loss_both_infer,
                                        .cost = vocab_cost,
                                        .lower = vocab_lower};

const char *pod_vocab_both_why_not(const pod_fuse_args *args)
{
    if (args->how.cpu == POD_CPU_REFERENCE_ONLY) return "the reference computes logits twice";
    pod_vocab_loss_shape s = shape_of(&args->in[0].shape, &args->in[1].shape);
    s.rows = s.rows / args->in[0].shape.dim[0] * args->samples;
    const pod_vocab_loss_plan p =
        pod_vocab_loss_plan_of(&args->how, s, args->in[0].dtype, 0,
                               args->node->n_in > args->node->op->n_in, POD_VOCAB_LOSS_BOTH);
    return p.block_rows < s.rows && p.block_rows < FEWEST_ROWS
               ? "too few rows of logits can be kept"
               : NULL;
}

pod_value pod_vocab_head(pod_graph *g, pod_value h, pod_value table, pod_value bias,
                         pod_value labels, pod_value weights, float smoothing, pod_vocab_sums *sums)
{
    *sums = (pod_vocab_sums){{0}, {0}};
    if (!pod__usable(g, h) || !pod__usable(g, table)) return (pod_value){0};
    if (!(smoothing >= 0 && smoothing < 1))
        return pod_graph_fail(g, POD_E_INVALID, "vocab_loss: smoothing %g, need 0 to below 1",
                              (double)smoothing);
    if (smoothing > 0 && pod_graph_type(g, table)->shape.dim[0] < 2)
        return pod_graph_fail(g, POD_E_INVALID,
                              "vocab_loss: smoothing %g over a vocabulary of 1, need 2 or more",
                              (double)smoothing);
    const vocab_attr attr = {smoothing};
    const pod_value in[] = {h, pod_cast(g, table, pod_graph_type(g, h)->dtype), labels, weights,
                            bias};
    pod_value out[4];
    pod_op_add(g, &pod__op_vocab_loss, &attr, sizeof attr, in, bias.id ? 5 : 4, out);
    *sums = (pod_vocab_sums){.weight = out[1], .correct = out[2]};
    return out[0];
}
