/* Batch normalization, kernels/norm, in the steps between which cores may share statistics.
 *
 *   bn_sums        x                                        -> sum, sum_sq    sums over cores
 *   bn_moments     sum, sum_sq                              -> mean, var, rstd
 *   bn_rstd        var                                      -> rstd           for evaluation
 *   bn_apply       x, mean, rstd, gamma, beta               -> y
 *   bn_grad_sums   x, dy, mean, rstd                        -> dgamma, dbeta  sums over cores
 *   bn_grad_apply  x, dy, mean, rstd, gamma, dgamma, dbeta  -> dx
 *
 * x, y and their gradients have type (..., C); all else is float32 (C). After fusing, y, dy and dx
 * may be float32 beside an x in bf16. bn_moments takes a core's
 * own sums, over whatever group of mesh dimensions they have been reduced already: the moments then
 * are those of the group's samples and vary over the rest. The gradient of bn_apply is that of the
 * whole normalization, statistics included: bn_sums and bn_moments have none of their own. */
#include <math.h>

#include "runtime/ops/layers/op_batchnorm.h"

typedef struct bn_moments_attr {
    double rows;
    float eps, unused;
} bn_moments_attr;

pod_status pod__bn_want_images(const char *what, const pod_type *t)
{
    POD_TRY(pod__want_dtype(what, t, POD__FLOATS));
    if (t->shape.n_dims < 2) return pod__want_dims(what, t, 4);
    return pod__want_no_parts(what, t);
}

pod_status pod__bn_want_beside(const pod_type *x, const char *what, const pod_type *t)
{
    pod_type as_x = *t;
    if (x->dtype == POD_BF16 && t->dtype == POD_F32) as_x.dtype = POD_BF16;
    return pod__want_alike("x", x, what, &as_x);
}

pod_type pod__bn_stored(const pod_node *n, const pod_type *images)
{
    const pod_bn_attr *attr = n->attr;
    pod_type t = *images;
    if (attr && attr->stored) t.dtype = (pod_dtype)(attr->stored - 1);
    return t;
}

pod_status pod_bn_store_as(pod_node *node, pod_dtype out, pod_arena *arena)
{
    pod_bn_attr attr = {0};
    if (node->attr) attr = *(const pod_bn_attr *)node->attr;
    attr.stored = 1 + (int64_t)out;
    node->attr = pod_arena_copy(arena, &attr, _Alignof(pod_bn_attr), sizeof attr);
    node->attr_bytes = sizeof attr;
    return node->attr ? POD_OK : POD_E_NOMEM;
}

pod__bn_rows pod__bn_rows_of(const pod_lower_args *args, int beside, int out)
{
    const pod__rows_attr x = pod__rows_of(args, pod__norm_pick(args->target->cpu));
    pod__bn_rows run = {.rows = x.rows, .c = x.c, .set = x.set, .x = (int8_t)x.dtype};
    run.beside = beside < 0 ? run.x : (int8_t)args->in[beside].dtype;
    run.out = out < 0 ? run.x : (int8_t)args->out[out].dtype;
    POD_ASSERT(run.x == POD_BF16 || (run.beside == run.x && run.out == run.x),
               "x is %s, dy %s, what is made %s", pod_dtype_name((pod_dtype)run.x),
               pod_dtype_name((pod_dtype)run.beside), pod_dtype_name((pod_dtype)run.out));
    return run;
}

pod_norm_types pod__bn_types(const pod__bn_rows *a)
{
    return (pod_norm_types){(pod_dtype)a->x, (pod_dtype)a->beside, (pod_dtype)a->out};
}

int8_t pod__bn_in_place(const pod_lower_args *args, int k, int first, int second)
{
    if (args->in[first].dtype == args->out[k].dtype) return (int8_t)first;
    return (int8_t)(second >= 0 && args->in[second].dtype == args->out[k].dtype ? second : -1);
}

double pod__bn_own_rows(double rows, const pod_lower_args *args, int in)
{
    return rows / pod_mask_size(args->mesh, args->in[in].sum);
}

/* ---- bn_sums ------------------------------------------------------------------------------- */

static pod_status bn_sums_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n, (void)n_in;
    POD_TRY(pod__bn_want_images("x", &in[0]));
    out[0] = pod__channels_of(&in[0]);
    out[0].sum = pod__rows_split(&in[0]);
    out[1] = out[0];
    return POD_OK;
}

static void bn_sums_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    const pod__rows_attr *a = attr;
    pod__norm_at(a->set)->sums(a->rows, a->c, (pod_dtype)a->dtype, in[0], out[0], out[1]);
}

static pod_status bn_sums_lower(const pod_lower_args *args, pod_lowering *l)
{
    const pod__rows_attr run = pod__rows_of(args, pod__norm_pick(args->target->cpu));
    return pod__lower(args, bn_sums_run, pod__norm_at(run.set)->name, &run, sizeof run, l);
}

const pod_op pod__op_bn_sums = {.name = "bn_sums",
                                .sweep = POD_SWEEP_SUMS,
                                .by_sample = "s>++",
                                .n_in = 1,
                                .n_out = 2,
                                .infer = bn_sums_infer,
                                .ops_each = 3,
                                .lower = bn_sums_lower};

/* ---- bn_moments ---------------------------------------------------------------------------- */

static pod_status bn_moments_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n, (void)n_in;
    POD_TRY(pod__want_dtype("the sum", &in[0], 1u << POD_F32));
    POD_TRY(pod__want_dims("the sum", &in[0], 1));
    POD_TRY(pod__want_alike("the sum", &in[0], "the sum of squares", &in[1]));
    pod_type t = in[0];
    t.vary |= t.sum;
    t.sum = 0;
    out[0] = out[1] = out[2] = t;
    return POD_OK;
}

typedef struct moments_run_attr {
    double count;
    int64_t c;
    float eps;
    int32_t set;
} moments_run_attr;

static void bn_moments_run(const void *attr, const void *const in[], void *const out[],
                           void *scratch)
{
    (void)scratch;
    const moments_run_attr *a = attr;
    pod__norm_at(a->set)->moments(a->c, a->count, a->eps, in[0], in[1], out[0], out[1], out[2]);
}

static pod_status bn_moments_lower(const pod_lower_args *args, pod_lowering *l)
{
    const bn_moments_attr *attr = args->node->attr;
    const moments_run_attr run = {.count = pod__bn_own_rows(attr->rows, args, 0),
                                  .c = args->in_local[0].dim[0],
                                  .eps = attr->eps,
                                  .set = pod__norm_pick(args->target->cpu)};
    return pod__lower(args, bn_moments_run, pod__norm_at(run.set)->name, &run, sizeof run, l);
}

const pod_op pod__op_bn_moments = {.name = "bn_moments",
                                   .n_in = 2,
                                   .n_out = 3,
                                   .takes_parts = true,
                                   .of_group = 3,
                                   .infer = bn_moments_infer,
                                   .ops_each = 8,
                                   .lower = bn_moments_lower};

/* ---- bn_rstd ------------------------------------------------------------------------------- */

static pod_status bn_rstd_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    POD_TRY(pod__want_dtype("the variance", &in[0], 1u << POD_F32));
    POD_TRY(pod__want_dims("the variance", &in[0], 1));
    return pod__infer_elementwise(n, in, n_in, out);
}

typedef struct rstd_run_attr {
    int64_t c;
    float eps, unused;
} rstd_run_attr;

static void bn_rstd_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    const rstd_run_attr *a = attr;
    const float *var = in[0];
    float *rstd = out[0];
    for (int64_t c = 0; c < a->c; c++)
        rstd[c] = (float)(1.0 / sqrt((double)var[c] + (double)a->eps));
}

static pod_status bn_rstd_lower(const pod_lower_args *args, pod_lowering *l)
{
    const bn_moments_attr *attr = args->node->attr;
    const rstd_run_attr run = {.c = args->in_local[0].dim[0], .eps = attr->eps};
    POD_TRY(pod__lower(args, bn_rstd_run, "plain", &run, sizeof run, l));
    l->in_place[0] = 0;
    return POD_OK;
}

const pod_op pod__op_bn_rstd = {.name = "bn_rstd",
                                .n_in = 1,
                                .n_out = 1,
                                .is_cheap = true,
                                .infer = bn_rstd_infer,
                                .ops_each = 3,
                                .lower = bn_rstd_lower};

/* ---- bn_apply ------------------------------------------------------------------------------ */

pod_status pod__bn_want_pair(const pod_type *x, const char *name0, const pod_type *in0,
                             const char *name1, const pod_type *in1)
{
    POD_TRY(pod__want_channels(name0, in0, x));
    POD_TRY(pod__want_alike(name0, in0, name1, in1));
    if (!in0->sum) return POD_OK;
    return pod__want_no_parts(name0, in0);
}

static pod_status want_moments(const pod_type *x, const pod_type *mean, const pod_type *rstd)
{
    return pod__bn_want_pair(x, "the mean", mean, "rstd", rstd);
}

static pod_status bn_apply_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    static const char *const name[] = {"x", "the mean", "rstd", "gamma", "beta"};
    (void)n_in;
    POD_TRY(pod__bn_want_images("x", &in[0]));
    POD_TRY(want_moments(&in[0], &in[1], &in[2]));
    for (int i = 3; i < 5; i++) {
        POD_TRY(pod__want_channels(name[i], &in[i], &in[0]));
        POD_TRY(pod__want_no_parts(name[i], &in[i]));
    }
    out[0] = pod__bn_stored(n, &in[0]);
    return POD_OK;
}

static void bn_apply_grad(pod_graph *g, const pod_node *n, const pod_value d_out[],
                          const bool need[], pod_value d_in[])
{
    enum { X, MEAN, RSTD, GAMMA, BETA };
    pod_value x = n->in[X], mean = n->in[MEAN], rstd = n->in[RSTD], sums[2];
    pod_value dy = pod_cast(g, d_out[0], pod_graph_type(g, x)->dtype);
    pod_op_add(g, &pod__op_bn_grad_sums, NULL, 0, (const pod_value[]){x, dy, mean, rstd}, 4, sums);
    if (need[X])
        d_in[X] =
            pod_op_add1(g, &pod__op_bn_grad_apply, n->attr, n->attr_bytes,
                        (const pod_value[]){x, dy, mean, rstd, n->in[GAMMA], sums[0], sums[1]}, 7);
    if (need[GAMMA]) d_in[GAMMA] = sums[0];
    if (need[BETA]) d_in[BETA] = sums[1];
}

static void bn_apply_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    const pod__bn_rows *a = attr;
    pod__norm_at(a->set)->apply(a->rows, a->c, pod__bn_types(a), in[0], in[1], in[2], in[3], in[4],
                                out[0]);
}

static pod_status bn_apply_lower(const pod_lower_args *args, pod_lowering *l)
{
    const pod__bn_rows run = pod__bn_rows_of(args, -1, 0);
    POD_TRY(pod__lower(args, bn_apply_run, pod__norm_at(run.set)->name, &run, sizeof run, l));
    l->in_place[0] = pod__bn_in_place(args, 0, 0, -1);
    return POD_OK;
}

const pod_op pod__op_bn_apply = {.name = "bn_apply",
                                 .sweep = POD_SWEEP_EACH,
                                 .by_sample = "swwww>s",
                                 .n_in = 5,
                                 .n_out = 1,
                                 .takes_parts = true,
                                 .is_cheap = true,
                                 .infer = bn_apply_infer,
                                 .grad = bn_apply_grad,
                                 .ops_each = 2,
                                 .lower = bn_apply_lower};

/* ---- bn_grad_sums -------------------------------------------------------------------------- */

static pod_status bn_grad_sums_infer(const pod_node *n, const pod_type in[], int n_in,
                                     pod_type out[])
{
    (void)n, (void)n_in;
    POD_TRY(pod__bn_want_images("x", &in[0]));
    POD_TRY(pod__bn_want_beside(&in[0], "dy", &in[1]));
    POD_TRY(want_moments(&in[0], &in[2], &in[3]));
    out[0] = pod__channels_of(&in[0]);
    out[0].sum = pod__rows_split(&in[0]);
    out[1] = out[0];
    return POD_OK;
}

static void bn_grad_sums_run(const void *attr, const void *const in[], void *const out[],
                             void *scratch)
{
    (void)scratch;
    const pod__bn_rows *a = attr;
    pod__norm_at(a->set)->grad_sums(a->rows, a->c, pod__bn_types(a), in[0], in[1], in[2], in[3],
                                    out[0], out[1]);
}

static pod_status bn_grad_sums_lower(const pod_lower_args *args, pod_lowering *l)
{
    const pod__bn_rows run = pod__bn_rows_of(args, 1, -1);
    return pod__lower(args, bn_grad_sums_run, pod__norm_at(run.set)->name, &run, sizeof run, l);
}

const pod_op pod__op_bn_grad_sums = {.name = "bn_grad_sums",
                                     .sweep = POD_SWEEP_SUMS,
                                     .by_sample = "ssww>++",
                                     .n_in = 4,
                                     .n_out = 2,
                                     .takes_parts = true,
                                     .infer = bn_grad_sums_infer,
                                     .ops_each = 5,
                                     .lower = bn_grad_sums_lower};

/* ---- bn_grad_apply ------------------------------------------------------------------------- */

pod_status pod__bn_want_sums_of_group(const pod_bn_attr *attr, const pod_type *x,
                                      const pod_type *mean, const pod_type *dgamma,
                                      const pod_type *dbeta)
{
    POD_TRY(pod__want_channels("dgamma", dgamma, x));
    POD_TRY(pod__want_alike("dgamma", dgamma, "dbeta", dbeta));
    if (!isfinite(attr->rows) || (dgamma->sum == mean->vary && !dgamma->vary)) return POD_OK;
    char sums[POD__TYPE_TEXT], of[POD__TYPE_TEXT];
    return pod_fail(POD_E_SHAPE, "dgamma is %s, the mean is %s: of different groups of cores",
                    pod__type_print(dgamma, sums, sizeof sums),
                    pod__type_print(mean, of, sizeof of));
}

static pod_status bn_grad_apply_infer(const pod_node *n, const pod_type in[], int n_in,
                                      pod_type out[])
{
    enum { X, DY, MEAN, RSTD, GAMMA, DGAMMA, DBETA };
    const pod_bn_attr *attr = n->attr;
    (void)n_in;
    POD_TRY(pod__bn_want_images("x", &in[X]));
    POD_TRY(pod__bn_want_beside(&in[X], "dy", &in[DY]));
    POD_TRY(want_moments(&in[X], &in[MEAN], &in[RSTD]));
    POD_TRY(pod__want_channels("gamma", &in[GAMMA], &in[X]));
    POD_TRY(pod__want_no_parts("gamma", &in[GAMMA]));
    POD_TRY(pod__bn_want_sums_of_group(attr, &in[X], &in[MEAN], &in[DGAMMA], &in[DBETA]));
    out[0] = pod__bn_stored(n, &in[X]);
    return POD_OK;
}

typedef struct grad_apply_run_attr {
    pod__bn_rows rows;
    double count;
} grad_apply_run_attr;

static void bn_grad_apply_run(const void *attr, const void *const in[], void *const out[],
                              void *scratch)
{
    (void)scratch;
    const grad_apply_run_attr *a = attr;
    pod__norm_at(a->rows.set)
        ->grad_apply(a->rows.rows, a->rows.c, a->count, pod__bn_types(&a->rows), in[0], in[1],
                     in[2], in[3], in[4], in[5], in[6], out[0]);
}

static pod_status bn_grad_apply_lower(const pod_lower_args *args, pod_lowering *l)
{
    const pod_bn_attr *attr = args->node->attr;
    const grad_apply_run_attr run = {.rows = pod__bn_rows_of(args, 1, 0),
                                     .count = pod__bn_own_rows(attr->rows, args, 5)};
    POD_TRY(
        pod__lower(args, bn_grad_apply_run, pod__norm_at(run.rows.set)->name, &run, sizeof run, l));
    l->in_place[0] = pod__bn_in_place(args, 0, 1, 0);
    return POD_OK;
}

const pod_op pod__op_bn_grad_apply = {.name = "bn_grad_apply",
                                      .sweep = POD_SWEEP_EACH,
                                      .by_sample = "sswwwww>s",
                                      .n_in = 7,
                                      .n_out = 1,
                                      .takes_parts = true,
                                      .of_group = 3u << 5,
                                      .infer = bn_grad_apply_infer,
                                      .ops_each = 7,
                                      .lower = bn_grad_apply_lower};

/* ---- the builder --------------------------------------------------------------------------- */

/* moving = momentum moving + (1 - momentum) batch, in phase UPDATE: a step whose loss is not finite
 * must leave it alone. */
static void follow(pod_graph *g, pod_value moving, float momentum, pod_value batch)
{
    const pod_phase phase = pod_graph_phase(g);
    pod_graph_set_phase(g, POD_PHASE_UPDATE);
    pod_value next = pod_axpby(g, momentum, moving, 1.0f - momentum, batch);
    if (next.id) pod_assign(g, moving, next);
    pod_graph_set_phase(g, phase);
}

pod_value pod_batchnorm(pod_graph *g, pod_value x, pod_batchnorm_attr attr)
{
    if (!pod__usable(g, x)) return (pod_value){0};
    const pod_type t = *pod_graph_type(g, x);
    const pod_shape c = {.n_dims = 1, .dim = {pod__last(&t.shape)}};
    const pod_init zero = {.kind = POD_INIT_ZERO}, one = {.kind = POD_INIT_ONE};
    pod_value gamma = pod_weight(g, "gamma", c, attr.gamma, POD_ROLE_NORM);
    pod_value beta = pod_weight(g, "beta", c, zero, POD_ROLE_NORM);
    pod_value mean = pod_variable(g, "moving_mean", c, zero, POD_ROLE_MOVING);
    pod_value var = pod_variable(g, "moving_var", c, one, POD_ROLE_MOVING);
    const bn_moments_attr moments = {.rows = (double)pod__rows(&t.shape), .eps = attr.eps};
    pod_bn_attr apply = {.rows = HUGE_VAL};
    pod_value rstd;
    if (attr.train) {
        pod_value sums[2], stat[3];
        pod_op_add(g, &pod__op_bn_sums, NULL, 0, &x, 1, sums);
        pod_op_add(g, &pod__op_bn_moments, &moments, sizeof moments, sums, 2, stat);
        follow(g, mean, attr.momentum, stat[0]);
        follow(g, var, attr.momentum, stat[1]);
        mean = stat[0];
        rstd = stat[2];
        apply.rows = moments.rows;
    } else {
        rstd = pod_op_add1(g, &pod__op_bn_rstd, &moments, sizeof moments, &var, 1);
    }
    return pod_op_add1(g, &pod__op_bn_apply, &apply, sizeof apply,
                       (const pod_value[]){x, mean, rstd, gamma, beta}, 5);
}
