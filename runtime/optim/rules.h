/* The update rules of optims.def, for optim.c and the files that define them. */
#ifndef MINIPOD_RUNTIME_OPTIM_RULES_H
#define MINIPOD_RUNTIME_OPTIM_RULES_H

#include "runtime/ops/ops.h"
#include "runtime/optim/optim.h"

#define POD_OPTIM(name, n_states, n_ones, traits, update, formula, source, ...) \
    pod_optim_update_fn update;
#include "runtime/optim/optims.def"
#undef POD_OPTIM

/* Weight decay and trust ratios skip normalizations and biases. */
static inline bool pod__optim_skips(pod_role role)
{
    return role == POD_ROLE_NORM || role == POD_ROLE_BIAS;
}

static inline float pod__optim_decay(pod_role role, const pod_hparams *hp)
{
    return pod__optim_skips(role) ? 0.0f : hp->weight_decay;
}

/* Both forms of LARS: lars.c. */
void pod__lars_momentum(pod_graph *g, pod_value w, pod_role role, pod_value grad, pod_value v,
                        pod_value lr, bool rate_inside, const pod_hparams *hp);
/* Shared by LAMB and AdamW: adamw.c. */
pod_adam_update_attr pod__adamw_attr(pod_role role, const pod_hparams *hp);

#endif
