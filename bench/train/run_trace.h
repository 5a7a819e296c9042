/* Writes timeline.json of a run: the last steps of all ranks, with times on rank 0's clock. */
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
    int64_t n_dropped; /* over all ranks */
    int attempt;       /* number within the job; 0: none */
} pod_run_trace;

/* Measures the offset of this rank's clock to rank 0's, at the beginning of the run. Collective. */
POD_MUST pod_status pod_run_trace_clock(pod_comm *comm, const pod_clock *clock,
                                        pod_clock_offset *out);
/* Measures the offsets again, and interpolates between `early` and now. Rank 0 writes the file,
 * step by step. Collective. */
POD_MUST pod_status pod_run_trace_write(const pod_run_trace *t, const pod_clock_offset *early,
                                        const char *path);

#endif
