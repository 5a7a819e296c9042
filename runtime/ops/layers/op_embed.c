/* Embeddings and rows picked out of sequences, kernels/embed. Numbers of rows are int32 inputs.
 *
 *   embed             ids (N, ...), table (V, H) f32   -> y (N, ..., H); the attr is y's type
 *   embed_grad        ids, dy [, more (V, H) f32]      -> dtable (V, H) f32, with `more` added: a
 *                                                         sum over the cores' samples. The pass
 *                                                         `fuse` gives it `more`
 *   gather_rows       x (N, S, H), places (N, P)       -> y (N, P, H)
 *   gather_rows_grad  places, dy                       -> dx (N, S, H) */
#include "runtime/ops/op_common.h"

static pod_status want_numbers(const char *what, const pod_type *t)
{
    POD_TRY(pod__want_dtype(what, t, 1u << POD_I32));
    if (t->shape.n_dims < 1 || t->shape.n_dims >= POD_MAX_DIMS) {
        char got[POD__TYPE_TEXT];
        return pod_fail(POD_E_SHAPE, "%s is %s, need 1 to %d dimensions", what,
                        pod__type_print(t, got, sizeof got), POD_MAX_DIMS - 1);
    }
    return pod__want_only_rows_split(what, t);
}

/* The numbers' dimensions, then H. */
static pod_type rows_of(const pod_type *numbers, int64_t h, pod_dtype t)
{
    pod_type rows = *numbers;
    rows.dtype = t;
    rows.shape.dim[rows.shape.n_dims++] = h;
    return rows;
}

static double bytes_of(const pod_type *t)
{
    return (double)pod_shape_count(&t->shape) * (double)pod_dtype_bytes(t->dtype);
}

/* ---- embed --------------------------------------------------------------------------------- */

typedef struct embed_attr {
    int64_t rows;  /* of the table, for the gradient */
    int64_t dtype; /* of y */
} embed_attr;

static pod_status embed_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n_in;
    const embed_attr *a = n->attr;
    POD_TRY(want_numbers("ids", &in[0]));
    POD_TRY(pod__want_dtype("the table", &in[1], 1u << POD_F32));
    POD_TRY(pod__want_dims("the table", &in[1], 2));
    POD_TRY(pod__want_whole("the table", &in[1]));
    out[0] = rows_of(&in[0], in[1].shape.dim[1], (pod_dtype)a->dtype);
    return pod__want_dtype("the result", &out[0], POD__FLOATS);
}

/* Of the table only the rows that are looked up. */
static void embed_cost(const pod_node *n, const pod_type in[], const pod_type out[], pod_cost *cost)
{
    const double count = (double)pod_shape_count(&out[0].shape);
    pod__cost_of(n, in, out, count, cost);
    cost->bytes_read = bytes_of(&in[0]) + count * (double)sizeof(float);
}

static void embed_grad_of(pod_graph *g, const pod_node *n, const pod_value d_out[],
                          const bool need[], pod_value d_in[])
{
    const embed_attr attr = {.rows = pod_graph_type(g, n->in[1])->shape.dim[0]};
    if (need[1])
        d_in[1] = pod_op_add1(g, &pod__op_embed_grad, &attr, sizeof attr,
                              (const pod_value[]){n->in[0], d_out[0]}, 2);
}

typedef struct embed_run_attr {
    int64_t n, v, h;
    int32_t dtype, set; /* dtype: of y, dy */
} embed_run_attr;

static void embed_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    const embed_run_attr *a = attr;
    pod__embed_at(a->set)->lookup(a->n, a->v, a->h, in[0], in[1], (pod_dtype)a->dtype, out[0]);
}

static pod_status embed_lower(const pod_lower_args *args, pod_lowering *l)
{
    const embed_run_attr run = {.n = pod_shape_count(&args->in_local[0]),
                                .v = args->in_local[1].dim[0],
                                .h = args->in_local[1].dim[1],
                                .dtype = (int32_t)args->out[0].dtype,
                                .set = pod__embed_pick(args->target->cpu)};
    return pod__lower(args, embed_run, pod__embed_at(run.set)->name, &run, sizeof run, l);
}

const pod_op pod__op_embed = {.name = "embed",
                              .n_in = 2,
                              .n_out = 1,
                              .is_cheap = true,
                              .infer = embed_infer,
                              .grad = embed_grad_of,
                              .cost = embed_cost,
                              .lower = embed_lower};

pod_value pod_embed_rows(pod_graph *g, pod_value ids, pod_value table, pod_dtype to)
{
    const embed_attr attr = {.dtype = to};
    return pod_op_add1(g, &pod__op_embed, &attr, sizeof attr, (const pod_value[]){ids, table}, 2);
}

/* ---- embed_grad ---------------------------------------------------------------------------- */

static pod_status embed_grad_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    const embed_attr *a = n->attr;
    POD_TRY(want_numbers("ids", &in[0]));
    POD_TRY(pod__want_dtype("dy", &in[1], POD__FLOATS));
    if (in[1].sum || in[1].vary) return pod_fail(POD_E_UNSUPPORTED, "dy is a summand");
    const pod_type like = rows_of(&in[0], pod__last(&in[1].shape), in[1].dtype);
    POD_TRY(pod__want_alike("dy", &in[1], "a row for each id", &like));
    out[0] = pod_type_of(POD_F32, 2, (const int64_t[]){a->rows, pod__last(&in[1].shape)});
    out[0].sum = in[0].split[0];
    if (n_in < 3) return POD_OK;
    if (in[2].sum != out[0].sum)
        return pod_fail(POD_E_UNSUPPORTED, "what is added has other parts");
    return pod__want_alike("what is added", &in[2], "the gradient", &out[0]);
}

/* With `more` it is done in that memory: the rows that occur are read and written. */
static void embed_grad_cost(const pod_node *n, const pod_type in[], const pod_type out[],
                            pod_cost *cost)
{
    const double count = (double)pod_shape_count(&in[1].shape);
    pod__cost_of(n, in, out, count, cost);
    const double rows = count * (double)sizeof(float);
    cost->bytes_read = bytes_of(&in[0]) + bytes_of(&in[1]) + rows;
    cost->bytes_written = rows + (n->n_in == 3 ? 0 : bytes_of(&out[0]));
}

static void embed_grad_run(const void *attr, const void *const in[], void *const out[], bool add)
{
    const embed_run_attr *a = attr;
    pod__embed_at(a->set)->lookup_grad(a->n, a->v, a->h, in[0], (pod_dtype)a->dtype, in[1],
                                       add ? in[2] : NULL, out[0]);
}

static void embed_grad_alone(const void *attr, const void *const in[], void *const out[],
                             void *scratch)
{
    (void)scratch;
    embed_grad_run(attr, in, out, false);
}

static void embed_grad_with_more(const void *attr, const void *const in[], void *const out[],
                                 void *scratch)
{
    (void)scratch;
    embed_grad_run(attr, in, out, true);
}

static pod_status embed_grad_lower(const pod_lower_args *args, pod_lowering *l)
{
    const bool add = args->node->n_in == 3;
    const embed_run_attr run = {.n = pod_shape_count(&args->in_local[0]),
                                .v = args->out_local[0].dim[0],
                                .h = args->out_local[0].dim[1],
                                .dtype = (int32_t)args->in[1].dtype,
                                .set = pod__embed_pick(args->target->cpu)};
    POD_TRY(pod__lower(args, add ? embed_grad_with_more : embed_grad_alone,
                       pod__embed_at(run.set)->name, &run, sizeof run, l));
    if (add) l->in_place[0] = 2;
    return POD_OK;
}

const pod_op pod__op_embed_grad = {.name = "embed_grad",
                                   .n_in = 2,
                                   .n_more = 1,
                                   .n_out = 1,
                                   .takes_parts = true,
                                   .infer = embed_grad_infer,
                                   .cost = embed_grad_cost,
                                   .lower = embed_grad_lower};

/* ---- gather_rows --------------------------------------------------------------------------- */

static pod_status want_places(const pod_type *places, const pod_type *rows)
{
    POD_TRY(want_numbers("places", places));
    POD_TRY(pod__want_dims("places", places, 2));
    POD_TRY(pod__want_dims("x", rows, 3));
    POD_TRY(pod__want_dtype("x", rows, POD__FLOATS));
    POD_TRY(pod__want_only_rows_split("x", rows));
    POD_TRY(pod__want_no_parts("x", rows));
    if (places->shape.dim[0] == rows->shape.dim[0] && places->split[0] == rows->split[0])
        return POD_OK;
    char got[POD__TYPE_TEXT], of[POD__TYPE_TEXT];
    return pod_fail(POD_E_SHAPE, "places are %s, x is %s: need as many sequences",
                    pod__type_print(places, got, sizeof got), pod__type_print(rows, of, sizeof of));
}

static pod_status gather_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n, (void)n_in;
    POD_TRY(want_places(&in[1], &in[0]));
    out[0] = rows_of(&in[1], in[0].shape.dim[2], in[0].dtype);
    return POD_OK;
}

static pod_status gather_grad_infer(const pod_node *n, const pod_type in[], int n_in,
                                    pod_type out[])
{
    const int64_t *length = n->attr;
    (void)n_in;
    POD_TRY(want_places(&in[0], &in[1]));
    const pod_type like = rows_of(&in[0], in[1].shape.dim[2], in[1].dtype);
    POD_TRY(pod__want_alike("dy", &in[1], "a row for each place", &like));
    out[0] = in[1];
    out[0].shape.dim[1] = *length;
    return POD_OK;
}

/* The rows that are picked; the gradient writes all. */
static void gather_cost(const pod_node *n, const pod_type in[], const pod_type out[],
                        pod_cost *cost)
{
    const bool is_grad = n->op == &pod__op_gather_rows_grad;
    const pod_type *picked = is_grad ? &in[1] : &out[0];
    pod__cost_of(n, in, out, is_grad ? (double)pod_shape_count(&picked->shape) : 0, cost);
    cost->bytes_read = bytes_of(&in[is_grad ? 0 : 1]) + bytes_of(picked);
}

static void gather_grad_of(pod_graph *g, const pod_node *n, const pod_value d_out[],
                           const bool need[], pod_value d_in[])
{
    if (!need[0]) return;
    const pod_type x = *pod_graph_type(g, n->in[0]);
    const pod_value dy = pod_cast(g, d_out[0], x.dtype);
    d_in[0] = pod_op_add1(g, &pod__op_gather_rows_grad, &x.shape.dim[1], sizeof(int64_t),
                          (const pod_value[]){n->in[1], dy}, 2);
}

typedef struct gather_run_attr {
    pod_gather_shape shape;
    int32_t dtype, set;
} gather_run_attr;

static void gather_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    const gather_run_attr *a = attr;
    pod__embed_at(a->set)->gather(&a->shape, (pod_dtype)a->dtype, in[1], in[0], out[0]);
}

static void gather_grad_run(const void *attr, const void *const in[], void *const out[],
                            void *scratch)
{
    (void)scratch;
    const gather_run_attr *a = attr;
    pod__embed_at(a->set)->gather_grad(&a->shape, (pod_dtype)a->dtype, in[0], in[1], out[0]);
}

static pod_status gather_lower(const pod_lower_args *args, pod_lowering *l)
{
    const bool is_grad = args->node->op == &pod__op_gather_rows_grad;
    const pod_shape *x = is_grad ? &args->out_local[0] : &args->in_local[0];
    const pod_shape *y = is_grad ? &args->in_local[1] : &args->out_local[0];
    const gather_run_attr run = {.shape = {x->dim[0], x->dim[1], y->dim[1], x->dim[2]},
                                 .dtype = (int32_t)args->out[0].dtype,
                                 .set = pod__embed_pick(args->target->cpu)};
    return pod__lower(args, is_grad ? gather_grad_run : gather_run, pod__embed_at(run.set)->name,
                      &run, sizeof run, l);
}

const pod_op pod__op_gather_rows = {.name = "gather_rows",
                                    .n_in = 2,
                                    .n_out = 1,
                                    .is_cheap = true,
                                    .infer = gather_infer,
                                    .grad = gather_grad_of,
                                    .cost = gather_cost,
                                    .lower = gather_lower};

const pod_op pod__op_gather_rows_grad = {.name = "gather_rows_grad",
                                         .n_in = 2,
                                         .n_out = 1,
                                         .infer = gather_grad_infer,
                                         .cost = gather_cost,
                                         .lower = gather_lower};

pod_value pod_gather_rows(pod_graph *g, pod_value x, pod_value places)
{
    return pod_op_add1(g, &pod__op_gather_rows, NULL, 0, (const pod_value[]){x, places}, 2);
}
