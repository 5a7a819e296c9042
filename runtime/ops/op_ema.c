/* ema: mean, value, step -> mean + (1 - d) (value - mean), d = min(decay, (1 + step) / (10 +
 * step)), float32; in the first step the value. */
#include "runtime/ops/op_common.h"

typedef struct ema_attr {
    int64_t count; /* known when lowered */
    float decay;
    int32_t set;
} ema_attr;

static pod_status ema_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n, (void)n_in;
    POD_TRY(pod__want_dtype("the mean", &in[0], 1u << POD_F32));
    POD_TRY(pod__want_alike("the mean", &in[0], "the value", &in[1]));
    POD_TRY(pod__want_scalar("the step", &in[2]));
    out[0] = in[0];
    return POD_OK;
}

static void ema_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    const ema_attr *a = attr;
    const float step = *(const float *)in[2], early = (1 + step) / (10 + step);
    const float d = step <= 1 ? 0 : early < a->decay ? early : a->decay;
    pod__pointwise_at(a->set)->axpby(a->count, 1 - d, in[1], d, in[0], out[0]);
}

static pod_status ema_lower(const pod_lower_args *args, pod_lowering *l)
{
    ema_attr run = *(const ema_attr *)args->node->attr;
    run.count = pod_shape_count(&args->in_local[0]);
    run.set = pod__pointwise_pick(args->target->cpu);
    POD_TRY(pod__lower(args, ema_run, pod__pointwise_at(run.set)->name, &run, sizeof run, l));
    l->in_place[0] = 0;
    return POD_OK;
}

const pod_op pod__op_ema = {.name = "ema",
                            .n_in = 3,
                            .n_out = 1,
                            .by_element = true,
                            .infer = ema_infer,
                            .ops_each = 3,
                            .lower = ema_lower};

void pod_ema_update(pod_graph *g, pod_value mean, pod_value value, pod_value step, float decay)
{
    const ema_attr a = {.decay = decay};
    const pod_value next =
        pod_op_add1(g, &pod__op_ema, &a, sizeof a, (const pod_value[]){mean, value, step}, 3);
    if (next.id) pod_assign(g, mean, next);
}
