#include "collectives/exec/exec_sim.h"

/* What building its schedule and its plan takes, and what a core keeps of it while it runs. */
enum { STEP_BYTES = 300, STATE_BYTES = 16 };

/* Judged by the schedule of the first rank: what a simulation takes is nearly all steps. */
pod_status pod_sim_check_room(const pod_mesh *m, const pod_coll_algo *algo,
                              const pod_coll_args *args, int n_schedules, int n_cores,
                              double memory_bytes)
{
    pod_arena *a;
    const pod_sched *first;
    int32_t n_steps = 0;
    POD_TRY(pod_arena_create(NULL, &a));
    const pod_status built = pod_coll_build(a, algo, m, 0, args, &first);
    if (built == POD_OK) pod_sched_steps(first, &n_steps);
    pod_arena_destroy(a);
    POD_TRY(built);
    const double bytes =
        ((double)n_schedules * STEP_BYTES + (double)n_cores * STATE_BYTES) * (double)n_steps;
    if (bytes <= memory_bytes) return POD_OK;
    return pod_fail(POD_E_INVALID,
                    "%d ranks with %d steps of %s each need about %.3g GB of memory, this host has "
                    "%.3g GB",
                    n_cores, (int)n_steps, algo->name, 1e-9 * bytes, 1e-9 * memory_bytes);
}
