/* drop: x (N, ...), draws (N), int32 -> y: each element, or each sample as a whole, is 0 with
 * probability `rate`, else x / (1 - rate) (kernels/gate/gate.h).
 *
 * draws are random numbers of the host, another one for each sample and step; with the layer, they
 * are the key of what is drawn here, so that no result depends on which core a sample is on. The
 * gradient draws again instead of keeping what was drawn. */
#include "kernels/base/hash.h"
#include "kernels/gate/gate.h"
#include "runtime/ops/op_common.h"

typedef struct drop_attr {
    int64_t n, c; /* of a core: samples, elements of each; known when lowered */
    int32_t dtype, set;
    uint32_t layer;
    float rate;
    int64_t by_sample;
} drop_attr;

static pod_status drop_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n, (void)n_in;
    POD_TRY(pod__want_dtype("x", &in[0], POD__FLOATS));
    POD_TRY(pod__want_only_rows_split("x", &in[0]));
    POD_TRY(pod__want_no_parts("x", &in[0]));
    pod_type want = in[0];
    want.dtype = POD_I32;
    want.shape.n_dims = 1;
    POD_TRY(pod__want_alike("the draws", &in[1], "samples of x", &want));
    out[0] = in[0];
    return POD_OK;
}

static void drop_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    const drop_attr *a = attr;
    const pod_drop how = {a->layer, a->rate, a->by_sample != 0};
    pod__gate_at(a->set)->drop(a->n, a->c, (pod_dtype)a->dtype, &how, in[1], in[0], out[0]);
}

static pod_status drop_lower(const pod_lower_args *args, pod_lowering *l)
{
    drop_attr run = *(const drop_attr *)args->node->attr;
    const pod_shape *x = &args->in_local[0];
    run.n = x->dim[0];
    run.c = run.n > 0 ? pod_shape_count(x) / run.n : 0;
    run.dtype = (int32_t)args->in[0].dtype;
    run.set = pod__gate_pick(args->target->cpu);
    POD_TRY(pod__lower(args, drop_run, pod__gate_at(run.set)->name, &run, sizeof run, l));
    l->in_place[0] = 0;
    return POD_OK;
}

static pod_value drop_as(pod_graph *g, const drop_attr *a, pod_value x, pod_value draws)
{
    return pod_op_add1(g, &pod__op_drop, a, sizeof *a, (const pod_value[]){x, draws}, 2);
}

static void drop_grad_of(pod_graph *g, const pod_node *n, const pod_value d_out[],
                         const bool need[], pod_value d_in[])
{
    const pod_value dy = pod_cast(g, d_out[0], pod_graph_type(g, n->in[0])->dtype);
    if (need[0]) d_in[0] = drop_as(g, n->attr, dy, n->in[1]);
}

const pod_op pod__op_drop = {.name = "drop",
                             .sweep = POD_SWEEP_EACH,
                             .by_sample = "ss>s",
                             .n_in = 2,
                             .n_out = 1,
                             .is_cheap = true,
                             .infer = drop_infer,
                             .grad = drop_grad_of,
                             .ops_each = 1,
                             .lower = drop_lower};

static pod_value drop(pod_graph *g, pod_value x, pod_value draws, float rate, bool by_sample)
{
    if (!pod__usable(g, x)) return (pod_value){0};
    if (!(rate >= 0 && rate < 1))
        return pod_graph_fail(g, POD_E_INVALID, "drop: a rate of %g, need 0 to below 1",
                              (double)rate);
    if (rate == 0) return x;
    const drop_attr a = {.layer = (uint32_t)pod_hash_text(POD_HASH_START, pod_graph_scope(g)),
                         .rate = rate,
                         .by_sample = by_sample};
    return drop_as(g, &a, x, draws);
}

pod_value pod_dropout(pod_graph *g, pod_value x, pod_value draws, float rate)
{
    if (!pod__usable(g, x) || !pod__usable(g, draws)) return (pod_value){0};
    const pod_shape shape = pod_graph_type(g, x)->shape;
    const pod_shape *of_draws = &pod_graph_type(g, draws)->shape;
    if (of_draws->n_dims != 1)
        return pod_graph_fail(g, POD_E_SHAPE, "dropout: draws have %d dimensions, need (N)",
                              of_draws->n_dims);
    const int64_t samples = of_draws->dim[0];
    if (rate == 0 || shape.dim[0] == samples) return drop(g, x, draws, rate, false);
    const pod_shape flat = {2, {samples, pod_shape_count(&shape) / samples}};
    return pod_reshape(g, drop(g, pod_reshape(g, x, flat), draws, rate, false), shape);
}

pod_value pod_drop_samples(pod_graph *g, pod_value x, pod_value draws, float rate)
{
    return drop(g, x, draws, rate, true);
}
