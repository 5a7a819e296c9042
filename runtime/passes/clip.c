/* clip: scales all gradients alike, so that their norm together is at most hp->clip_norm: the norm of
 * the summed gradients, or, with hp->clip_local, of each core's own. A core's own gradient is that of the
 * mean over its samples, which is as many times its summand as there are cores: so the result is the
 * mean over cores of their clipped gradients. */
#include <stdlib.h>

#include "runtime/ops/ops.h"
#include "runtime/passes/passes.h"

static int by_readiness(const void *a, const void *b)
{
    const pod_value *x = *(pod_value *const *)a, *y = *(pod_value *const *)b;
    return (x->id > y->id) - (x->id < y->id);
}

pod_status pod_pass_clip(pod_graph *g, pod_value grad[], const pod_hparams *hp)
{
    const int n_variables = pod_graph_n_variables(g);
    pod_value **ready = POD_ARENA_NEW(pod_graph_arena(g), pod_value *, n_variables);
    pod_value *sq = POD_ARENA_NEW(pod_graph_arena(g), pod_value, n_variables);
    if (!ready || !sq) return POD_E_NOMEM;
    int n = 0;
    for (int i = 0; i < n_variables; i++)
        if (grad[i].id) ready[n++] = &grad[i];
    if (n == 0) return POD_OK;
    qsort(ready, (size_t)n, sizeof *ready, by_readiness);
    pod_graph_set_phase(g, hp->clip_local ? POD_PHASE_BACKWARD : POD_PHASE_UPDATE);
    pod_scope_begin(g, "clip");
    for (int i = 0; i < n; i++)
        sq[i] = (hp->clip_local ? pod_sum_sq_own : pod_sum_sq)(g, *ready[i]);
    const pod_value ratio = pod_clip_ratio(g, sq, n, hp->clip_norm);
    for (int i = 0; i < n; i++)
        *ready[i] = (hp->clip_local ? pod_scale_own : pod_scale_by)(g, *ready[i], ratio);
    pod_scope_end(g);
    return pod_graph_finish(g);
}
