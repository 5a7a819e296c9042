/* The nodes of a simulated job: which are up, and which the job holds.
 *
 * Nodes fail and are repaired independently of the job: at random times, as in a trace, or as in a
 * list. The job takes as many nodes as it needs and learns when one of them goes down; the others
 * are spares. Times are nanoseconds since the job was submitted, and calls must not go back in
 * time. Uses no clock and no files. */
#ifndef MINIPOD_RUNTIME_STUDY_NODES_H
#define MINIPOD_RUNTIME_STUDY_NODES_H

#include <stdint.h>

#include "runtime/study/fault_trace.h"

#define POD_NEVER INT64_MAX

typedef struct pod_nodes pod_nodes;

typedef struct pod_nodes_drawn {
    double mtbf_s;   /* mean time of a node from the beginning or its repair to its next fault; 0:
                        no faults */
    double shape;    /* of the Weibull distribution of that time; 1: exponential */
    double repair_s; /* from a fault until the node is up again */
} pod_nodes_drawn;

/* Creates `n` nodes with random faults; the job needs `n_needed` of them. */
POD_MUST pod_status pod_nodes_draw(const pod_nodes_drawn *plan, int n, int n_needed,
                                   pod_nodes **out);
/* Creates n nodes that follow a trace: drawn at random from the cluster of of_nodes nodes, of which
 * t->n_nodes have faults, and from a random time of the trace on, or from `start` if that is not
 * negative. At its end the trace begins again. Borrows the trace. E_INVALID if of_nodes < n or
 * of_nodes < t->n_nodes. */
POD_MUST pod_status pod_nodes_replay(const pod_fault_trace *t, int of_nodes, pod_stamp start, int n,
                                     int n_needed, pod_nodes **out);
/* Creates n nodes that follow a list of events in the order of time; borrowed. */
POD_MUST pod_status pod_nodes_list(const pod_node_event event[], int n_events, int n, int n_needed,
                                   pod_nodes **out);
void pod_nodes_destroy(pod_nodes *n); /* NULL is allowed */

/* Resets to time 0 with the random numbers of (seed, job). The job holds no node. */
void pod_nodes_begin(pod_nodes *n, uint64_t seed, uint32_t job);

/* Returns the first time, `now` or later, when n_needed nodes are up. From then on the job holds
 * n_needed nodes, among them those that it held before and that are still up. Returns POD_NEVER if
 * that time is later than `limit`. */
pod_stamp pod_nodes_take(pod_nodes *n, pod_stamp now, pod_stamp limit);

/* Returns the time of the next event of any node; POD_NEVER if there is none. */
pod_stamp pod_nodes_next(const pod_nodes *n);

/* Returns the time, before `until`, when the first of the nodes that the job holds goes down;
 * `until` if none does. */
pod_stamp pod_nodes_watch(pod_nodes *n, pod_stamp until);

#endif
