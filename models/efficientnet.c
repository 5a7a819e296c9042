/* EfficientNet, Tan and Le 2019 (arXiv 1905.11946): inverted bottlenecks with depthwise filters and
 * squeeze-and-excite, B1 to B7 made of B0 by widening and deepening it. Tables, rounding, initial
 * values and SAME padding as in TensorFlow's efficientnet_builder; parameters and multiply-adds of
 * B0: 5,288,548 and 0.39 G at 224x224 and 1000 classes.
 *
 * For images of 32x32 a stem of stride 1 leaves 2x2 pixels to the head rather than one; all else is
 * the same. */
#include <math.h>

#include "models/family.h"

/* The flags that models.def adds to the number of a model. */
enum { FOR_SMALL_IMAGES = 8, N_STAGES = 7 };

static const struct {
    double width, depth;
    float dropout;
} scaling[] = {{1.0, 1.0, 0.2f}, {1.0, 1.1, 0.2f}, {1.1, 1.2, 0.3f}, {1.2, 1.4, 0.3f},
               {1.4, 1.8, 0.4f}, {1.6, 2.2, 0.4f}, {1.8, 2.6, 0.5f}, {2.0, 3.1, 0.5f}};

static const float survival = 0.8f; /* of the last unit; others in proportion to their place */

/* The stages of B0. */
static const struct {
    int n_units, kernel, stride, expand;
    int64_t c_out;
} stages[N_STAGES] = {{1, 3, 1, 1, 16},  {2, 3, 2, 6, 24},  {2, 5, 2, 6, 40}, {3, 3, 2, 6, 80},
                      {3, 5, 1, 6, 112}, {4, 5, 2, 6, 192}, {1, 3, 1, 6, 320}};

enum { STEM = 32, HEAD = 1280 };

typedef struct network {
    pod_graph *g;
    const pod_model_args *args;
    double width, depth;
    int n_units, unit; /* in all, and how many there were so far */
    float drop;        /* of the last unit */
} network;

/* To a multiple of 8 that is not much smaller. */
static int64_t channels(const network *n, int64_t of_b0)
{
    const double wanted = (double)of_b0 * n->width;
    int64_t c = (int64_t)(wanted + 4) / 8 * 8;
    if (c < 8) c = 8;
    return (double)c < 0.9 * wanted ? c + 8 : c;
}

static int units(const network *n, int stage)
{
    return (int)ceil(n->depth * stages[stage].n_units);
}

/* Normal, of variance 2 / fan-out. */
static pod_init of_fan_out(int64_t fan_out)
{
    return (pod_init){POD_INIT_NORMAL, (float)sqrt(2.0 / (double)fan_out)};
}

static pod_value batch_norm(const network *n, pod_value x, bool swish)
{
    x = pod_batchnorm(n->g, x,
                      (pod_batchnorm_attr){.momentum = n->args->bn_momentum,
                                           .eps = n->args->bn_epsilon,
                                           .train = n->args->train,
                                           .gamma = {POD_INIT_ONE, 1.0f}});
    return swish ? pod_swish(n->g, x) : x;
}

static pod_value conv(const network *n, const char *name, pod_value x, int64_t c_out, int k,
                      int stride, bool swish)
{
    pod_scope_begin(n->g, "%s", name);
    pod_value w = pod_weight(n->g, "w", (pod_shape){4, {c_out, k, k, pod__channels(n->g, x)}},
                             of_fan_out(k * k * c_out), POD_ROLE_WEIGHT);
    x = pod__conv2d(n->g, x, w, (pod_conv2d_attr){.stride = stride, .same = true}, n->args);
    x = batch_norm(n, x, swish);
    pod_scope_end(n->g);
    return x;
}

static pod_value depthwise(const network *n, pod_value x, int k, int stride)
{
    pod_scope_begin(n->g, "depthwise");
    pod_value w = pod_weight(n->g, "w", (pod_shape){3, {k, k, pod__channels(n->g, x)}},
                             of_fan_out(k * k), POD_ROLE_WEIGHT);
    x = pod__depthwise2d(n->g, x, w, (pod_conv2d_attr){.stride = stride, .same = true}, n->args);
    x = batch_norm(n, x, true);
    pod_scope_end(n->g);
    return x;
}

static pod_value dense(const network *n, const char *name, pod_value x, int64_t width)
{
    pod_scope_begin(n->g, "%s", name);
    x = pod__dense(n->g, x, (pod__dense_attr){width, of_fan_out(width), false}, n->args);
    pod_scope_end(n->g);
    return x;
}

/* Each channel by a number in (0, 1) that is made of the means of all. */
static pod_value squeeze_excite(const network *n, pod_value x, int64_t width)
{
    pod_scope_begin(n->g, "squeeze_excite");
    pod_value s = pod_swish(n->g, dense(n, "reduce", pod_mean_pool(n->g, x), width));
    s = pod_sigmoid(n->g, dense(n, "expand", s, pod__channels(n->g, x)));
    x = pod_gate_by(n->g, x, s);
    pod_scope_end(n->g);
    return x;
}

static pod_value bottleneck(network *n, pod_value x, int stage, int number)
{
    const int64_t c_in = pod__channels(n->g, x), c_out = channels(n, stages[stage].c_out);
    const int stride = number == 1 ? stages[stage].stride : 1, expand = stages[stage].expand;
    pod_scope_begin(n->g, "unit%d", number);
    pod_value y = x;
    if (expand > 1) y = conv(n, "expand", y, expand * c_in, 1, 1, true);
    y = depthwise(n, y, stages[stage].kernel, stride);
    y = squeeze_excite(n, y, c_in / 4 > 1 ? c_in / 4 : 1);
    y = conv(n, "project", y, c_out, 1, 1, false);
    if (stride == 1 && c_in == c_out) {
        const float rate = n->drop * (float)n->unit / (float)n->n_units;
        if (n->args->draws.id) y = pod_drop_samples(n->g, y, n->args->draws, rate);
        y = pod_add(n->g, y, x);
    }
    n->unit++;
    pod_scope_end(n->g);
    return y;
}

/* Uniform in +-1 / sqrt(classes). */
static pod_value logits(const network *n, pod_value x, float dropout)
{
    const int64_t n_classes = n->args->n_classes;
    const float reach = (float)(1 / sqrt((double)n_classes));
    pod_scope_begin(n->g, "logits");
    if (n->args->draws.id) x = pod_dropout(n->g, x, n->args->draws, dropout);
    x = pod__dense(n->g, x, (pod__dense_attr){n_classes, {POD_INIT_UNIFORM, reach}, true}, n->args);
    pod_scope_end(n->g);
    return x;
}

pod_value pod__efficientnet(pod_graph *g, int param, pod_value images, const pod_model_args *args)
{
    const bool small = param & FOR_SMALL_IMAGES;
    const int number = param & ~FOR_SMALL_IMAGES;
    network n = {.g = g,
                 .args = args,
                 .width = args->width > 0 ? args->width : scaling[number].width,
                 .depth = args->depth > 0 ? args->depth : scaling[number].depth,
                 .drop = 1 - (args->survival >= 0 ? args->survival : survival)};
    for (int s = 0; s < N_STAGES; s++) n.n_units += units(&n, s);
    pod__need_images(g, "efficientnet", images, 1);
    if (pod_graph_failed(g)) return (pod_value){0};

    pod_value x = conv(&n, "stem", images, channels(&n, STEM), 3, small ? 1 : 2, true);
    for (int s = 0; s < N_STAGES; s++) {
        pod_scope_begin(g, "stage%d", s + 1);
        for (int u = 0; u < units(&n, s); u++) x = bottleneck(&n, x, s, u + 1);
        pod_scope_end(g);
    }
    x = pod_mean_pool(g, conv(&n, "head", x, channels(&n, HEAD), 1, 1, true));
    return logits(&n, x, args->dropout >= 0 ? args->dropout : scaling[number].dropout);
}
