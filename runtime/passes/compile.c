/* The passes of passes.def, one after the other. */
#include "runtime/passes/plan.h"

static pod_pass_fn *const passes[] = {
#define POD_PASS(name) pod__pass_##name,
#include "runtime/passes/passes.def"
};

pod_status pod_compile(const pod_graph *g, int64_t batch, const pod_compile_args *args,
                       pod_arena *arena, const pod_program **out)
{
    pod_plan *plan = POD_ARENA_NEW(arena, pod_plan, 1);
    if (!plan) return POD_E_NOMEM;
    *plan = (pod_plan){.arena = arena, .args = args, .built = g, .batch = batch};
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) POD_TRY(passes[i](plan));
    *out = plan->program;
    return POD_OK;
}
