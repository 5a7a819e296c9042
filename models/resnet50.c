/* ResNet-50 v1.5: He, Zhang, Ren and Sun, "Deep residual learning for image recognition", 2015,
 * table 1, in the form of the MLPerf reference and of torchvision: where a unit halves the image,
 * the 3x3 convolution has the stride (v1: the first 1x1). Images of 224x224x3 and 1000 classes:
 * 25,557,032 trained parameters, 4,089,184,256 multiply-adds an image in convolutions and the dense
 * layer.
 *
 * The scale of each unit's last batch norm starts at 0, so that units start as the identity (Goyal
 * et al. 2017, section 5.1). */
#include "models/family.h"

enum { N_STAGES = 4, SMALLEST = 32 }; /* five halvings leave one pixel of SMALLEST */

/* relu(x + 1x1(relu(3x3(relu(1x1(x)))))), every convolution with its batch norm; the last one
 * widens fourfold. */
static pod_value bottleneck(pod_graph *g, pod_value x, int number, int64_t c_mid, int stride,
                            const pod_model_args *args)
{
    const int64_t c_out = 4 * c_mid;
    pod_scope_begin(g, "unit%d", number);
    pod_value y = pod_relu(g, pod__conv_bn(g, x, "conv1", c_mid, 1, 1, POD_INIT_ONE, args));
    y = pod_relu(g, pod__conv_bn(g, y, "conv2", c_mid, 3, stride, POD_INIT_ONE, args));
    y = pod__conv_bn(g, y, "conv3", c_out, 1, 1, POD_INIT_ZERO, args);
    if (pod__channels(g, x) != c_out)
        x = pod__conv_bn(g, x, "shortcut", c_out, 1, stride, POD_INIT_ONE, args);
    y = pod_relu(g, pod_add(g, y, x));
    pod_scope_end(g);
    return y;
}

static pod_value stem(pod_graph *g, pod_value images, const pod_model_args *args)
{
    pod_scope_begin(g, "stem");
    pod_value x = pod_relu(g, pod__conv_bn(g, images, "conv", 64, 7, 2, POD_INIT_ONE, args));
    x = pod_max_pool(g, x, (pod_max_pool_attr){.window = 3, .stride = 2, .pad = 1});
    pod_scope_end(g);
    return x;
}

pod_value pod__resnet50(pod_graph *g, int depth, pod_value images, const pod_model_args *args)
{
    (void)depth;
    static const struct {
        int n_units;
        int64_t c_mid;
    } stage[N_STAGES] = {{3, 64}, {4, 128}, {6, 256}, {3, 512}};
    pod__need_images(g, "resnet50", images, SMALLEST);
    if (pod_graph_failed(g)) return (pod_value){0};

    pod_value x = stem(g, images, args);
    for (int s = 0; s < N_STAGES; s++) {
        pod_scope_begin(g, "stage%d", s + 1);
        for (int u = 0; u < stage[s].n_units; u++)
            x = bottleneck(g, x, u + 1, stage[s].c_mid, s > 0 && u == 0 ? 2 : 1, args);
        pod_scope_end(g);
    }
    return pod__logits(g, pod_mean_pool(g, x), args);
}
