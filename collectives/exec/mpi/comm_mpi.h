/* What the executors over MPI need of a comm, beyond comm.h. */
#ifndef MINIPOD_COLLECTIVES_EXEC_MPI_COMM_MPI_H
#define MINIPOD_COLLECTIVES_EXEC_MPI_COMM_MPI_H

#include <mpi.h>

#include "collectives/exec/comm.h"

MPI_Comm pod__comm_world(const pod_comm *c);
MPI_Comm pod__comm_node(const pod_comm *c); /* the ranks of this node; its errors return */
/* The rank there of a rank of the world; -1 for one of another node. */
int pod__comm_node_rank(const pod_comm *c, int rank);

/* The mailbox of this node, opened once a comm, closed with it. Collective. */
POD_MUST pod_status pod__comm_open_mailbox(pod_comm *c);
struct pod__mailbox *pod__comm_mailbox(const pod_comm *c); /* NULL: not opened */

double pod__comm_patience_s(const pod_comm *c);
double pod__comm_watchdog_s(const pod_comm *c);    /* 0: nobody watches */
int64_t pod__comm_step(const pod_comm *c);         /* 0: before the first */
struct pod__roster *pod__comm_roster(pod_comm *c); /* NULL: all ranks are of this node */

/* Where windows find a place, until it is full; NULL there: not made. */
struct pod__segment **pod__comm_segment(pod_comm *c);

/* Numbers this call of the comm, for the texts of its waits. */
void pod__comm_count_call(pod_comm *c);
/* Waits for a collective of MPI, under the watch; `what` names it, with the number of the call. */
void pod__comm_complete(pod_comm *c, MPI_Request *request, const char *what);
/* The same for who waits while others measure: it sleeps between looks. */
void pod__comm_complete_napping(pod_comm *c, MPI_Request *request, const char *what);
/* The last tag of MPI, which pod__comm_take_tags does not give. */
int pod__comm_roster_tag(const pod_comm *c);

/* Tags for one run: `n` of them on every rank, from *first on, the same on all ranks, while no
 * other run that is alive has them. E_UNSUPPORTED when MPI has no more. Collective. */
POD_MUST pod_status pod__comm_take_tags(pod_comm *c, int n, int *first);
void pod__comm_give_tags(pod_comm *c); /* of one run. Local. */

#endif
