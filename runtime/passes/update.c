/* Updates weights in the order in which their gradients are computed, so that the first reductions
 * to end are followed by their updates. */
#include <stdlib.h>

#include "kernels/base/assert.h"
#include "runtime/ops/ops.h"
#include "runtime/passes/passes.h"

enum { MAX_STATES = 4 };

typedef struct trained { /* a copy: adding variables moves the graph's table */
    const char *name;
    pod_value weight, grad;
    pod_role role;
    pod_shape shape;
} trained;

static int by_readiness(const void *a, const void *b)
{
    const trained *x = a, *y = b;
    if (x->grad.id != y->grad.id) return x->grad.id < y->grad.id ? -1 : 1;
    return x->weight.id < y->weight.id ? -1 : x->weight.id > y->weight.id;
}

static void update_one(pod_graph *g, const trained *t, const pod_optim *optim, pod_value lr,
                       pod_value step, const pod_hparams *hp)
{
    pod_value state[MAX_STATES];
    pod_scope_begin(g, "%s", t->name);
    pod_scope_begin(g, "%s", optim->name);
    for (int k = 0; k < optim->n_states; k++) {
        const char name[] = {(char)('0' + k), '\0'};
        state[k] = pod_variable(
            g, name, t->shape, (pod_init){.kind = k < optim->n_ones ? POD_INIT_ONE : POD_INIT_ZERO},
            POD_ROLE_STATE);
    }
    optim->update(g, t->weight, t->role, t->grad, state, lr, step, hp);
    pod_scope_end(g);
    pod_scope_end(g);
}

pod_status pod_pass_update(pod_graph *g, const pod_value grad[], const pod_optim *optim,
                           const pod_hparams *hp)
{
    POD_ASSERT(optim->n_states <= MAX_STATES, "%s has %d states", optim->name, optim->n_states);
    const int n_variables = pod_graph_n_variables(g);
    trained *all = POD_ARENA_NEW(pod_graph_arena(g), trained, n_variables);
    if (!all) return POD_E_NOMEM;
    int n = 0;
    for (int i = 0; i < n_variables; i++) {
        if (!grad[i].id) continue;
        const pod_variable_info *v = pod_graph_variable(g, i);
        all[n++] = (trained){.name = v->name,
                             .weight = v->value,
                             .grad = grad[i],
                             .role = v->role,
                             .shape = pod_graph_type(g, v->value)->shape};
    }
    qsort(all, (size_t)n, sizeof *all, by_readiness);

    pod_graph_set_phase(g, POD_PHASE_UPDATE);
    const pod_type scalar = pod_type_of(POD_F32, 0, NULL);
    const pod_value lr = pod_input(g, "lr", scalar, POD_NO_BATCH),
                    step = pod_input(g, "step", scalar, POD_NO_BATCH);
    for (int i = 0; i < n; i++) update_one(g, &all[i], optim, lr, step, hp);
    return pod_graph_finish(g);
}
