/* The ranks of a job over MPI: start, end, agreement. All other communication goes through
 * schedules.
 *
 * All functions are collective unless marked "Local": every rank calls them in the same order and
 * gets the same status. They are for set-up, evaluation totals and the end; a training step calls
 * none of them.
 *
 * The watchdog. If a rank waits for others longer than the watchdog's time, it ends the job with
 * exit code 1 and one line on standard error, which names the rank that did not arrive, the
 * collective and the step:
 *
 *     rank 1: rank 3 did not arrive in allreduce torus2d of 4096 bytes, sum #17, step 120,
 *     for 10 s: ending the job
 *
 * The watchdog watches every wait for other ranks: in collectives in flight (coll_run.h), in votes
 * (vote.h) and in the functions below; the time restarts whenever a message arrives. So it must be
 * longer than any rank works alone between two waits, for example when it reads or writes a file
 * while the others wait. If that time is unknown, the ranks without work call pod_comm_barrier_idle
 * first, which has no limit. In all of these waits the ranks of a node detect that one of them has
 * died. A job of one rank waits for nobody and is not watched.
 *
 * The line names ranks that do not wait themselves. A rank sees in shared memory which ranks of its
 * node wait, and asks the ranks of other nodes. If all ranks wait, because they do not call the
 * same functions in the same order, the line names the rank for which this one waits, with ", which
 * waits itself". */
#ifndef MINIPOD_COLLECTIVES_EXEC_COMM_H
#define MINIPOD_COLLECTIVES_EXEC_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/base/status.h"

typedef struct pod_comm pod_comm;

/* Starts MPI (without mpirun there is one rank), duplicates the world communicator, and installs an
 * assertion handler, so that a failed assertion ends all ranks. Call it once per process. */
POD_MUST pod_status pod_comm_open(pod_comm **out);
/* Makes a comm of this rank alone, within a job: for work that one rank does while the others wait.
 * Local. */
POD_MUST pod_status pod_comm_open_alone(pod_comm **out);
void pod_comm_close(pod_comm *c); /* the comm of all ranks: ends MPI. NULL is allowed */

/* Ends all ranks at once with this exit code; for failures inside a step, in which the others wait.
 * Local; does not return. */
_Noreturn void pod_comm_abort(pod_comm *c, int exit_code);

int pod_comm_rank(const pod_comm *c);
int pod_comm_size(const pod_comm *c);
/* Returns whether this rank and another are on the same node. Local. */
bool pod_comm_shares_node(const pod_comm *c, int rank);
/* Returns pod_coll_args.node_size for this job: the ranks per node, if all nodes have equally many
 * and these are consecutive; else 1. Local. */
int pod_comm_node_size(const pod_comm *c);
/* Makes one node behave like several, with n ranks each: from now on, ranks 0 to n - 1, n to 2 n -
 * 1, ... count as different nodes. Call it before any window or run is created. */
void pod_comm_split_nodes(pod_comm *c, int n);
/* Sets the time in a collective after which a rank reports on standard error for which rank it
 * waits; it continues to wait, and reports again each time the waiting time has doubled. Initially
 * 30 s. Local. */
void pod_comm_set_patience(pod_comm *c, double seconds);
/* Sets the time after which the watchdog ends the job; 0 (initially): no limit. Fails with E_NOMEM,
 * also if the node has too little shared memory. Call it after pod_comm_split_nodes. */
POD_MUST pod_status pod_comm_set_watchdog(pod_comm *c, double seconds);
/* Sets the step of this rank, from 1, for its messages; 0: none. Costs one store. Local. */
void pod_comm_set_step(pod_comm *c, int64_t step);
const char *pod_comm_version(const pod_comm *c); /* "Open MPI v4.1.4 ..." */

typedef struct pod_cores { /* numbers of physical cores */
    int physical;          /* on all hosts of this job */
    int here;              /* on this host: those on which at least one of its ranks may run */
    int at_work;           /* sum over hosts of the smaller of `here` and the number of ranks */
} pod_cores;

/* Counts cores by the current CPU bindings of the ranks. Call it before pod_comm_split_nodes, after
 * which parts of a node count as hosts. */
pod_cores pod_comm_cores(pod_comm *c);

/* Returns the worst status of all ranks. Every rank gets the error text of the lowest rank with
 * this status (prefixed with "rank 3: " unless all ranks failed alike). */
POD_MUST pod_status pod_comm_agree(pod_comm *c, pod_status mine);

/* Fails with E_MISMATCH, naming `what` and the first rank that differs from rank 0, unless all
 * ranks have the same bytes. */
POD_MUST pod_status pod_comm_same(pod_comm *c, const char *what, const void *data, size_t bytes);

void pod_comm_barrier(pod_comm *c);
/* A barrier for ranks that have nothing to do while one of them works for long: ranks that wait
 * sleep, so they do not take cores from measurements, and continue some milliseconds late. Not
 * limited by the watchdog. */
void pod_comm_barrier_idle(pod_comm *c);
/* `bytes` must be the same on all ranks. */
void pod_comm_broadcast(pod_comm *c, int root, void *data, size_t bytes);
/* Copies rank r's `mine` to all + r * bytes on rank 0; `all` may be NULL on other ranks. */
void pod_comm_gather(pod_comm *c, const void *mine, size_t bytes, void *all);
void pod_comm_sum(pod_comm *c, double *values, int n);
void pod_comm_max(pod_comm *c, double *values, int n);

#endif
