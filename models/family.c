#include "models/family.h"

#include <inttypes.h>

int64_t pod__channels(const pod_graph *g, pod_value x)
{
    if (!x.id) return 0;
    const pod_shape *s = &pod_graph_type(g, x)->shape;
    return s->dim[s->n_dims - 1];
}

void pod__need_images(pod_graph *g, const char *model, pod_value images, int64_t smallest)
{
    if (!images.id) return;
    const pod_shape *s = &pod_graph_type(g, images)->shape;
    char got[96];
    if (s->n_dims != 4)
        pod_graph_fail(g, POD_E_SHAPE, "%s: images are %s, need (N, H, W, C)", model,
                       pod_shape_print(s, got, sizeof got));
    else if (s->dim[1] < smallest || s->dim[2] < smallest)
        pod_graph_fail(g, POD_E_SHAPE,
                       "%s: images are %" PRId64 "x%" PRId64 ", need at least %" PRId64 "x%" PRId64,
                       model, s->dim[1], s->dim[2], smallest, smallest);
}

static pod_dtype product_type(const pod_graph *g, pod_value x, const pod_model_args *args)
{
    return args->bf16_products ? POD_BF16 : pod_graph_type(g, x)->dtype;
}

pod_value pod__conv2d(pod_graph *g, pod_value x, pod_value w, pod_conv2d_attr attr,
                      const pod_model_args *args)
{
    if (!x.id) return x;
    const pod_dtype travelling = pod_graph_type(g, x)->dtype;
    x = pod_cast(g, x, product_type(g, x, args));
    return pod_cast(g, pod_conv2d(g, x, w, attr), travelling);
}

pod_value pod__depthwise2d(pod_graph *g, pod_value x, pod_value w, pod_conv2d_attr attr,
                           const pod_model_args *args)
{
    if (!x.id) return x;
    const pod_dtype travelling = pod_graph_type(g, x)->dtype;
    x = pod_cast(g, x, product_type(g, x, args));
    return pod_cast(g, pod_depthwise2d(g, x, w, attr), travelling);
}

pod_value pod__dense(pod_graph *g, pod_value x, pod__dense_attr attr, const pod_model_args *args)
{
    if (!x.id) return x;
    pod_value w = pod_weight(g, "w", (pod_shape){2, {pod__channels(g, x), attr.units}}, attr.w,
                             POD_ROLE_WEIGHT);
    pod_value b = pod_weight(g, "b", (pod_shape){1, {attr.units}},
                             (pod_init){.kind = POD_INIT_ZERO}, POD_ROLE_BIAS);
    const pod_dtype t = product_type(g, x, args);
    const pod_dtype to = attr.to_f32 ? POD_F32 : pod_graph_type(g, x)->dtype;
    x = pod_matmul(g, pod_cast(g, x, t), pod_cast(g, w, t), (pod_matmul_attr){.c_dtype = to});
    return pod_bias_add(g, x, b);
}

pod_value pod__conv_bn(pod_graph *g, pod_value x, const char *name, int64_t c_out, int k,
                       int stride, pod_init_kind gamma, const pod_model_args *args)
{
    pod_scope_begin(g, "%s", name);
    pod_value w = pod_weight(g, "w", (pod_shape){4, {c_out, k, k, pod__channels(g, x)}},
                             (pod_init){POD_INIT_HE, 1.0f}, POD_ROLE_WEIGHT);
    pod_value y = pod__conv2d(g, x, w, (pod_conv2d_attr){.stride = stride, .pad = k / 2}, args);
    y = pod_batchnorm(g, y,
                      (pod_batchnorm_attr){.momentum = args->bn_momentum,
                                           .eps = args->bn_epsilon,
                                           .train = args->train,
                                           .gamma = {gamma, 1.0f}});
    pod_scope_end(g);
    return y;
}

pod_value pod__logits(pod_graph *g, pod_value x, const pod_model_args *args)
{
    pod_scope_begin(g, "logits");
    x = pod__dense(
        g, x,
        (pod__dense_attr){.units = args->n_classes, .w = {POD_INIT_NORMAL, 0.01f}, .to_f32 = true},
        args);
    pod_scope_end(g);
    return x;
}
