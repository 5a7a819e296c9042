/* A timeline as Chrome's trace format: opens in Perfetto (ui.perfetto.dev) and chrome://tracing.
 *
 * Object form; `X` events in microseconds with all digits of the picoseconds; pid = rank, tid =
 * lane, named by `M` events; the names are the program's labels, op and kernel
 * stand in `args`. */
#ifndef MINIPOD_RUNTIME_MEASURE_TRACE_H
#define MINIPOD_RUNTIME_MEASURE_TRACE_H

#include "runtime/measure/timeline.h"

typedef struct pod_trace_rank { /* one rank's events; borrowed */
    int rank;
    const pod_event *event;
    int64_t n;
    pod_time shift; /* added to its times: what its clock started later than rank 0's */
} pod_trace_rank;

/* What an instruction is; not asked for -1. */
typedef struct pod_trace_what {
    const char *label, *op, *kernel;
} pod_trace_what;
typedef pod_trace_what pod_trace_what_fn(const void *ctx, int32_t instr);

/* `clock` names it ("wall", or "virtual" with the machine's name). */
POD_MUST pod_status pod_trace_write(const char *path, const char *clock,
                                    const pod_trace_rank ranks[], int n_ranks,
                                    pod_trace_what_fn *what, const void *ctx);

#endif
