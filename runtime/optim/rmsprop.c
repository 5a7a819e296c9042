/* RMSProp with momentum in the form of TensorFlow 1, in which EfficientNet was trained: epsilon
 * inside the root, the mean square from 1 on. With e = g + decay w, the decay being an L2 term of
 * the loss:
 *
 *   s = rho s + (1 - rho) e^2;  v = momentum v + lr e / sqrt(s + eps);  w -= v
 *
 * Normalizations do not decay; biases do, unlike in the other rules: there the skip list is that of
 * batch norm alone (tensorflow/tpu models/official/efficientnet). */
#include "runtime/optim/rules.h"

void pod__rmsprop_update(pod_graph *g, pod_value w, pod_role role, pod_value grad,
                         const pod_value state[], pod_value lr, pod_value step,
                         const pod_hparams *hp)
{
    (void)step;
    pod_rmsprop_update(
        g, w, state[0], state[1], grad, lr,
        (pod_rmsprop_update_attr){.rho = hp->rho,
                                  .momentum = hp->momentum,
                                  .eps = hp->epsilon,
                                  .decay = role == POD_ROLE_NORM ? 0.0f : hp->weight_decay});
}
