/* timeline.json of a run: the last steps of all ranks, on the clock of rank 0. */
#ifndef MINIPOD_BENCH_TRAIN_RUN_TRACE_H
#define MINIPOD_BENCH_TRAIN_RUN_TRACE_H

#include "collectives/exec/mpi/clock_offset.h"
#include "runtime/core/clock.h"
#include "runtime/program/program.h"
#include "runtime/trace/timeline.h"

typedef struct pod_run_trace { /* borrowed */
    pod_comm *comm;
    const pod_clock *clock; /* the timeline's */
    const pod_timeline *timeline;
    const pod_program *program;
    int64_t n_dropped; /* of all ranks */
    int attempt;       /* of the job; 0: it has none */
} pod_run_trace;

/* How far this rank's clock is from rank 0's: at the beginning of the run. Collective. */
POD_MUST pod_status pod_run_trace_clock(pod_comm *comm, const pod_clock *clock,
                                        pod_clock_offset *out);
/* Measures clocks again; what they gained since `early` is spread evenly. Rank 0 writes, step by
 * step. Collective. */
POD_MUST pod_status pod_run_trace_write(const pod_run_trace *t, const pod_clock_offset *early,
                                        const char *path);

#endif
