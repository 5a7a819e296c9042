/* cast: between float32 and bfloat16. Of a sum it casts each core's part: widening then costs
 * nothing, narrowing rounds before the reduction. */
#include "runtime/ops/op_common.h"

typedef struct cast_attr {
    int32_t to;
} cast_attr;

static pod_status cast_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n_in;
    const cast_attr *attr = n->attr;
    POD_TRY(pod__want_dtype("x", &in[0], POD__FLOATS));
    out[0] = in[0];
    out[0].dtype = (pod_dtype)attr->to;
    return pod__want_dtype("the result", &out[0], POD__FLOATS);
}

/* The gradient has the input's type, or float32, which any gradient may have. */
static void cast_grad(pod_graph *g, const pod_node *n, const pod_value d_out[], const bool need[],
                      pod_value d_in[])
{
    if (need[0]) d_in[0] = pod_cast(g, d_out[0], pod_graph_type(g, n->in[0])->dtype);
}

typedef struct cast_run_attr {
    int64_t count;
    int32_t from, to, set, unused;
} cast_run_attr;

static void cast_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    const cast_run_attr *a = attr;
    pod__pointwise_at(a->set)->cast(a->count, (pod_dtype)a->from, in[0], (pod_dtype)a->to, out[0]);
}

static pod_status cast_lower(const pod_lower_args *args, pod_lowering *l)
{
    const cast_run_attr run = {.count = pod_shape_count(&args->in_local[0]),
                               .from = (int32_t)args->in[0].dtype,
                               .to = (int32_t)args->out[0].dtype,
                               .set = pod__pointwise_pick(args->target->cpu)};
    return pod__lower(args, cast_run, pod__pointwise_at(run.set)->name, &run, sizeof run, l);
}

const pod_op pod__op_cast = {.name = "cast",
                             .sweep = POD_SWEEP_EACH,
                             .n_in = 1,
                             .n_out = 1,
                             .takes_parts = true,
                             .is_cheap = true,
                             .infer = cast_infer,
                             .grad = cast_grad,
                             .ops_each = 1,
                             .lower = cast_lower};

pod_value pod_cast(pod_graph *g, pod_value x, pod_dtype to)
{
    if (!pod__usable(g, x)) return (pod_value){0};
    if (pod_graph_type(g, x)->dtype == to) return x;
    const cast_attr attr = {(int32_t)to};
    return pod_op_add1(g, &pod__op_cast, &attr, sizeof attr, &x, 1);
}
