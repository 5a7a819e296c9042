#include "runtime/ops/op_common.h"

#include <inttypes.h>
#include <stdio.h>

bool pod__usable(pod_graph *g, pod_value v)
{
    if (!v.id) pod_graph_fail(g, POD_E_INVALID, "an input is nothing: no value of the graph");
    return !pod_graph_failed(g);
}

static bool is_split(const pod_type *t, int from_dim)
{
    for (int i = from_dim; i < t->shape.n_dims; i++)
        if (t->split[i]) return true;
    return false;
}

const char *pod__type_print(const pod_type *t, char *text, size_t bytes)
{
    char shape[96];
    int used = snprintf(text, bytes, "%s %s", pod_dtype_name(t->dtype),
                        pod_shape_print(&t->shape, shape, sizeof shape));
    if (!is_split(t, 0) && !t->sum && !t->vary) return text;
    for (int i = 0; i < t->shape.n_dims && (size_t)used < bytes; i++)
        used += snprintf(text + used, bytes - (size_t)used, "%s%x", i ? "," : " split ",
                         (unsigned)t->split[i]);
    if ((size_t)used < bytes)
        snprintf(text + used, bytes - (size_t)used, " sum %x vary %x", (unsigned)t->sum,
                 (unsigned)t->vary);
    return text;
}

pod_status pod__want_dtype(const char *what, const pod_type *t, unsigned dtypes)
{
    if (dtypes & 1u << t->dtype) return POD_OK;
    char got[POD__TYPE_TEXT], want[64] = "";
    for (int d = 0, used = 0; d < POD_N_DTYPES; d++)
        if (dtypes & 1u << d)
            used += snprintf(want + used, sizeof want - (size_t)used, "%s%s", used ? " or " : "",
                             pod_dtype_name((pod_dtype)d));
    return pod_fail(POD_E_SHAPE, "%s is %s, need %s", what, pod__type_print(t, got, sizeof got),
                    want);
}

pod_status pod__want_dims(const char *what, const pod_type *t, int n_dims)
{
    if (t->shape.n_dims == n_dims) return POD_OK;
    char got[POD__TYPE_TEXT];
    return pod_fail(POD_E_SHAPE, "%s is %s, need %d dimensions", what,
                    pod__type_print(t, got, sizeof got), n_dims);
}

pod_status pod__want_scalar(const char *what, const pod_type *t)
{
    if (t->dtype == POD_F32 && t->shape.n_dims == 0) return pod__want_no_parts(what, t);
    char got[POD__TYPE_TEXT];
    return pod_fail(POD_E_SHAPE, "%s is %s, need a scalar f32", what,
                    pod__type_print(t, got, sizeof got));
}

static bool same_split(const pod_type *a, const pod_type *b)
{
    for (int i = 0; i < a->shape.n_dims; i++)
        if (a->split[i] != b->split[i]) return false;
    return true;
}

pod_status pod__want_alike(const char *what_a, const pod_type *a, const char *what_b,
                           const pod_type *b)
{
    if (a->dtype == b->dtype && pod_shape_equal(&a->shape, &b->shape) && same_split(a, b) &&
        a->sum == b->sum && a->vary == b->vary && a->shard.first == b->shard.first &&
        a->shard.per_core == b->shard.per_core)
        return POD_OK;
    char text_a[POD__TYPE_TEXT], text_b[POD__TYPE_TEXT];
    return pod_fail(POD_E_SHAPE, "%s is %s, %s is %s: need the same", what_a,
                    pod__type_print(a, text_a, sizeof text_a), what_b,
                    pod__type_print(b, text_b, sizeof text_b));
}

pod_status pod__want_channels(const char *what, const pod_type *t, const pod_type *x)
{
    const int last = x->shape.n_dims - 1;
    if (last >= 0 && t->dtype == POD_F32 && t->shape.n_dims == 1 &&
        t->shape.dim[0] == x->shape.dim[last] && t->split[0] == x->split[last])
        return POD_OK;
    char got[POD__TYPE_TEXT], of[POD__TYPE_TEXT];
    return pod_fail(POD_E_SHAPE, "%s is %s, need f32 and the last dimension of %s", what,
                    pod__type_print(t, got, sizeof got), pod__type_print(x, of, sizeof of));
}

pod_status pod__want_only_rows_split(const char *what, const pod_type *t)
{
    if (!is_split(t, 1)) return POD_OK;
    char got[POD__TYPE_TEXT];
    return pod_fail(POD_E_UNSUPPORTED, "%s is %s, only its first dimension may be split", what,
                    pod__type_print(t, got, sizeof got));
}

pod_status pod__want_whole(const char *what, const pod_type *t)
{
    if (!is_split(t, 0)) return POD_OK;
    char got[POD__TYPE_TEXT];
    return pod_fail(POD_E_UNSUPPORTED, "%s is %s, may not be split", what,
                    pod__type_print(t, got, sizeof got));
}

pod_status pod__want_no_parts(const char *what, const pod_type *t)
{
    if (!t->sum && !t->vary) return POD_OK;
    char got[POD__TYPE_TEXT];
    return pod_fail(POD_E_SHAPE, "%s is %s, need it reduced", what,
                    pod__type_print(t, got, sizeof got));
}

pod_status pod__want_tokens(const char *what, const pod_type *t)
{
    POD_TRY(pod__want_dtype(what, t, POD__FLOATS));
    POD_TRY(pod__want_dims(what, t, 3));
    POD_TRY(pod__want_only_rows_split(what, t));
    return pod__want_no_parts(what, t);
}

/* ---- padding ------------------------------------------------------------------------------- */

pod__padding pod__same_padding(const int64_t image[2], const int64_t filter[2], int64_t stride)
{
    pod__padding p = {{0, 0}, {0, 0}};
    for (int d = 0; d < 2; d++) {
        const int64_t windows = (image[d] + stride - 1) / stride;
        const int64_t zeros = (windows - 1) * stride + filter[d] - image[d];
        p.before[d] = zeros > 0 ? zeros / 2 : 0;
        p.behind[d] = zeros > 0 ? zeros - zeros / 2 : 0;
    }
    return p;
}

pod__padding pod__padding_of(pod_graph *g, pod_value x, pod_value filter, int rows, int64_t stride,
                             int64_t pad, bool same)
{
    if (!same || !pod__usable(g, filter)) return (pod__padding){{pad, pad}, {pad, pad}};
    const pod_shape *image = &pod_graph_type(g, x)->shape;
    return pod__same_padding(image->dim + 1, pod_graph_type(g, filter)->shape.dim + rows, stride);
}

int64_t pod__windows(int64_t image, int64_t filter, int64_t stride, const pod__padding *p, int d)
{
    const int64_t room = image + p->before[d] + p->behind[d] - filter;
    return room < 0 ? 0 : room / stride + 1;
}

const char *pod__padding_print(const pod__padding *p, char text[POD__PADDING_TEXT])
{
    const int64_t *a = p->before, *b = p->behind;
    if (a[0] == a[1] && a[0] == b[0] && a[0] == b[1])
        snprintf(text, POD__PADDING_TEXT, "padding %" PRId64, a[0]);
    else
        snprintf(text, POD__PADDING_TEXT,
                 "padding %" PRId64 "x%" PRId64 " before and %" PRId64 "x%" PRId64 " behind", a[0],
                 a[1], b[0], b[1]);
    return text;
}

pod_status pod__infer_elementwise(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n;
    for (int i = 1; i < n_in; i++) POD_TRY(pod__want_alike("an input", &in[0], "another", &in[i]));
    out[0] = in[0];
    return POD_OK;
}

pod_type pod__channels_of(const pod_type *x)
{
    pod_type t = {.dtype = POD_F32, .shape = {.n_dims = 1}};
    t.shape.dim[0] = pod__last(&x->shape);
    t.split[0] = x->split[x->shape.n_dims - 1];
    return t;
}

uint8_t pod__rows_split(const pod_type *t)
{
    unsigned mask = 0;
    for (int i = 0; i + 1 < t->shape.n_dims; i++) mask |= t->split[i];
    return (uint8_t)mask;
}

int64_t pod__rows(const pod_shape *s)
{
    int64_t rows = 1;
    for (int i = 0; i + 1 < s->n_dims; i++) rows *= s->dim[i];
    return rows;
}

int64_t pod__last(const pod_shape *s) { return s->n_dims ? s->dim[s->n_dims - 1] : 1; }

static double type_bytes(const pod_type *t)
{
    return (double)pod_shape_count(&t->shape) * (double)pod_dtype_bytes(t->dtype);
}

void pod__cost_of(const pod_node *n, const pod_type in[], const pod_type out[], double vector_ops,
                  pod_cost *cost)
{
    *cost = (pod_cost){.vector_ops = vector_ops};
    for (int i = 0; i < n->n_in; i++) cost->bytes_read += type_bytes(&in[i]);
    for (int i = 0; i < n->n_out; i++) cost->bytes_written += type_bytes(&out[i]);
}

static bool is_slower(const pod__rechoice *r)
{
    const double nearly = 0.9;
    const pod_candidate *now = &r->candidate[r->now], *then = &r->candidate[r->then];
    const double now_rate = pod_rates_find(r->how->rates, r->kind, now),
                 then_rate = pod_rates_find(r->how->rates, r->kind, then);
    if (now_rate > 0 || then_rate > 0) return then_rate < nearly * now_rate;
    return now->needs & ~then->needs;
}

const char *pod__why_no_gain(const pod__rechoice *r, pod_arena *arena)
{
    if (r->then == r->now || (r->then != r->n - 1 && !is_slower(r))) return NULL;
    const pod_candidate *now = &r->candidate[r->now];
    const char *against = now->refusal ? now->refusal : now->slow;
    POD_ASSERT(against, "%s takes the call, and another is chosen", now->name);
    const char *why = pod_arena_text(arena, "%s: %s", now->name, against);
    return why ? why : "";
}

pod_status pod__lower(const pod_lower_args *args, pod_run_fn *run, const char *impl,
                      const void *attr, size_t attr_bytes, pod_lowering *l)
{
    *l = (pod_lowering){.run = run, .impl = impl, .attr_bytes = attr_bytes};
    for (int i = 0; i < POD_MAX_OUT; i++) l->in_place[i] = -1;
    l->attr = pod_arena_copy(args->arena, attr, 16, attr_bytes);
    return l->attr ? POD_OK : POD_E_NOMEM;
}

pod__flat_attr pod__flat_of(const pod_lower_args *args, int32_t set)
{
    return (pod__flat_attr){.count = pod_shape_count(&args->in_local[0]),
                            .dtype = (int32_t)args->in[0].dtype,
                            .set = set};
}

pod__rows_attr pod__rows_of(const pod_lower_args *args, int32_t set)
{
    return (pod__rows_attr){.rows = pod__rows(&args->in_local[0]),
                            .c = pod__last(&args->in_local[0]),
                            .dtype = (int32_t)args->in[0].dtype,
                            .set = set};
}
