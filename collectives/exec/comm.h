/* The ranks of a job over MPI: start, end, agree. The only other way ranks speak is a schedule.
 *
 * All functions are collective unless said otherwise: every rank calls them in the same order and
 * gets the same status. They are for set-up, evaluation totals and the end; none is called inside a
 * training step. */
#ifndef MINIPOD_COLLECTIVES_EXEC_COMM_H
#define MINIPOD_COLLECTIVES_EXEC_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/base/status.h"

typedef struct pod_comm pod_comm;

/* Starts MPI (a program started without mpirun is one rank), duplicates the world, installs the
 * assertion handler so that a failed assertion takes all ranks down. Once a process. */
POD_MUST pod_status pod_comm_open(pod_comm **out);
/* This rank by itself, of a job that has begun: for what one rank runs while the others wait.
 * Local. */
POD_MUST pod_status pod_comm_open_alone(pod_comm **out);
void pod_comm_close(pod_comm *c); /* of all ranks: ends MPI. NULL is allowed */

/* Ends all ranks at once with this exit code; for a failure inside a step, where the others wait.
 * Local; does not return. */
_Noreturn void pod_comm_abort(pod_comm *c, int exit_code);

int pod_comm_rank(const pod_comm *c);
int pod_comm_size(const pod_comm *c);
/* Whether this rank and another run on one node. Local. */
bool pod_comm_shares_node(const pod_comm *c, int rank);
/* What pod_coll_args.node_size says of this job: ranks of a node where every node has as many and
 * they follow one another, else 1. Local. */
int pod_comm_node_size(const pod_comm *c);
/* From now on ranks of one node that are not of one group, 0 to n - 1, n to 2 n - 1, ... of the
 * world, take each other for ranks of two nodes: several nodes played on one. Before there are any
 * windows or runs. */
void pod_comm_split_nodes(pod_comm *c, int n);
/* How long a rank waits in a collective before it says on standard error for whom; it waits on, and
 * says so again after twice the time. 30 s from the start. Local. */
void pod_comm_set_patience(pod_comm *c, double seconds);
const char *pod_comm_version(const pod_comm *c); /* "Open MPI v4.1.4 ..." */

/* The worst status of all ranks, with the text of the lowest rank that has it as the error record
 * of every rank ("rank 3: " put before it when not every rank failed alike). */
POD_MUST pod_status pod_comm_agree(pod_comm *c, pod_status mine);

/* E_MISMATCH, naming `what` and the first rank that differs from rank 0, unless all bytes agree. */
POD_MUST pod_status pod_comm_same(pod_comm *c, const char *what, const void *data, size_t bytes);

void pod_comm_barrier(pod_comm *c);
/* A barrier for ranks that have nothing to do while one works long: who comes early sleeps, and
 * takes no core from what is measured meanwhile. Late by some milliseconds. */
void pod_comm_barrier_idle(pod_comm *c);
/* `bytes` is the same on all ranks. */
void pod_comm_broadcast(pod_comm *c, int root, void *data, size_t bytes);
/* Rank r's `bytes` at all + r * bytes, on rank 0; `all` may be NULL elsewhere. */
void pod_comm_gather(pod_comm *c, const void *mine, size_t bytes, void *all);
void pod_comm_sum(pod_comm *c, double *values, int n);
void pod_comm_max(pod_comm *c, double *values, int n);

#endif
