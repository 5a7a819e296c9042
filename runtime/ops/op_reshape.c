/* reshape: the same memory under another shape. Its first dimension counts samples, or rows of
 * samples: from (N, S, H) to (N S, H), or back. */
#include "runtime/ops/op_common.h"

typedef struct reshape_attr {
    int64_t n_dims, dim[POD_MAX_DIMS];
} reshape_attr;

/* Then a core's part is whole samples before and after. */
static bool one_divides(int64_t a, int64_t b) { return a % b == 0 || b % a == 0; }

static pod_status reshape_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n_in;
    const reshape_attr *attr = n->attr;
    POD_TRY(pod__want_only_rows_split("x", &in[0]));
    pod_type t = pod_type_of(in[0].dtype, (int)attr->n_dims, attr->dim);
    if (!attr->n_dims || !in[0].shape.n_dims || attr->dim[0] < 1 ||
        !one_divides(attr->dim[0], in[0].shape.dim[0]) ||
        pod_shape_count(&t.shape) != pod_shape_count(&in[0].shape)) {
        char got[POD__TYPE_TEXT], want[96];
        return pod_fail(
            POD_E_SHAPE,
            "x is %s, cannot become %s: need as many elements, and first dimensions of which one "
            "divides the other",
            pod__type_print(&in[0], got, sizeof got), pod_shape_print(&t.shape, want, sizeof want));
    }
    t.split[0] = in[0].split[0];
    t.sum = in[0].sum;
    t.vary = in[0].vary;
    out[0] = t;
    return POD_OK;
}

static void reshape_grad(pod_graph *g, const pod_node *n, const pod_value d_out[],
                         const bool need[], pod_value d_in[])
{
    if (need[0]) d_in[0] = pod_reshape(g, d_out[0], pod_graph_type(g, n->in[0])->shape);
}

const pod_op pod__op_reshape = {.name = "reshape",
                                .kind = POD_OP_VIEW,
                                .n_in = 1,
                                .n_out = 1,
                                .takes_parts = true,
                                .infer = reshape_infer,
                                .grad = reshape_grad};

pod_value pod_reshape(pod_graph *g, pod_value x, pod_shape shape)
{
    reshape_attr attr = {.n_dims = shape.n_dims};
    for (int i = 0; i < shape.n_dims; i++) attr.dim[i] = shape.dim[i];
    return pod_op_add1(g, &pod__op_reshape, &attr, sizeof attr, &x, 1);
}
