/* LAMB (You et al., 2019, with phi the identity), as in Google's BERT: AdamW's direction u, decay
 * included, rescaled to the norm of the weight: w -= lr |w| / |u| u, the ratio 1 where a norm is 0.
 * Normalizations and biases: no decay, ratio 1, unless hp->spares says otherwise. */
#include "runtime/optim/rules.h"

void pod__lamb_update(pod_graph *g, pod_value w, pod_role role, pod_value grad,
                      const pod_value state[], pod_value lr, pod_value step, const pod_hparams *hp)
{
    const pod_adam_update_attr attr = pod__adamw_attr(role, hp);
    const bool is_spared = pod__optim_skips(role) && hp->spares & POD_SPARES_TRUST;
    (is_spared ? pod_adam_update : pod_lamb_update)(g, w, state[0], state[1], grad, step, lr, attr);
}
