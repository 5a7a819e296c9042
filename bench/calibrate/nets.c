#include <string.h>

#include "bench/calibrate/calibrate.h"
#include "runtime/ops/ops.h"

static const pod_probe probes[] = {
#define POD_PROBE(kind, channels, image, precision, optimizer) \
    {POD_PROBE_##kind, channels, image, precision, optimizer},
#include "bench/calibrate/probes.def"
};

const pod_probe *pod_probes(int *n)
{
    *n = sizeof probes / sizeof probes[0];
    return probes;
}

/* Float32 activations go through bfloat16 in products. */
static bool is_mixed(const pod_probe *p) { return strcmp(p->precision, "bf16-conv") == 0; }

static int64_t channels_of(const pod_graph *g, pod_value x)
{
    if (!x.id) return 1;
    const pod_shape *s = &pod_graph_type(g, x)->shape;
    return s->dim[s->n_dims - 1];
}

static pod_value norm(pod_graph *g, pod_value x)
{
    return pod_batchnorm(
        g, x,
        (pod_batchnorm_attr){
            .momentum = 0.9f, .eps = 1e-5f, .train = true, .gamma = {POD_INIT_ONE, 1.0f}});
}

static pod_value conv(pod_graph *g, const pod_probe *p, pod_value x, const char *name, int64_t c,
                      int k, int stride)
{
    pod_scope_begin(g, "%s", name);
    pod_value w = pod_weight(g, "w", (pod_shape){4, {c, k, k, channels_of(g, x)}},
                             (pod_init){POD_INIT_HE, 1.0f}, POD_ROLE_WEIGHT);
    if (is_mixed(p)) x = pod_cast(g, x, POD_BF16);
    x = pod_conv2d(g, x, w, (pod_conv2d_attr){.stride = stride, .pad = k / 2});
    if (is_mixed(p)) x = pod_cast(g, x, POD_F32);
    x = norm(g, x);
    pod_scope_end(g);
    return x;
}

static pod_value depthwise(pod_graph *g, pod_value x, int k, int stride)
{
    pod_scope_begin(g, "depthwise");
    pod_value w = pod_weight(g, "w", (pod_shape){3, {k, k, channels_of(g, x)}},
                             (pod_init){POD_INIT_NORMAL, 0.1f}, POD_ROLE_WEIGHT);
    x = pod_depthwise2d(g, x, w, (pod_conv2d_attr){.stride = stride, .same = true});
    x = pod_swish(g, norm(g, x));
    pod_scope_end(g);
    return x;
}

/* ---- units ---- */

static pod_value add_shortcut(pod_graph *g, const pod_probe *p, pod_value y, pod_value x,
                              int stride)
{
    const int64_t c = channels_of(g, y);
    if (channels_of(g, x) != c) x = conv(g, p, x, "shortcut", c, 1, stride);
    return pod_relu(g, pod_add(g, y, x));
}

static pod_value residual(pod_graph *g, const pod_probe *p, pod_value x, int64_t c, int stride)
{
    pod_value y = pod_relu(g, conv(g, p, x, "conv1", c, 3, stride));
    return add_shortcut(g, p, conv(g, p, y, "conv2", c, 3, 1), x, stride);
}

static pod_value bottleneck(pod_graph *g, const pod_probe *p, pod_value x, int64_t c, int stride)
{
    pod_value y = pod_relu(g, conv(g, p, x, "conv1", c, 1, 1));
    y = pod_relu(g, conv(g, p, y, "conv2", c, 3, stride));
    return add_shortcut(g, p, conv(g, p, y, "conv3", 4 * c, 1, 1), x, stride);
}

static pod_value dense(pod_graph *g, const char *name, pod_value x, int64_t units)
{
    pod_scope_begin(g, "%s", name);
    x = pod_dense(g, x, units, true);
    pod_scope_end(g);
    return x;
}

static pod_value gate(pod_graph *g, pod_value x)
{
    const int64_t c = channels_of(g, x);
    pod_scope_begin(g, "gate");
    pod_value s = pod_swish(g, dense(g, "reduce", pod_mean_pool(g, x), c / 24));
    s = pod_sigmoid(g, dense(g, "expand", s, c));
    x = pod_gate_by(g, x, s);
    pod_scope_end(g);
    return x;
}

static pod_value inverted(pod_graph *g, const pod_probe *p, pod_value x, pod_value draws, int64_t c,
                          int stride)
{
    const int filter = stride == 1 ? 3 : 5;
    pod_value y = pod_swish(g, conv(g, p, x, "expand", 6 * channels_of(g, x), 1, 1));
    y = gate(g, depthwise(g, y, filter, stride));
    y = conv(g, p, y, "project", c, 1, 1);
    if (stride > 1) return y;
    return pod_add(g, pod_drop_samples(g, y, draws, 0.2f), x);
}

/* ---- networks ---- */

static pod_value unit(pod_graph *g, const pod_probe *p, pod_value x, pod_value draws, int number)
{
    const int stride = number == 2 ? 2 : 1;
    const int64_t c = (number < 2 ? 1 : 2) * p->channels;
    pod_scope_begin(g, "unit%d", number);
    if (p->kind == POD_PROBE_RESIDUAL)
        x = residual(g, p, x, c, stride);
    else if (p->kind == POD_PROBE_BOTTLENECK)
        x = bottleneck(g, p, x, c, stride);
    else
        x = inverted(g, p, x, draws, c, stride);
    pod_scope_end(g);
    return x;
}

static pod_value image_layers(pod_graph *g, const pod_probe *p, pod_value x, pod_value draws)
{
    enum { N_UNITS = 4 };
    x = pod_relu(g, conv(g, p, x, "stem", p->channels, 3, 1));
    if (p->kind == POD_PROBE_BOTTLENECK)
        x = pod_max_pool(g, x, (pod_max_pool_attr){.window = 3, .stride = 1, .pad = 1});
    for (int i = 0; i < N_UNITS; i++) x = unit(g, p, x, draws, i);
    return pod_mean_pool(g, x);
}

static pod_value dense_layers(pod_graph *g, const pod_probe *p, pod_value x)
{
    const int64_t pixels = p->image * p->image;
    x = pod_reshape(g, x, (pod_shape){2, {pod_graph_type(g, x)->shape.dim[0], pixels}});
    x = pod_relu(g, dense(g, "hidden1", x, p->channels));
    x = pod_relu(g, dense(g, "hidden2", x, p->channels));
    return pod_relu(g, dense(g, "hidden3", x, p->channels / 2));
}

static pod_value build(const void *ctx, pod_graph *g, pod_value images, pod_value draws,
                       int64_t n_classes, bool train)
{
    (void)train;
    const pod_probe *p = ctx;
    if (pod_graph_failed(g)) return (pod_value){0};
    pod_value x =
        p->kind == POD_PROBE_DENSE ? dense_layers(g, p, images) : image_layers(g, p, images, draws);
    x = dense(g, "logits", x, n_classes);
    return pod_cast(g, x, POD_F32);
}

pod_network pod_probe_network(const pod_probe *p)
{
    return (pod_network){.name = "probe", .build = build, .ctx = p};
}
