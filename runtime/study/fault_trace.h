/* A trace of node faults: when each node of a cluster went down and came back.
 *
 * The file is a JSON array in the form of the InfiniteHBD trace (stepfun-ai/InfiniteHBD-Trace;
 * "InfiniteHBD: building datacenter-scale high-bandwidth domain for LLM with optical circuit
 * switching transceivers", SIGCOMM 2025):
 *
 *   [{"node_id": "6f24...", "event_time": 3.8955, "event_type": "fault_start",
 *     "fault_type": {"Level": ..., "Class": ..., "Desc": ...}}, ...]
 *
 * event_time is in days since the beginning of the trace, which ends with the last event. A node
 * may have several faults at a time; it is up when all have ended. Nodes without a fault are not in
 * the file. */
#ifndef MINIPOD_RUNTIME_STUDY_FAULT_TRACE_H
#define MINIPOD_RUNTIME_STUDY_FAULT_TRACE_H

#include <stdbool.h>

#include "kernels/base/arena.h"
#include "kernels/base/status.h"
#include "runtime/core/clock.h"

typedef struct pod_node_event {
    pod_stamp at; /* nanoseconds since the beginning */
    int node;     /* from 0 */
    bool is_down; /* a fault begins; else one ends */
} pod_node_event;

typedef struct pod_fault_trace {
    int n_nodes; /* nodes with a fault */
    int n_faults, n_events;
    const pod_node_event *event; /* by time; every fault ends, at `end` at the latest */
    pod_stamp end;
} pod_fault_trace;

/* Parses a trace into the arena. E_FORMAT, naming `name` and the event (counted from 1), for text
 * that is not JSON, not an array or an empty one, for a missing or malformed key, a time that is
 * negative or beyond 100 years, a fault that ends without a beginning, and a trace shorter than one
 * hour. */
POD_MUST pod_status pod_fault_trace_parse(pod_arena *a, const char *name, const char *text,
                                          pod_fault_trace *out);
POD_MUST pod_status pod_fault_trace_read(pod_arena *a, const char *path, pod_fault_trace *out);

#endif
