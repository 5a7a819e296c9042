/* Batch normalization joined with what stands behind it, kernels/norm. Only passes make these ops.
 *
 *   bn_fold            mean, rstd, gamma, beta                -> scale, shift
 *   bn_apply_act       x, scale, shift                        -> act(x scale + shift)
 *                      .., res                                -> act(x scale + shift + res)
 *                      .., res, res_scale, res_shift          -> .. + res res_scale + res_shift
 *   bn_grad_sums_act   x, dz, scale, shift, mean, rstd        -> dgamma, dbeta
 *   bn_grad_apply_act  x, dz, scale, shift, mean, rstd, gamma, dgamma, dbeta -> dx
 *   bn_grad_sums_swish x, dz, scale, shift, mean, rstd        -> dgamma, dbeta, g
 *   bn_grad_sums_of    x, dz, z, mean, rstd                   -> dgamma, dbeta, g
 *                      .., more                               of dz + more
 *
 * For z = relu(x scale + shift), the gradients `_act` take dz and find out from x what the
 * activation let through; bn_grad_sums_of sees it in a z that more was added to, and writes g,
 * which is dz where z > 0 and else 0. For z = swish(v), v = x scale + shift, bn_grad_sums_swish
 * writes g = dz swish'(v) for a bn_grad_apply: storing it in place of dz costs less than
 * recomputing it. How the statistics may vary and which sums go with them is as in op_batchnorm.c.
 * Beside an x in bf16 dz, res, z, g, dx and what the activation makes may be float32: z and g
 * alike, more as x. */
#include "runtime/ops/layers/op_batchnorm.h"

/* ---- bn_fold ------------------------------------------------------------------------------- */

static pod_status bn_fold_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    static const char *const name[] = {"the mean", "rstd", "gamma", "beta"};
    (void)n, (void)n_in;
    POD_TRY(pod__want_dims("the mean", &in[0], 1));
    POD_TRY(pod__bn_want_pair(&in[0], name[0], &in[0], name[1], &in[1]));
    for (int i = 2; i < 4; i++) {
        POD_TRY(pod__want_channels(name[i], &in[i], &in[0]));
        POD_TRY(pod__want_no_parts(name[i], &in[i]));
    }
    out[0] = out[1] = in[0];
    return POD_OK;
}

typedef struct fold_run_attr {
    int64_t c, set;
} fold_run_attr;

static void bn_fold_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    const fold_run_attr *a = attr;
    pod__norm_at((int32_t)a->set)->fold(a->c, in[0], in[1], in[2], in[3], out[0], out[1]);
}

static pod_status bn_fold_lower(const pod_lower_args *args, pod_lowering *l)
{
    const fold_run_attr run = {args->in_local[0].dim[0], pod__norm_pick(args->target->cpu)};
    return pod__lower(args, bn_fold_run, pod__norm_at((int32_t)run.set)->name, &run, sizeof run, l);
}

const pod_op pod__op_bn_fold = {.name = "bn_fold",
                                .n_in = 4,
                                .n_out = 2,
                                .takes_parts = true,
                                .is_cheap = true,
                                .infer = bn_fold_infer,
                                .ops_each = 3,
                                .lower = bn_fold_lower};

/* ---- bn_apply_act -------------------------------------------------------------------------- */

static pod_status want_folded(const pod_type *x, const pod_type in[])
{
    return pod__bn_want_pair(x, "the scale", &in[0], "the shift", &in[1]);
}

static pod_status bn_apply_act_infer(const pod_node *n, const pod_type in[], int n_in,
                                     pod_type out[])
{
    POD_TRY(pod__bn_want_images("x", &in[0]));
    POD_TRY(want_folded(&in[0], &in[1]));
    if (n_in > 3) POD_TRY(pod__bn_want_beside(&in[0], "the residual", &in[3]));
    if (n_in > 4) POD_TRY(want_folded(&in[3], &in[n_in - 2]));
    out[0] = pod__bn_stored(n, &in[0]);
    return POD_OK;
}

static void bn_apply_act_cost(const pod_node *n, const pod_type in[], const pod_type out[],
                              pod_cost *cost)
{
    enum { SWISH_OPS = 10 };
    const pod_bn_attr *attr = n->attr;
    const int ops = n->n_in + (attr->act == POD_NORM_SWISH ? SWISH_OPS : 0);
    pod__cost_of(n, in, out, ops * (double)pod_shape_count(&out[0].shape), cost);
}

typedef struct apply_run_attr {
    pod__bn_rows rows;
    int32_t act, n_in;
} apply_run_attr;

static void bn_apply_act_run(const void *attr, const void *const in[], void *const out[],
                             void *scratch)
{
    (void)scratch;
    const apply_run_attr *a = attr;
    pod__norm_at(a->rows.set)
        ->apply_act(a->rows.rows, a->rows.c, pod__bn_types(&a->rows), in[0], in[1], in[2],
                    a->n_in > 3 ? in[3] : NULL, a->n_in > 4 ? in[4] : NULL,
                    a->n_in > 4 ? in[5] : NULL, (pod_norm_act)a->act, out[0]);
}

static pod_status bn_apply_act_lower(const pod_lower_args *args, pod_lowering *l)
{
    const pod_bn_attr *attr = args->node->attr;
    const int res = args->node->n_in > 3 ? 3 : -1;
    const apply_run_attr run = {
        .rows = pod__bn_rows_of(args, res, 0), .act = (int32_t)attr->act, .n_in = args->node->n_in};
    POD_TRY(
        pod__lower(args, bn_apply_act_run, pod__norm_at(run.rows.set)->name, &run, sizeof run, l));
    l->in_place[0] = pod__bn_in_place(args, 0, 0, res);
    return POD_OK;
}

const pod_op pod__op_bn_apply_act = {.name = "bn_apply_act",
                                     .sweep = POD_SWEEP_EACH,
                                     .by_sample = "swwsww>s",
                                     .n_in = 3,
                                     .n_more = 3,
                                     .n_out = 1,
                                     .takes_parts = true,
                                     .is_cheap = true,
                                     .infer = bn_apply_act_infer,
                                     .cost = bn_apply_act_cost,
                                     .lower = bn_apply_act_lower};

/* ---- bn_grad_sums_act, bn_grad_sums_swish, bn_grad_sums_of --------------------------------- */

static pod_status grad_sums_infer(const pod_type *x, const pod_type *dz, const pod_type moments[],
                                  pod_type out[])
{
    POD_TRY(pod__bn_want_images("x", x));
    POD_TRY(pod__bn_want_beside(x, "dz", dz));
    POD_TRY(pod__bn_want_pair(x, "the mean", &moments[0], "rstd", &moments[1]));
    out[0] = pod__channels_of(x);
    out[0].sum = pod__rows_split(x);
    out[1] = out[0];
    return POD_OK;
}

static pod_status bn_grad_sums_act_infer(const pod_node *n, const pod_type in[], int n_in,
                                         pod_type out[])
{
    (void)n, (void)n_in;
    POD_TRY(grad_sums_infer(&in[0], &in[1], &in[4], out));
    return want_folded(&in[0], &in[2]);
}

static pod_status bn_grad_sums_swish_infer(const pod_node *n, const pod_type in[], int n_in,
                                           pod_type out[])
{
    out[2] = pod__bn_stored(n, &in[1]);
    return bn_grad_sums_act_infer(n, in, n_in, out);
}

static pod_status bn_grad_sums_of_infer(const pod_node *n, const pod_type in[], int n_in,
                                        pod_type out[])
{
    POD_TRY(grad_sums_infer(&in[0], &in[1], &in[3], out));
    out[2] = pod__bn_stored(n, &in[1]);
    if (n_in > 5) POD_TRY(pod__want_alike("x", &in[0], "more of dz", &in[5]));
    return pod__want_alike("what is handed on", &out[2], "z", &in[2]);
}

static void grad_sums_cost(const pod_node *n, const pod_type in[], const pod_type out[],
                           pod_cost *cost)
{
    const double ops = n->op == &pod__op_bn_grad_sums_act     ? 8
                       : n->op == &pod__op_bn_grad_sums_swish ? 18
                                                              : n->n_in + 1;
    pod__cost_of(n, in, out, ops * (double)pod_shape_count(&in[0].shape), cost);
}

static void bn_grad_sums_act_run(const void *attr, const void *const in[], void *const out[],
                                 void *scratch)
{
    (void)scratch;
    const pod__bn_rows *a = attr;
    pod__norm_at(a->set)->grad_sums_act(a->rows, a->c, pod__bn_types(a), in[0], in[1], NULL, NULL,
                                        in[2], in[3], in[4], in[5], POD_NORM_RELU, NULL, out[0],
                                        out[1]);
}

static void bn_grad_sums_swish_run(const void *attr, const void *const in[], void *const out[],
                                   void *scratch)
{
    (void)scratch;
    const pod__bn_rows *a = attr;
    pod__norm_at(a->set)->grad_sums_act(a->rows, a->c, pod__bn_types(a), in[0], in[1], NULL, NULL,
                                        in[2], in[3], in[4], in[5], POD_NORM_SWISH, out[2], out[0],
                                        out[1]);
}

typedef struct sums_of_run_attr {
    pod__bn_rows rows;
    int64_t n_in;
} sums_of_run_attr;

static void bn_grad_sums_of_run(const void *attr, const void *const in[], void *const out[],
                                void *scratch)
{
    (void)scratch;
    const sums_of_run_attr *a = attr;
    pod__norm_at(a->rows.set)
        ->grad_sums_act(a->rows.rows, a->rows.c, pod__bn_types(&a->rows), in[0], in[1],
                        a->n_in > 5 ? in[5] : NULL, in[2], NULL, NULL, in[3], in[4], POD_NORM_RELU,
                        out[2], out[0], out[1]);
}

static pod_status bn_grad_sums_act_lower(const pod_lower_args *args, pod_lowering *l)
{
    const pod__bn_rows run = pod__bn_rows_of(args, 1, -1);
    return pod__lower(args, bn_grad_sums_act_run, pod__norm_at(run.set)->name, &run, sizeof run, l);
}

static pod_status bn_grad_sums_swish_lower(const pod_lower_args *args, pod_lowering *l)
{
    const pod__bn_rows run = pod__bn_rows_of(args, 1, 2);
    POD_TRY(
        pod__lower(args, bn_grad_sums_swish_run, pod__norm_at(run.set)->name, &run, sizeof run, l));
    l->in_place[2] = pod__bn_in_place(args, 2, 1, -1);
    return POD_OK;
}

static pod_status bn_grad_sums_of_lower(const pod_lower_args *args, pod_lowering *l)
{
    const sums_of_run_attr run = {.rows = pod__bn_rows_of(args, 1, 2), .n_in = args->node->n_in};
    POD_TRY(pod__lower(args, bn_grad_sums_of_run, pod__norm_at(run.rows.set)->name, &run,
                       sizeof run, l));
    l->in_place[2] = pod__bn_in_place(args, 2, 1, -1);
    return POD_OK;
}

const pod_op pod__op_bn_grad_sums_act = {.name = "bn_grad_sums_act",
                                         .sweep = POD_SWEEP_SUMS,
                                         .by_sample = "sswwww>++",
                                         .n_in = 6,
                                         .n_out = 2,
                                         .takes_parts = true,
                                         .infer = bn_grad_sums_act_infer,
                                         .cost = grad_sums_cost,
                                         .lower = bn_grad_sums_act_lower};

const pod_op pod__op_bn_grad_sums_swish = {.name = "bn_grad_sums_swish",
                                           .sweep = POD_SWEEP_SUMS,
                                           .by_sample = "sswwww>++s",
                                           .n_in = 6,
                                           .n_out = 3,
                                           .takes_parts = true,
                                           .infer = bn_grad_sums_swish_infer,
                                           .cost = grad_sums_cost,
                                           .lower = bn_grad_sums_swish_lower};

const pod_op pod__op_bn_grad_sums_of = {.name = "bn_grad_sums_of",
                                        .sweep = POD_SWEEP_SUMS,
                                        .by_sample = "ssswws>++s",
                                        .n_in = 5,
                                        .n_more = 1,
                                        .n_out = 3,
                                        .takes_parts = true,
                                        .infer = bn_grad_sums_of_infer,
                                        .cost = grad_sums_cost,
                                        .lower = bn_grad_sums_of_lower};

/* ---- bn_grad_apply_act --------------------------------------------------------------------- */

enum { X, DZ, SCALE, SHIFT, MEAN, RSTD, GAMMA, DGAMMA, DBETA, N_GRAD_APPLY_IN };

static pod_status bn_grad_apply_act_infer(const pod_node *n, const pod_type in[], int n_in,
                                          pod_type out[])
{
    (void)n_in;
    POD_TRY(pod__bn_want_images("x", &in[X]));
    POD_TRY(pod__bn_want_beside(&in[X], "dz", &in[DZ]));
    POD_TRY(want_folded(&in[X], &in[SCALE]));
    POD_TRY(pod__bn_want_pair(&in[X], "the mean", &in[MEAN], "rstd", &in[RSTD]));
    POD_TRY(pod__want_channels("gamma", &in[GAMMA], &in[X]));
    POD_TRY(pod__want_no_parts("gamma", &in[GAMMA]));
    POD_TRY(pod__bn_want_sums_of_group(n->attr, &in[X], &in[MEAN], &in[DGAMMA], &in[DBETA]));
    out[0] = pod__bn_stored(n, &in[X]);
    return POD_OK;
}

typedef struct grad_apply_run_attr {
    pod__bn_rows rows;
    double count;
} grad_apply_run_attr;

static void bn_grad_apply_act_run(const void *attr, const void *const in[], void *const out[],
                                  void *scratch)
{
    (void)scratch;
    const grad_apply_run_attr *a = attr;
    pod__norm_at(a->rows.set)
        ->grad_apply_act(a->rows.rows, a->rows.c, a->count, pod__bn_types(&a->rows), in[X], in[DZ],
                         in[SCALE], in[SHIFT], in[MEAN], in[RSTD], in[GAMMA], in[DGAMMA], in[DBETA],
                         out[0]);
}

static pod_status bn_grad_apply_act_lower(const pod_lower_args *args, pod_lowering *l)
{
    const pod_bn_attr *attr = args->node->attr;
    const grad_apply_run_attr run = {.rows = pod__bn_rows_of(args, DZ, 0),
                                     .count = pod__bn_own_rows(attr->rows, args, DGAMMA)};
    POD_TRY(pod__lower(args, bn_grad_apply_act_run, pod__norm_at(run.rows.set)->name, &run,
                       sizeof run, l));
    l->in_place[0] = pod__bn_in_place(args, 0, DZ, X);
    return POD_OK;
}

const pod_op pod__op_bn_grad_apply_act = {.name = "bn_grad_apply_act",
                                          .sweep = POD_SWEEP_EACH,
                                          .by_sample = "sswwwwwww>s",
                                          .n_in = N_GRAD_APPLY_IN,
                                          .n_out = 1,
                                          .takes_parts = true,
                                          .of_group = 3u << DGAMMA,
                                          .infer = bn_grad_apply_act_infer,
                                          .ops_each = 10,
                                          .lower = bn_grad_apply_act_lower};
