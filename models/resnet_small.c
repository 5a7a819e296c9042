/* Residual networks for small images: He, Zhang, Ren and Sun, "Deep residual learning for image
 * recognition", 2015, section 4.2. A 3x3 convolution to 16 channels, three stages of n units of two
 * 3x3 convolutions at 16, 32 and 64 channels, the mean over the image, a dense layer: depth 6n + 2.
 * The first unit of stages 2 and 3 halves the image.
 *
 * If a unit changes the shape, the shortcut is a strided 1x1 convolution with batch norm: the
 * paper's option B. (Its section 4.2 takes option A, zeros in the new channels and no weights.) */
#include <stdio.h>

#include "models/family.h"

enum { N_STAGES = 3, SMALLEST = 4 }; /* two halvings leave one pixel of SMALLEST */

/* relu(x + conv(relu(conv(x)))), every convolution with its batch norm. */
static pod_value unit(pod_graph *g, pod_value x, int number, int64_t c_out, int stride,
                      const pod_model_args *args)
{
    pod_scope_begin(g, "unit%d", number);
    pod_value y = pod_relu(g, pod__conv_bn(g, x, "conv1", c_out, 3, stride, POD_INIT_ONE, args));
    y = pod__conv_bn(g, y, "conv2", c_out, 3, 1, POD_INIT_ONE, args);
    if (pod__channels(g, x) != c_out)
        x = pod__conv_bn(g, x, "shortcut", c_out, 1, stride, POD_INIT_ONE, args);
    y = pod_relu(g, pod_add(g, y, x));
    pod_scope_end(g);
    return y;
}

pod_value pod__resnet_small(pod_graph *g, int depth, pod_value images, const pod_model_args *args)
{
    static const int64_t channels[N_STAGES] = {16, 32, 64};
    const int n_units = (depth - 2) / 6;
    char name[16];
    snprintf(name, sizeof name, "resnet%d", depth);
    pod__need_images(g, name, images, SMALLEST);
    if (pod_graph_failed(g)) return (pod_value){0};

    pod_scope_begin(g, "stem");
    pod_value x = pod_relu(g, pod__conv_bn(g, images, "conv", 16, 3, 1, POD_INIT_ONE, args));
    pod_scope_end(g);
    for (int s = 0; s < N_STAGES; s++) {
        pod_scope_begin(g, "stage%d", s + 1);
        for (int u = 0; u < n_units; u++)
            x = unit(g, x, u + 1, channels[s], s > 0 && u == 0 ? 2 : 1, args);
        pod_scope_end(g);
    }
    return pod__logits(g, pod_mean_pool(g, x), args);
}
