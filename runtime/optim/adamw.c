/* Adam with decoupled weight decay (Loshchilov and Hutter, 2019), the decay scaled by the rate as
 * in PyTorch. With t the step from 1:
 *
 *   m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;  m' = m / (1 - b1^t);  v' = v / (1 - b2^t);
 *   w -= lr (m' / (sqrt(v') + eps) + decay w)
 *
 * Normalizations and biases do not decay, unless hp->spares says otherwise; hp->uncorrected: m' = m
 * and v' = v, as google-research/bert has it. */
#include "runtime/optim/rules.h"

pod_adam_update_attr pod__adamw_attr(pod_role role, const pod_hparams *hp)
{
    return (pod_adam_update_attr){
        .beta1 = hp->beta1,
        .beta2 = hp->beta2,
        .eps = hp->epsilon,
        .decay = pod__optim_skips(role) && hp->spares & POD_SPARES_DECAY ? 0.0f : hp->weight_decay,
        .uncorrected = hp->uncorrected};
}

void pod__adamw_update(pod_graph *g, pod_value w, pod_role role, pod_value grad,
                       const pod_value state[], pod_value lr, pod_value step, const pod_hparams *hp)
{
    pod_adam_update(g, w, state[0], state[1], grad, step, lr, pod__adamw_attr(role, hp));
}
