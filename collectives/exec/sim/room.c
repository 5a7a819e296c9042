#include <stdio.h>

#include "collectives/exec/sim/sim.h"

/* What building its schedule and its plan takes, and what a core keeps of it while it runs. */
enum { STEP_BYTES = 300, STATE_BYTES = 16 };

static pod_status count_steps(const pod_mesh *m, const pod_coll_algo *algo,
                              const pod_coll_args *args, int rank, int32_t *n_steps)
{
    pod_arena *a;
    const pod_sched *s;
    POD_TRY(pod_arena_create(NULL, &a));
    const pod_status built = pod_coll_build(a, algo, m, rank, args, &s);
    if (built == POD_OK) pod_sched_steps(s, n_steps);
    pod_arena_destroy(a);
    return built;
}

/* What a simulation takes is nearly all steps: as many as the longest has of three schedules, for a
 * root's may be half as long as the others'. */
pod_status pod_sim_find_need(const pod_mesh *m, const pod_coll_algo *algo,
                             const pod_coll_args *args, int n_schedules, int n_cores,
                             pod_sim_need *out)
{
    const int ranks[] = {0, pod_mesh_size(m) / 2, pod_mesh_size(m) - 1};
    int32_t n_steps = 0;
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        int32_t n = 0;
        POD_TRY(count_steps(m, algo, args, ranks[i], &n));
        if (n > n_steps) n_steps = n;
    }
    out->bytes =
        ((double)n_schedules * STEP_BYTES + (double)n_cores * STATE_BYTES) * (double)n_steps;
    snprintf(out->what, sizeof out->what, "%d ranks with %d steps of %s each", n_cores,
             (int)n_steps, algo->name);
    return POD_OK;
}
