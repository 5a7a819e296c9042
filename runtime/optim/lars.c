/* Layer-wise adaptive rate scaling, the rate inside: v gathers steps that are already scaled by lr
 * and trust ratio, so that a change of lr acts on new gradients only (You, Gitman and Ginsburg
 * 2017; also Google's MLPerf code, which calls it unscaled momentum). lars_mlperf.c has the other
 * form.
 *
 * The norm of the gradient is taken before decay w is added. Normalizations and biases get plain
 * momentum at rate lr: no ratio, no decay. The epsilon in the ratio's denominator is Google's; 0
 * makes it You's. */
#include "runtime/optim/rules.h"

void pod__lars_momentum(pod_graph *g, pod_value w, pod_role role, pod_value grad, pod_value v,
                        pod_value lr, bool rate_inside, const pod_hparams *hp)
{
    const bool trust = !pod__optim_skips(role);
    pod_value w_sq = {0}, g_sq = {0};
    if (trust) {
        w_sq = pod_sum_sq(g, w);
        g_sq = pod_sum_sq(g, grad);
    }
    pod_momentum_update(g, w, v, grad, lr, w_sq, g_sq,
                        (pod_momentum_attr){.momentum = hp->momentum,
                                            .decay = pod__optim_decay(role, hp),
                                            .nesterov = hp->nesterov,
                                            .rate_inside = rate_inside,
                                            .trust = trust,
                                            .eta = hp->trust,
                                            .eps = hp->epsilon});
}

void pod__lars_update(pod_graph *g, pod_value w, pod_role role, pod_value grad,
                      const pod_value state[], pod_value lr, pod_value step, const pod_hparams *hp)
{
    (void)step;
    pod__lars_momentum(g, w, role, grad, state[0], lr, true, hp);
}
