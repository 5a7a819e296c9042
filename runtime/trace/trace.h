/* Timelines of all ranks as one file in Chrome's trace format, object form: opens in Perfetto
 * (ui.perfetto.dev) and chrome://tracing. Written step by step, whatever the length.
 *
 * pid is the rank, tid a row of a lane, named and ordered by `M` events; no two ranks share a tid,
 * for not every reader keeps those apart. What overlaps in a lane stands in further rows of it:
 * Perfetto drops slices that overlap. `X` events are named as the program's labels; op, kernel and
 * bytes stand in `args`; on a machine without our kernels, instead of the kernel, what bounds the
 * instruction and what it does, and those that are part of another's work are left out. Arrows
 * (`s`, `f`) go from the rank that came last to a collective to those that waited for it (flows.h),
 * and count within their step. `C` is the bytes of collectives in flight; `i` is what happens at
 * once.
 *
 * Times are microseconds with all digits of the picoseconds. Readers make whole nanoseconds of them
 * by way of a double, and cut: so that none falls to the nanosecond before, and a slice into the
 * one before, half a picosecond is added to each `ts`. */
#ifndef MINIPOD_RUNTIME_TRACE_TRACE_H
#define MINIPOD_RUNTIME_TRACE_TRACE_H

#include "runtime/trace/flows.h"

typedef struct pod_trace_work { /* of an instruction on a simulated machine */
    const char *bound;          /* what it waits for most */
    double flops, vector_ops, bytes;
    int32_t n_joined; /* instructions whose work it is; 0: it is part of another's */
} pod_trace_work;

typedef struct pod_trace_plan { /* borrowed until close */
    const char *clock;          /* "wall", or "virtual, machine tpu-v3" */
    const pod_program *program;
    const int *rank; /* (n_ranks) */
    int n_ranks;
    const pod_trace_work *work; /* by instruction; NULL: kernels do it */
    int attempt;                /* of the job; 0: it has none */
    int64_t n_dropped;          /* that the timelines of all ranks had no room for */
    pod_time origin;            /* is time 0 of the file: at or before all that is put */
    pod_stamp stamp;            /* of the origin; 0: none, as of a virtual clock */
} pod_trace_plan;

typedef struct pod_trace pod_trace;

POD_MUST pod_status pod_trace_open(const char *path, const pod_trace_plan *plan, pod_trace **out);
/* The same step of all ranks of the plan, in their order, clocks aligned. E_NOMEM. */
POD_MUST pod_status pod_trace_put_step(pod_trace *t, const pod_trace_part part[]);
/* Deeds of the i-th rank, as pod_timeline_copy_beside has them: all of them in one call. */
void pod_trace_put_beside(pod_trace *t, int i, const pod_event event[], int64_t n);
/* Releases t either way. */
POD_MUST pod_status pod_trace_close(pod_trace *t);
void pod_trace_abandon(pod_trace *t); /* leaves no file; NULL is allowed */

#endif
