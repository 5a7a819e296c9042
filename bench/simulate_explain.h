/* simulate --explain: what bounds each part of the network, what the all-reduce hides behind, and
 * what would help most. */
#ifndef MINIPOD_BENCH_SIMULATE_EXPLAIN_H
#define MINIPOD_BENCH_SIMULATE_EXPLAIN_H

#include "bench/simulated.h"

/* The last is found by simulating again with one number of the machine changed at a time. */
POD_MUST pod_status pod_simulate_explain(pod_planned *p, const pod_simulated *s, FILE *to);

#endif
