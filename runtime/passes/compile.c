/* The passes of passes.def, one after the other. */
#include "runtime/passes/plan.h"

static pod_pass_fn *const passes[] = {
#define POD_PASS(name) pod__pass_##name,
#include "runtime/passes/passes.def"
};

/* The micro-steps are one more dimension of the mesh, behind the others. */
static void spread_in_time(pod_plan *plan, int n_micro_steps)
{
    pod_mesh *m = &plan->spread;
    if (n_micro_steps <= 1) return;
    plan->in_time = (uint8_t)(1u << m->n_dims);
    m->extent[m->n_dims++] = n_micro_steps;
}

static pod_status compile(const pod_graph *g, int64_t batch, const pod_compile_args *args,
                          bool recompute, pod_arena *arena, const pod_program **out)
{
    pod_plan *plan = POD_ARENA_NEW(arena, pod_plan, 1);
    if (!plan) return POD_E_NOMEM;
    *plan = (pod_plan){.arena = arena,
                       .args = args,
                       .spread = args->mesh,
                       .built = g,
                       .recompute = recompute,
                       .batch = batch};
    spread_in_time(plan, args->accumulate);
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) POD_TRY(passes[i](plan));
    *out = plan->program;
    return POD_OK;
}

/* Whether recomputing pays is known when memory is planned. */
pod_status pod_compile(const pod_graph *g, int64_t batch, const pod_compile_args *args,
                       pod_arena *arena, const pod_program **out)
{
    const pod_program *plain, *again;
    POD_TRY(compile(g, batch, args, false, arena, &plain));
    *out = plain;
    if (!args->recompute) return POD_OK;
    POD_TRY(compile(g, batch, args, true, arena, &again));
    if (again->step_bytes < plain->step_bytes) *out = again;
    return POD_OK;
}
