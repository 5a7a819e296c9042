/* Gradient descent with momentum, the rate outside, so that a change of the rate acts on the whole
 * velocity at once: e = g + decay w;  v = momentum v + e;  w -= lr (nesterov ? e + momentum v : v).
 * Normalizations and biases do not decay. */
#include "runtime/optim/rules.h"

void pod__sgd_update(pod_graph *g, pod_value w, pod_role role, pod_value grad,
                     const pod_value state[], pod_value lr, pod_value step, const pod_hparams *hp)
{
    (void)step;
    const pod_value none = {0};
    pod_momentum_update(g, w, state[0], grad, lr, none, none,
                        (pod_momentum_attr){.momentum = hp->momentum,
                                            .decay = pod__optim_decay(role, hp),
                                            .nesterov = hp->nesterov});
}
