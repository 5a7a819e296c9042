/* A multi-layer perceptron: the image as one vector, two hidden layers with ReLU, the logits. */
#include <math.h>

#include "models/family.h"

enum { HIDDEN_1 = 512, HIDDEN_2 = 256 };

/* Weights start normal with variance 1/F, which keeps the variance of what passes through (LeCun et
 * al., "Efficient BackProp", 1998, section 4.6). */
static pod_value hidden(pod_graph *g, pod_value x, int64_t units, int number,
                        const pod_model_args *args)
{
    const float deviation = sqrtf(1.0f / (float)pod__channels(g, x));
    pod_scope_begin(g, "hidden%d", number);
    x = pod__dense(g, x, (pod__dense_attr){units, {POD_INIT_NORMAL, deviation}, false}, args);
    x = pod_relu(g, x);
    pod_scope_end(g);
    return x;
}

pod_value pod__mlp(pod_graph *g, int depth, pod_value images, const pod_model_args *args)
{
    (void)depth;
    pod__need_images(g, "mlp", images, 1);
    if (pod_graph_failed(g)) return (pod_value){0};
    const int64_t *dim = pod_graph_type(g, images)->shape.dim;
    pod_value x = pod_reshape(g, images, (pod_shape){2, {dim[0], dim[1] * dim[2] * dim[3]}});
    x = hidden(g, x, HIDDEN_1, 1, args);
    x = hidden(g, x, HIDDEN_2, 2, args);
    return pod__logits(g, x, args);
}
