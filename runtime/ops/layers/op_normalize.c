/* normalize: bytes of images (N, H, W, C) to x[..,c] * scale[c] + shift[c]. */
#include "runtime/ops/op_common.h"

typedef struct normalize_attr {
    float scale[POD_MAX_CHANNELS], shift[POD_MAX_CHANNELS];
    int64_t to;
} normalize_attr;

static pod_status normalize_infer(const pod_node *n, const pod_type in[], int n_in, pod_type out[])
{
    (void)n_in;
    const normalize_attr *attr = n->attr;
    POD_TRY(pod__want_dtype("images", &in[0], 1u << POD_U8));
    POD_TRY(pod__want_dims("images", &in[0], 4));
    POD_TRY(pod__want_only_rows_split("images", &in[0]));
    if (in[0].shape.dim[3] > POD_MAX_CHANNELS) {
        char got[POD__TYPE_TEXT];
        return pod_fail(POD_E_SHAPE, "images are %s, need at most %d channels",
                        pod__type_print(&in[0], got, sizeof got), POD_MAX_CHANNELS);
    }
    out[0] = in[0];
    out[0].dtype = (pod_dtype)attr->to;
    return pod__want_dtype("the result", &out[0], POD__FLOATS);
}

typedef struct normalize_run_attr {
    int64_t rows, c;
    float scale[POD_MAX_CHANNELS], shift[POD_MAX_CHANNELS];
    int32_t to, set;
} normalize_run_attr;

static void normalize_run(const void *attr, const void *const in[], void *const out[],
                          void *scratch)
{
    (void)scratch;
    const normalize_run_attr *a = attr;
    pod__pointwise_at(a->set)->normalize_u8(a->rows, a->c, in[0], a->scale, a->shift,
                                            (pod_dtype)a->to, out[0]);
}

static pod_status normalize_lower(const pod_lower_args *args, pod_lowering *l)
{
    const normalize_attr *attr = args->node->attr;
    normalize_run_attr run = {.rows = pod__rows(&args->in_local[0]),
                              .c = pod__last(&args->in_local[0]),
                              .to = (int32_t)attr->to,
                              .set = pod__pointwise_pick(args->target->cpu)};
    for (int c = 0; c < POD_MAX_CHANNELS; c++)
        run.scale[c] = attr->scale[c], run.shift[c] = attr->shift[c];
    return pod__lower(args, normalize_run, pod__pointwise_at(run.set)->name, &run, sizeof run, l);
}

const pod_op pod__op_normalize = {.name = "normalize",
                                  .sweep = POD_SWEEP_EACH,
                                  .by_sample = "s>s",
                                  .n_in = 1,
                                  .n_out = 1,
                                  .is_cheap = true,
                                  .infer = normalize_infer,
                                  .ops_each = 2,
                                  .lower = normalize_lower};

pod_value pod_normalize(pod_graph *g, pod_value images, const float mean[], const float std[],
                        pod_dtype to)
{
    if (!pod__usable(g, images)) return (pod_value){0};
    normalize_attr attr = {.to = (int64_t)to};
    const int64_t n_channels = pod__last(&pod_graph_type(g, images)->shape);
    for (int c = 0; c < n_channels && c < POD_MAX_CHANNELS; c++) {
        if (!(std[c] > 0))
            return pod_graph_fail(g, POD_E_INVALID, "normalize: std[%d] is %g, need more than 0", c,
                                  (double)std[c]);
        attr.scale[c] = 1.0f / (255.0f * std[c]);
        attr.shift[c] = -mean[c] / std[c];
    }
    return pod_op_add1(g, &pod__op_normalize, &attr, sizeof attr, &images, 1);
}
