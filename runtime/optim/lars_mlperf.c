/* LARS with scaled momentum, as in the MLPerf v0.6 reference: v gathers plain gradients, and lr and
 * trust ratio of the step scale the whole of it. At a constant rate and ratio it is lars.c's form.
 * See there for the weights that are skipped, and for the ratio. */
#include "runtime/optim/rules.h"

void pod__lars_mlperf_update(pod_graph *g, pod_value w, pod_role role, pod_value grad,
                             const pod_value state[], pod_value lr, pod_value step,
                             const pod_hparams *hp)
{
    (void)step;
    pod__lars_momentum(g, w, role, grad, state[0], lr, false, hp);
}
