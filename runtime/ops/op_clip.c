/* Clipping of gradients by their norm (Pascanu et al. 2013). float32; scalars but for x and y.
 *
 *   sum_sq_own   x        -> sum of squares of this core's summand of x, over its micro-steps; varies
 *   sum_scalars  s, ...   -> their sum
 *   clip_ratio   sq       -> min(1, max_norm / (n sqrt(sq))); n: 1, or the cores over which sq varies,
 *                            for a core's own gradient is n times its summand of their mean
 *   scale_by     x, s     -> y = s x
 *   scale_own    x, s     -> the same of this core's summand of x; s may vary over cores
 */
#include <math.h>

#include "runtime/ops/op_common.h"

enum { MOST_SCALARS = 8 }; /* that pod_op_add takes */

/* ---- sum_sq_own ---------------------------------------------------------------------------- */

static pod_status sum_sq_own_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n, (void)n_in;
    POD_TRY(pod__want_dtype("x", &in[0], 1u << POD_F32));
    if (in[0].vary)
        return pod_fail(POD_E_UNSUPPORTED, "x varies over cores: need a sum, or its summands");
    out[0] = pod_type_of(POD_F32, 0, NULL);
    out[0].vary = in[0].sum;
    return POD_OK;
}

static void sum_sq_own_run(const void *attr, const void *const in[], void *const out[],
                           void *scratch)
{
    (void)scratch;
    const pod__flat_attr *a = attr;
    *(float *)out[0] = pod__reduce_at(a->set)->sum_sq(a->count, in[0]);
}

static pod_status sum_sq_own_lower(const pod_lower_args *args, pod_lowering *l)
{
    const pod__flat_attr run = pod__flat_of(args, pod__reduce_pick(args->target->cpu));
    return pod__lower(args, sum_sq_own_run, pod__reduce_at(run.set)->name, &run, sizeof run, l);
}

const pod_op pod__op_sum_sq_own = {.name = "sum_sq_own",
                                   .sweep = POD_SWEEP_SUMS,
                                   .n_in = 1,
                                   .n_out = 1,
                                   .takes_parts = true,
                                   .of_step = 1,
                                   .infer = sum_sq_own_infer,
                                   .ops_each = 2,
                                   .lower = sum_sq_own_lower};

/* ---- sum_scalars, clip_ratio --------------------------------------------------------------- */

static pod_status sum_scalars_infer(const pod_node *n, const pod_type in[], int n_in,
                                    pod_type out[])
{
    (void)n;
    unsigned vary = 0;
    for (int i = 0; i < n_in; i++) {
        pod_type whole = in[i];
        whole.vary = 0;
        POD_TRY(pod__want_scalar("a scalar", &whole));
        vary |= in[i].vary;
    }
    out[0] = pod_type_of(POD_F32, 0, NULL);
    out[0].vary = (uint8_t)vary;
    return POD_OK;
}

static void sum_scalars_run(const void *attr, const void *const in[], void *const out[],
                            void *scratch)
{
    (void)scratch;
    double sum = 0;
    for (int64_t i = 0; i < *(const int64_t *)attr; i++) sum += (double)*(const float *)in[i];
    *(float *)out[0] = (float)sum;
}

static pod_status sum_scalars_lower(const pod_lower_args *args, pod_lowering *l)
{
    const int64_t n = args->node->n_in;
    return pod__lower(args, sum_scalars_run, "ref", &n, sizeof n, l);
}

const pod_op pod__op_sum_scalars = {.name = "sum_scalars",
                                    .n_in = 1,
                                    .n_more = MOST_SCALARS - 1,
                                    .n_out = 1,
                                    .takes_parts = true,
                                    .infer = sum_scalars_infer,
                                    .ops_each = 1,
                                    .lower = sum_scalars_lower};

static void clip_ratio_run(const void *attr, const void *const in[], void *const out[],
                           void *scratch)
{
    (void)scratch;
    const float max_norm = *(const float *)attr;
    const double norm = sqrt((double)*(const float *)in[0]);
    *(float *)out[0] = norm <= (double)max_norm ? 1 : (float)((double)max_norm / norm);
}

static pod_status clip_ratio_lower(const pod_lower_args *args, pod_lowering *l)
{
    const float max_norm =
        *(const float *)args->node->attr / (float)pod_mask_size(args->mesh, args->in[0].vary);
    return pod__lower(args, clip_ratio_run, "ref", &max_norm, sizeof max_norm, l);
}

const pod_op pod__op_clip_ratio = {.name = "clip_ratio",
                                   .n_in = 1,
                                   .n_out = 1,
                                   .takes_parts = true,
                                   .infer = sum_scalars_infer,
                                   .ops_each = 10,
                                   .lower = clip_ratio_lower};

/* ---- scale_by, scale_own ------------------------------------------------------------------- */

static pod_status scale_by_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n, (void)n_in;
    pod_type s = in[1];
    s.vary = 0;
    POD_TRY(pod__want_dtype("x", &in[0], 1u << POD_F32));
    POD_TRY(pod__want_scalar("the scalar", &s));
    if (in[0].vary || in[1].vary & ~in[0].sum)
        return pod_fail(POD_E_UNSUPPORTED,
                        "the scalar varies over cores that have no summand of x");
    out[0] = in[0];
    return POD_OK;
}

static void scale_by_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    const pod__flat_attr *a = attr;
    pod__pointwise_at(a->set)->axpby(a->count, *(const float *)in[1], in[0], 0, in[0], out[0]);
}

static pod_status scale_by_lower(const pod_lower_args *args, pod_lowering *l)
{
    const pod__flat_attr run = pod__flat_of(args, pod__pointwise_pick(args->target->cpu));
    POD_TRY(pod__lower(args, scale_by_run, pod__pointwise_at(run.set)->name, &run, sizeof run, l));
    l->in_place[0] = 0;
    return POD_OK;
}

const pod_op pod__op_scale_by = {.name = "scale_by",
                                 .sweep = POD_SWEEP_EACH,
                                 .n_in = 2,
                                 .n_out = 1,
                                 .by_element = true,
                                 .infer = scale_by_infer,
                                 .ops_each = 1,
                                 .lower = scale_by_lower};

const pod_op pod__op_scale_own = {.name = "scale_own",
                                  .sweep = POD_SWEEP_EACH,
                                  .n_in = 2,
                                  .n_out = 1,
                                  .takes_parts = true,
                                  .by_element = true,
                                  .infer = scale_by_infer,
                                  .ops_each = 1,
                                  .lower = scale_by_lower};

/* ---- builders ------------------------------------------------------------------------------ */

pod_value pod_sum_sq_own(pod_graph *g, pod_value x)
{
    return pod_op_add1(g, &pod__op_sum_sq_own, NULL, 0, &x, 1);
}

pod_value pod_scale_by(pod_graph *g, pod_value x, pod_value s)
{
    return pod_op_add1(g, &pod__op_scale_by, NULL, 0, (const pod_value[]){x, s}, 2);
}

pod_value pod_scale_own(pod_graph *g, pod_value x, pod_value s)
{
    return pod_op_add1(g, &pod__op_scale_own, NULL, 0, (const pod_value[]){x, s}, 2);
}

/* In rounds, each of which leaves a sum of up to MOST_SCALARS. */
pod_value pod_clip_ratio(pod_graph *g, pod_value sq[], int n, float max_norm)
{
    while (n > 1) {
        int n_sums = 0;
        for (int i = 0; i < n; i += MOST_SCALARS) {
            const int n_in = n - i < MOST_SCALARS ? n - i : MOST_SCALARS;
            sq[n_sums++] = pod_op_add1(g, &pod__op_sum_scalars, NULL, 0, &sq[i], n_in);
        }
        n = n_sums;
    }
    return pod_op_add1(g, &pod__op_clip_ratio, &max_norm, sizeof max_norm, &sq[0], 1);
}
