/* The nodes of a simulated job: which are up, and which the job holds.
 *
 * Nodes fail and are repaired whatever the job does: drawn by a seed, replayed from a trace, or as
 * a list has it. The job asks for as many as it needs, and is told when one of those that it holds
 * goes down; the others are spares. Times are nanoseconds since the job was asked for and never go
 * back. No clock, no files. */
#ifndef MINIPOD_RUNTIME_STUDY_NODES_H
#define MINIPOD_RUNTIME_STUDY_NODES_H

#include <stdint.h>

#include "runtime/study/fault_trace.h"

#define POD_NEVER INT64_MAX

typedef struct pod_nodes pod_nodes;

typedef struct pod_nodes_drawn {
    double mtbf_s;   /* mean time of a node from its begin or repair to its fault; 0: none */
    double shape;    /* of a Weibull distribution; 1: exponential */
    double repair_s; /* until it is up again */
} pod_nodes_drawn;

/* `n_needed` of `n` nodes make the job. */
POD_MUST pod_status pod_nodes_draw(const pod_nodes_drawn *plan, int n, int n_needed,
                                   pod_nodes **out);
/* n nodes drawn from the trace's and from (of_nodes - t->n_nodes) more that have no fault, from a
 * time of the trace that is drawn, or is `start` where that is not negative. Where the trace ends
 * it begins again. Borrows the trace. E_INVALID where of_nodes < n or < t->n_nodes. */
POD_MUST pod_status pod_nodes_replay(const pod_fault_trace *t, int of_nodes, pod_stamp start, int n,
                                     int n_needed, pod_nodes **out);
/* Events in the order of time, borrowed. */
POD_MUST pod_status pod_nodes_list(const pod_node_event event[], int n_events, int n, int n_needed,
                                   pod_nodes **out);
void pod_nodes_destroy(pod_nodes *n); /* NULL is allowed */

/* Back to time 0, with other numbers drawn for each (seed, job); all that are not down are free. */
void pod_nodes_begin(pod_nodes *n, uint64_t seed, uint32_t job);

/* The time, `now` or later, when as many as are needed are up: the job holds these then, among them
 * those that it held and that are up. POD_NEVER when it would be later than `limit`. */
pod_stamp pod_nodes_take(pod_nodes *n, pod_stamp now, pod_stamp limit);

/* Until then nothing happens to any node. POD_NEVER: for ever. */
pod_stamp pod_nodes_next(const pod_nodes *n);

/* When the first of those that the job holds goes down, before `until`; `until` when
 * none does. */
pod_stamp pod_nodes_watch(pod_nodes *n, pod_stamp until);

#endif
