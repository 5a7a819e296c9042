/* Finds, for each collective of a step, the rank that started it last and the ranks that were
 * already waiting then.
 *
 * All ranks run the same program, so that the k-th collective that one rank waits for in a step is
 * the k-th of every other. A rank arrives when it starts the collective; the last one delayed those
 * whose wait had begun before. Only ranks of one group of the collective (pod_coll_args.group) are
 * compared, and only ranks among the parts. */
#ifndef MINIPOD_RUNTIME_TRACE_FLOWS_H
#define MINIPOD_RUNTIME_TRACE_FLOWS_H

#include "runtime/program/program.h"
#include "runtime/trace/timeline.h"

typedef struct pod_trace_part { /* a step of one rank; borrowed */
    int rank;
    int64_t step; /* from 0 */
    pod_time begin, end;
    const pod_event *event; /* (n), as returned by pod_timeline_kept */
    int64_t n;
} pod_trace_part;

typedef struct pod_flow {
    int from, to;         /* parts: the last to arrive, and one that waited for it */
    int64_t flight, wait; /* events: `from`'s in the comm lane, `to`'s in the compute lane */
    pod_time waited;      /* from the begin of the wait until the last one arrived */
    int number;           /* of the collective within the step, from 1 */
} pod_flow;

/* Finds the waits of one step that took at least `least`, ordered by collective, then by part, in
 * the arena. Clocks of the parts must be aligned. E_NOMEM. */
POD_MUST pod_status pod_flows_find(pod_arena *a, const pod_program *p, const pod_trace_part part[],
                                   int n_parts, pod_time least, const pod_flow **out, int *n);

#endif
