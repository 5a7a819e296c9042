/* Who was waited for: of each collective of a step the rank that came last, and the ranks that were
 * already waiting when it came.
 *
 * All ranks run the same program, so that the k-th collective that one waits for in a step is the
 * k-th of every other. A rank comes when it starts the collective; the last to come held up those
 * whose wait began before. Ranks that do not meet in a collective (pod_coll_args.group) know
 * nothing of each other; ranks that are not among the parts do not count. */
#ifndef MINIPOD_RUNTIME_TRACE_FLOWS_H
#define MINIPOD_RUNTIME_TRACE_FLOWS_H

#include "runtime/program/program.h"
#include "runtime/trace/timeline.h"

typedef struct pod_trace_part { /* a step of one rank; borrowed */
    int rank;
    int64_t step; /* from 0 */
    pod_time begin, end;
    const pod_event *event; /* as pod_timeline_kept has them */
    int64_t n;
} pod_trace_part;

typedef struct pod_flow {
    int from, to;         /* parts: the last one that came, one that waited for it */
    int64_t flight, wait; /* events: of `from` in flight, of `to` in the compute lane */
    pod_time waited;      /* until the last one came */
    int number;           /* of the collective within the step, from 1 */
} pod_flow;

/* Of one step, clocks aligned: those that waited at least `least`, by collective, then by part. In
 * the arena. E_NOMEM. */
POD_MUST pod_status pod_flows_find(pod_arena *a, const pod_program *p, const pod_trace_part part[],
                                   int n_parts, pod_time least, const pod_flow **out, int *n);

#endif
