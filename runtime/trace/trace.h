/* Writes the timelines of all ranks to one file in Chrome's trace format, object form, for Perfetto
 * (ui.perfetto.dev) and chrome://tracing. It is written step by step, so that its length is not
 * limited.
 *
 * pid is the rank. tid is a row of a lane, named and ordered by `M` events; no two ranks share a
 * tid, because some readers ignore the pid. Overlapping events of a lane go to further rows,
 * because Perfetto drops slices that overlap. `X` events have the program's labels as names and op,
 * kernel and bytes in `args`. For a simulated machine `args` has the bound and the work of an
 * instruction instead of the kernel, and instructions joined to another one are omitted. Arrows
 * (`s`, `f`) go from the rank that arrived last at a collective to those that waited for it
 * (flows.h), numbered within the step. `C` events show the bytes of collectives in flight, `i`
 * events are instants.
 *
 * Times are microseconds with all digits of the picoseconds. Readers convert them to whole
 * nanoseconds through a double and truncate. Half a picosecond is added to each `ts`, so that none
 * is truncated to the nanosecond before and overlaps the previous slice. */
#ifndef MINIPOD_RUNTIME_TRACE_TRACE_H
#define MINIPOD_RUNTIME_TRACE_TRACE_H

#include "runtime/trace/flows.h"

typedef struct pod_trace_work { /* of an instruction on a simulated machine */
    const char *bound;          /* pod_bound_name */
    double flops, vector_ops, bytes;
    int32_t n_joined; /* as in pod_instr_time: 0 if joined to another instruction */
} pod_trace_work;

typedef struct pod_trace_plan { /* borrowed until close */
    const char *clock;          /* "wall", or "virtual, machine tpu-v3" */
    const pod_program *program;
    const int *rank; /* (n_ranks) */
    int n_ranks;
    const pod_trace_work *work; /* by instruction, of a simulated machine; NULL: real run */
    int attempt;                /* of the job; 0: none */
    int64_t n_dropped;          /* events that the timelines of all ranks dropped */
    pod_time origin;            /* time 0 of the file: not after any event */
    pod_stamp stamp;            /* wall-clock time of the origin; 0: unknown (virtual clock) */
} pod_trace_plan;

typedef struct pod_trace pod_trace;

POD_MUST pod_status pod_trace_open(const char *path, const pod_trace_plan *plan, pod_trace **out);
/* Writes one step of all ranks of the plan, in their order; clocks must be aligned. E_NOMEM. */
POD_MUST pod_status pod_trace_put_step(pod_trace *t, const pod_trace_part part[]);
/* Writes all deeds of the i-th rank, from pod_timeline_copy_beside; one call per rank. */
void pod_trace_put_beside(pod_trace *t, int i, const pod_event event[], int64_t n);
/* Completes the file and releases t in any case. E_WRITE. */
POD_MUST pod_status pod_trace_close(pod_trace *t);
void pod_trace_abandon(pod_trace *t); /* removes the file; NULL is allowed */

#endif
