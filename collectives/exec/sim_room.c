#include <stdio.h>

#include "collectives/exec/exec_sim.h"

/* What building its schedule and its plan takes, and what a core keeps of it while it runs. */
enum { STEP_BYTES = 300, STATE_BYTES = 16 };

/* Judged by the schedule of the first rank: what a simulation takes is nearly all steps. */
pod_status pod_sim_find_need(const pod_mesh *m, const pod_coll_algo *algo,
                             const pod_coll_args *args, int n_schedules, int n_cores,
                             pod_sim_need *out)
{
    pod_arena *a;
    const pod_sched *first;
    int32_t n_steps = 0;
    POD_TRY(pod_arena_create(NULL, &a));
    const pod_status built = pod_coll_build(a, algo, m, 0, args, &first);
    if (built == POD_OK) pod_sched_steps(first, &n_steps);
    pod_arena_destroy(a);
    POD_TRY(built);
    out->bytes =
        ((double)n_schedules * STEP_BYTES + (double)n_cores * STATE_BYTES) * (double)n_steps;
    snprintf(out->what, sizeof out->what, "%d ranks with %d steps of %s each", n_cores,
             (int)n_steps, algo->name);
    return POD_OK;
}
