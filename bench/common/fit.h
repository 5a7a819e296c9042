/* The largest batch of a planned run that a core's memory holds. */
#ifndef MINIPOD_BENCH_COMMON_FIT_H
#define MINIPOD_BENCH_COMMON_FIT_H

#include "bench/common/planned.h"

/* Of a core: program, weights and states; of a machine that is a host with its cores also the
 * batches that are fed, which others keep elsewhere. */
POD_MUST pod_status pod_fit_bytes(const pod_planned *p, const pod_program *program, double *bytes);

typedef struct pod_fit {
    int64_t unit;  /* of the batch: all cores, all micro-steps, a sample each */
    int64_t batch; /* 0: not even one unit fits */
    double bytes;  /* what it needs */
} pod_fit;

/* Each batch asked about is compiled; nothing is run. */
POD_MUST pod_status pod_fit_largest(const pod_planned *p, double limit_bytes, pod_fit *out);

#endif
