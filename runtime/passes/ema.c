/* Adds moving averages of all that evaluation reads: "ema/<variable>" of each trained variable and
 * each moving statistic, after its update. */
#include <string.h>

#include "runtime/ops/ops.h"
#include "runtime/passes/passes.h"

pod_status pod_pass_ema(pod_graph *g, float decay)
{
    pod_value step = {0};
    for (int i = 0; i < pod_graph_n_inputs(g); i++)
        if (strcmp(pod_graph_input(g, i)->name, "step") == 0) step = pod_graph_input(g, i)->value;
    const int n_variables = pod_graph_n_variables(g);
    pod_graph_set_phase(g, POD_PHASE_UPDATE);
    for (int i = 0; i < n_variables; i++) {
        const pod_variable_info v = *pod_graph_variable(g, i); /* the graph's own may move */
        if (v.role == POD_ROLE_STATE || !v.assigned.id) continue;
        pod_scope_begin(g, "ema");
        pod_value mean = pod_variable(g, v.name, pod_graph_type(g, v.value)->shape,
                                      (pod_init){.kind = POD_INIT_ZERO}, POD_ROLE_MOVING);
        pod_ema_update(g, mean, v.assigned, step, decay);
        pod_scope_end(g);
    }
    return pod_graph_finish(g);
}
