/* Where a simulated step's batch comes from: hosts make samples ready, and hand them to their
 * chips, while the step before runs. */
#ifndef MINIPOD_BENCH_SIMULATE_INPUT_H
#define MINIPOD_BENCH_SIMULATE_INPUT_H

#include "bench/common/planned.h"

typedef struct pod_input_time { /* of one step, all hosts alike; 0: not known, taken as none */
    double make_s;              /* a host's samples at --input-rate */
    double feed_s;              /* a chip's part of them, from its host */
    double seconds;             /* the longer: a host makes some while it hands others over */
    int n_hosts;                /* 0 where it is not known what a host has */
} pod_input_time;

/* E_INVALID when --input-rate is given and the machine's file does not say what a host has. */
POD_MUST pod_status pod_simulate_input(const pod_planned *p, pod_input_time *out);

#endif
