/* drop_mask: draws (N), int32 -> gates (N, C), float32: 0 with probability `rate`, else
 * 1 / (1 - rate), for each element (Srivastava et al. 2014) or for a sample as a whole (Huang et
 * al. 2016, stochastic depth).
 *
 * draws are random numbers of the host, another one for each sample and step; with the layer, they
 * are the key of what is drawn here, so that no result depends on which core a sample is on. */
#include "kernels/base/hash.h"
#include "kernels/base/rng.h"
#include "runtime/ops/op_common.h"

typedef struct drop_attr {
    int64_t n, c; /* n: of a core's samples, known when lowered */
    uint32_t layer;
    float rate;
    int64_t by_sample;
} drop_attr;

static pod_status drop_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n_in;
    const drop_attr *a = n->attr;
    POD_TRY(pod__want_dtype("the draws", &in[0], 1u << POD_I32));
    POD_TRY(pod__want_dims("the draws", &in[0], 1));
    out[0] = pod_type_of(POD_F32, 2, (const int64_t[]){in[0].shape.dim[0], a->c});
    out[0].split[0] = in[0].split[0];
    return POD_OK;
}

/* Keeps an element if a number of 24 bits, uniform in [0, 1), is at least the rate. */
static bool is_kept(uint32_t word, float rate) { return (float)(word >> 8) * 0x1p-24f >= rate; }

static void drop_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    enum { WORDS = 4 };
    const drop_attr *a = attr;
    const int32_t *draw = in[0];
    const float kept = 1 / (1 - a->rate);
    float *gate = out[0];
    for (int64_t i = 0; i < a->n; i++, gate += a->c) {
        const uint32_t key[2] = {(uint32_t)draw[i], a->layer};
        uint32_t word[WORDS];
        for (int64_t j = 0; j < a->c; j += WORDS) {
            const uint32_t counter[4] = {(uint32_t)(j / WORDS), 0, 0, POD_STREAM_DROPOUT};
            const int64_t n = a->c - j < WORDS ? a->c - j : WORDS;
            if (j == 0 || !a->by_sample) pod_philox(key, counter, word);
            for (int64_t k = 0; k < n; k++)
                gate[j + k] = is_kept(word[a->by_sample ? 0 : k], a->rate) ? kept : 0;
        }
    }
}

static pod_status drop_lower(const pod_lower_args *args, pod_lowering *l)
{
    drop_attr run = *(const drop_attr *)args->node->attr;
    run.n = args->in_local[0].dim[0];
    return pod__lower(args, drop_run, "plain", &run, sizeof run, l);
}

const pod_op pod__op_drop_mask = {.name = "drop_mask",
                                  .sweep = POD_SWEEP_EACH,
                                  .n_in = 1,
                                  .n_out = 1,
                                  .is_cheap = true,
                                  .infer = drop_infer,
                                  .ops_each = 1,
                                  .lower = drop_lower};

static pod_value drop(pod_graph *g, pod_value x, pod_value draws, float rate, bool by_sample)
{
    if (!pod__usable(g, x)) return (pod_value){0};
    if (!(rate >= 0 && rate < 1))
        return pod_graph_fail(g, POD_E_INVALID, "drop: a rate of %g, need 0 to below 1",
                              (double)rate);
    if (rate == 0) return x;
    const pod_shape *s = &pod_graph_type(g, x)->shape;
    const drop_attr a = {.c = pod__last(s),
                         .layer = (uint32_t)pod_hash_text(POD_HASH_START, pod_graph_scope(g)),
                         .rate = rate,
                         .by_sample = by_sample};
    return pod_gate_by(g, x, pod_op_add1(g, &pod__op_drop_mask, &a, sizeof a, &draws, 1));
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
    if (rate == 0 || (shape.n_dims == 2 && shape.dim[0] == samples))
        return drop(g, x, draws, rate, false);
    const pod_shape flat = {2, {samples, pod_shape_count(&shape) / samples}};
    return pod_reshape(g, drop(g, pod_reshape(g, x, flat), draws, rate, false), shape);
}

pod_value pod_drop_samples(pod_graph *g, pod_value x, pod_value draws, float rate)
{
    return drop(g, x, draws, rate, true);
}
