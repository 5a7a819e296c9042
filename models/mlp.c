/* A multi-layer perceptron: the image as one vector, two hidden layers with ReLU, the logits. */
#include "models/family.h"

enum { HIDDEN_1 = 512, HIDDEN_2 = 256 };

static pod_value hidden(pod_graph *g, pod_value x, int64_t units, int number)
{
    pod_scope_begin(g, "hidden%d", number);
    pod_value y = pod_relu(g, pod_dense(g, x, units, true));
    pod_scope_end(g);
    return y;
}

pod_value pod__mlp(pod_graph *g, int depth, pod_value images, const pod_model_args *args)
{
    (void)depth;
    pod__need_images(g, "mlp", images, 1);
    if (pod_graph_failed(g)) return (pod_value){0};
    const int64_t *dim = pod_graph_type(g, images)->shape.dim;
    pod_value x = pod_reshape(g, images, (pod_shape){2, {dim[0], dim[1] * dim[2] * dim[3]}});
    x = hidden(g, x, HIDDEN_1, 1);
    x = hidden(g, x, HIDDEN_2, 2);
    return pod__logits(g, x, args);
}
