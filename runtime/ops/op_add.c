/* add: y = a + b, of one shape and type. The sum of two sums over the same mesh dimensions is such
 * a sum: it is added up before it is reduced. */
#include "runtime/ops/op_common.h"

static pod_status add_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    POD_TRY(pod__want_dtype("a", &in[0], POD__FLOATS));
    if (in[0].sum != in[1].sum || in[0].vary != in[1].vary) {
        char a[POD__TYPE_TEXT], b[POD__TYPE_TEXT];
        return pod_fail(POD_E_UNSUPPORTED, "a is %s, b is %s: the parts of different sums",
                        pod__type_print(&in[0], a, sizeof a), pod__type_print(&in[1], b, sizeof b));
    }
    POD_TRY(pod__want_alike("a", &in[0], "b", &in[1]));
    return pod__infer_elementwise(n, in, n_in, out);
}

static void add_grad(pod_graph *g, const pod_node *n, const pod_value d_out[], const bool need[],
                     pod_value d_in[])
{
    (void)g;
    for (int i = 0; i < n->n_in; i++)
        if (need[i]) d_in[i] = d_out[0];
}

static void add_run(const void *attr, const void *const in[], void *const out[], void *scratch)
{
    (void)scratch;
    const pod__flat_attr *a = attr;
    pod__pointwise_at(a->set)->add(a->count, (pod_dtype)a->dtype, in[0], in[1], out[0]);
}

static pod_status add_lower(const pod_lower_args *args, pod_lowering *l)
{
    const pod__flat_attr run = pod__flat_of(args, pod__pointwise_pick(args->target->cpu));
    POD_TRY(pod__lower(args, add_run, pod__pointwise_at(run.set)->name, &run, sizeof run, l));
    l->in_place[0] = 0;
    return POD_OK;
}

const pod_op pod__op_add = {.name = "add",
                            .sweep = POD_SWEEP_EACH,
                            .by_sample = "ss>s",
                            .n_in = 2,
                            .n_out = 1,
                            .takes_parts = true,
                            .is_cheap = true,
                            .infer = add_infer,
                            .grad = add_grad,
                            .ops_each = 1,
                            .lower = add_lower};

pod_value pod_add(pod_graph *g, pod_value a, pod_value b)
{
    return pod_op_add1(g, &pod__op_add, NULL, 0, (const pod_value[]){a, b}, 2);
}
