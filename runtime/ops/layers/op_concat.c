/* concat_rows: the rows of two sequences as one. split_rows, its gradient: one sequence as two.
 *
 *   concat_rows  a (N, A, H), b (N, B, H)  -> y (N, A + B, H)
 *   split_rows   y (N, A + B, H)           -> a, b; the attr is A, an int64_t
 *
 * All have one type. Both are copies, in which vectors gain nothing over memcpy. */
#include <string.h>

#include "runtime/ops/op_common.h"

enum { ROWS = 1 }; /* the dimension that is joined */

static pod_status want_sequences(const char *what, const pod_type *t)
{
    POD_TRY(pod__want_dtype(what, t, POD__FLOATS));
    POD_TRY(pod__want_dims(what, t, 3));
    POD_TRY(pod__want_only_rows_split(what, t));
    return pod__want_no_parts(what, t);
}

static pod_status concat_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n, (void)n_in;
    POD_TRY(want_sequences("a", &in[0]));
    POD_TRY(want_sequences("b", &in[1]));
    pod_type like_a = in[1];
    like_a.shape.dim[ROWS] = in[0].shape.dim[ROWS];
    POD_TRY(pod__want_alike("a", &in[0], "b, with as many rows,", &like_a));
    out[0] = in[0];
    out[0].shape.dim[ROWS] += in[1].shape.dim[ROWS];
    return POD_OK;
}

static pod_status split_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    const int64_t first = *(const int64_t *)n->attr;
    (void)n_in;
    POD_TRY(want_sequences("y", &in[0]));
    if (first < 1 || first >= in[0].shape.dim[ROWS])
        return pod_fail(POD_E_SHAPE, "the first %lld of %lld rows, need some of both",
                        (long long)first, (long long)in[0].shape.dim[ROWS]);
    out[0] = out[1] = in[0];
    out[0].shape.dim[ROWS] = first;
    out[1].shape.dim[ROWS] -= first;
    return POD_OK;
}

static void concat_grad(pod_graph *g, const pod_node *n, const pod_value d_out[], const bool need[],
                        pod_value d_in[])
{
    const pod_type a = *pod_graph_type(g, n->in[0]);
    const pod_value dy = pod_cast(g, d_out[0], a.dtype);
    pod_value d[2];
    pod_op_add(g, &pod__op_split_rows, &a.shape.dim[ROWS], sizeof(int64_t), &dy, 1, d);
    for (int i = 0; i < 2; i++)
        if (need[i]) d_in[i] = d[i];
}

typedef struct run_attr {
    int64_t n, a_bytes, b_bytes; /* sequences, bytes of a part of one */
} run_attr;

static void concat_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    const run_attr *r = attr;
    char *y = out[0];
    for (int64_t i = 0; i < r->n; i++) {
        memcpy(y, (const char *)in[0] + i * r->a_bytes, (size_t)r->a_bytes);
        memcpy(y + r->a_bytes, (const char *)in[1] + i * r->b_bytes, (size_t)r->b_bytes);
        y += r->a_bytes + r->b_bytes;
    }
}

static void split_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    const run_attr *r = attr;
    const char *y = in[0];
    for (int64_t i = 0; i < r->n; i++) {
        memcpy((char *)out[0] + i * r->a_bytes, y, (size_t)r->a_bytes);
        memcpy((char *)out[1] + i * r->b_bytes, y + r->a_bytes, (size_t)r->b_bytes);
        y += r->a_bytes + r->b_bytes;
    }
}

static pod_status lower(const pod_lower_args *args, pod_run_fn *fn, const pod_shape *a,
                        const pod_shape *b, pod_lowering *l)
{
    const int64_t row_bytes = pod__last(a) * (int64_t)pod_dtype_bytes(args->in[0].dtype);
    const run_attr run = {a->dim[0], a->dim[ROWS] * row_bytes, b->dim[ROWS] * row_bytes};
    return pod__lower(args, fn, "plain", &run, sizeof run, l);
}

static pod_status concat_lower(const pod_lower_args *args, pod_lowering *l)
{
    return lower(args, concat_run, &args->in_local[0], &args->in_local[1], l);
}

static pod_status split_lower(const pod_lower_args *args, pod_lowering *l)
{
    return lower(args, split_run, &args->out_local[0], &args->out_local[1], l);
}

const pod_op pod__op_concat_rows = {.name = "concat_rows",
                                    .n_in = 2,
                                    .n_out = 1,
                                    .is_cheap = true,
                                    .infer = concat_infer,
                                    .grad = concat_grad,
                                    .lower = concat_lower};

const pod_op pod__op_split_rows = {
    .name = "split_rows", .n_in = 1, .n_out = 2, .infer = split_infer, .lower = split_lower};

pod_value pod_concat_rows(pod_graph *g, pod_value a, pod_value b)
{
    return pod_op_add1(g, &pod__op_concat_rows, NULL, 0, (const pod_value[]){a, b}, 2);
}
