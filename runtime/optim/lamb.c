/* LAMB (You et al., 2019, with phi the identity), as in Google's BERT: AdamW's direction u, decay
 * included, rescaled to the norm of the weight: w -= lr |w| / |u| u, the ratio 1 where a norm is 0.
 * Normalizations and biases: no decay, ratio 1. */
#include "runtime/optim/rules.h"

void pod__lamb_update(pod_graph *g, pod_value w, pod_role role, pod_value grad,
                      const pod_value state[], pod_value lr, pod_value step, const pod_hparams *hp)
{
    pod_value u = pod__adamw_direction(g, w, role, grad, state, step, hp);
    pod_value w_sq = {0}, u_sq = {0};
    if (!pod__optim_skips(role)) {
        w_sq = pod_sum_sq(g, w);
        u_sq = pod_sum_sq(g, u);
    }
    pod_descend(g, w, u, lr, w_sq, u_sq);
}
