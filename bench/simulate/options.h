/* Options of simulate that would have no effect on what is asked for. */
#ifndef MINIPOD_BENCH_SIMULATE_OPTIONS_H
#define MINIPOD_BENCH_SIMULATE_OPTIONS_H

#include "bench/simulate/simulated.h"

/* Before anything is planned, of a step and not of a long job. Options that other commands take too
 * may stand in a file or in the environment for those; typed, they are meant. E_INVALID, naming the
 * option. */
POD_MUST pod_status pod_simulate_options_check(const pod_config *c);
/* The part of it that long jobs share, whose steps are simulated, too: a training's course. */
POD_MUST pod_status pod_simulate_options_of_step(const pod_config *c);
/* The same of what a machine does not have: a pod a host's kernels. */
POD_MUST pod_status pod_simulate_options_suit(const pod_config *c, const pod_planned *p);
/* The same of links that nothing has gone over. */
POD_MUST pod_status pod_simulate_options_used(const pod_planned *p, const pod_simulated *s);

#endif
