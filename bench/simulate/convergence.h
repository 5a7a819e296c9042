/* simulate --to-target: how long training to the target quality would take. */
#ifndef MINIPOD_BENCH_SIMULATE_CONVERGENCE_H
#define MINIPOD_BENCH_SIMULATE_CONVERGENCE_H

#include "bench/simulate/simulated.h"

typedef struct pod_time_to_target {
    double epochs; /* whole stretches between evaluations */
    double steps, evaluations;
    double evaluation_s; /* of one */
    bool is_start_up_known;
    double start_up_s;   /* before the first step; 0 where it is not known */
    double seconds;      /* as MLPerf counts: steps, evaluations, and of the start-up what is more
                            than it leaves out */
    double from_start_s; /* of all */
} pod_time_to_target;

enum { POD_START_UP_LEFT_OUT_S = 20 * 60 }; /* by MLPerf's rules */

/* On ImageNet, with an evaluation of all its 50,000 test images every four epochs. Epochs by
 * convergence.def, in a straight line between its batches. E_INVALID for a model or batch that it
 * does not have. */
POD_MUST pod_status pod_simulate_to_target(const pod_planned *p, const pod_simulated *s,
                                           pod_arena *arena, pod_time_to_target *out);

#endif
