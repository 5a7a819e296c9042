/* What is predicted against what was published. */
#ifndef MINIPOD_BENCH_SIMULATE_VALIDATE_H
#define MINIPOD_BENCH_SIMULATE_VALIDATE_H

#include "bench/command.h"

/* Simulates the rows of published.def and prints them with their errors, and as --csv and --json
 * say it. `held`: half of the counted ones are within 5 %, all within 10 %, all shares of
 * all-reduce within a percentage point. Errors of pod_planned_of and pod_simulate; E_INVALID for
 * any setting of a simulation, since the rows have their own. */
POD_MUST pod_status pod_simulate_validate(pod_call *call, bool *held);

#endif
