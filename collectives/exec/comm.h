/* The ranks of a job over MPI: start, end, agree. The only other way ranks speak is a schedule.
 *
 * All functions are collective unless said otherwise: every rank calls them in the same order and
 * gets the same status. They are for set-up, evaluation totals and the end; none is called inside a
 * training step.
 *
 * The watchdog. A rank that waits for others longer than the watchdog's seconds ends the job with
 * exit code 1 and one line on standard error, which names who did not arrive, in what, and the
 * step:
 *
 *     rank 1: rank 3 did not arrive in allreduce torus2d of 4096 bytes, sum #17, step 120,
 *     for 10 s: ending the job
 *
 * Watched is every wait for other ranks: of collectives in flight (coll_run.h), of votes (vote.h)
 * and of the functions below; the time counts anew whenever something comes. So the seconds have to
 * be more than any rank works by itself between two of them: a step's longest part, the reading or
 * writing of a file while the others wait for it. Where nobody can say how long that takes, who has
 * nothing to do comes to pod_comm_barrier_idle first, which waits as long as it takes. A rank that
 * dies is found by those of its node in all of these waits. What nobody waits for is not watched: a
 * job of one rank may hang.
 *
 * Named is who does not wait itself: ranks of a node show each other that they do, those of other
 * nodes are asked. Where all wait, because they do not call the same in the same order, named is
 * who is awaited, with ", which waits itself". */
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
/* The seconds after which the watchdog ends the job; 0, as from the start: it never does.
 * E_NOMEM, also where the node has too little shared memory. After pod_comm_split_nodes. */
POD_MUST pod_status pod_comm_set_watchdog(pod_comm *c, double seconds);
/* The step that this rank is in, from 1, for what its waits say; 0: none. Costs a store. Local. */
void pod_comm_set_step(pod_comm *c, int64_t step);
const char *pod_comm_version(const pod_comm *c); /* "Open MPI v4.1.4 ..." */

typedef struct pod_cores { /* physical ones */
    int physical;          /* of all hosts of this job */
    int here;              /* of this host, that its ranks may run on by their bindings, together */
    int at_work;           /* the fewer of a host's ranks and those, summed over hosts */
} pod_cores;

/* As ranks are bound now; before pod_comm_split_nodes, which makes several hosts of one. */
pod_cores pod_comm_cores(pod_comm *c);

/* The worst status of all ranks, with the text of the lowest rank that has it as the error record
 * of every rank ("rank 3: " put before it when not every rank failed alike). */
POD_MUST pod_status pod_comm_agree(pod_comm *c, pod_status mine);

/* E_MISMATCH, naming `what` and the first rank that differs from rank 0, unless all bytes agree. */
POD_MUST pod_status pod_comm_same(pod_comm *c, const char *what, const void *data, size_t bytes);

void pod_comm_barrier(pod_comm *c);
/* A barrier for ranks that have nothing to do while one works long: who comes early sleeps, and
 * takes no core from what is measured meanwhile. Late by some milliseconds. The watchdog lets it
 * be. */
void pod_comm_barrier_idle(pod_comm *c);
/* `bytes` is the same on all ranks. */
void pod_comm_broadcast(pod_comm *c, int root, void *data, size_t bytes);
/* Rank r's `bytes` at all + r * bytes, on rank 0; `all` may be NULL elsewhere. */
void pod_comm_gather(pod_comm *c, const void *mine, size_t bytes, void *all);
void pod_comm_sum(pod_comm *c, double *values, int n);
void pod_comm_max(pod_comm *c, double *values, int n);

#endif
