/* Functions of a comm for the executors over MPI, in addition to comm.h. */
#ifndef MINIPOD_COLLECTIVES_EXEC_MPI_COMM_MPI_H
#define MINIPOD_COLLECTIVES_EXEC_MPI_COMM_MPI_H

#include <mpi.h>

#include "collectives/exec/comm.h"

MPI_Comm pod__comm_world(const pod_comm *c);
MPI_Comm pod__comm_node(const pod_comm *c); /* the ranks of this node; its errors are returned */
/* Returns the rank in this node's communicator of a rank of the world; -1 for ranks of other
 * nodes. */
int pod__comm_node_rank(const pod_comm *c, int rank);

/* Opens the mailbox of this node, once per comm; closing the comm closes it. Collective. */
POD_MUST pod_status pod__comm_open_mailbox(pod_comm *c);
struct pod__mailbox *pod__comm_mailbox(const pod_comm *c); /* NULL if not opened */

double pod__comm_patience_s(const pod_comm *c);
double pod__comm_watchdog_s(const pod_comm *c);    /* 0: no limit */
int64_t pod__comm_step(const pod_comm *c);         /* 0: before the first step */
struct pod__roster *pod__comm_roster(pod_comm *c); /* NULL if all ranks are on this node */

/* The segment from which windows are allocated until it is full; *result is NULL if there is none
 * yet. */
struct pod__segment **pod__comm_segment(pod_comm *c);

/* Counts a call of a function of comm.h; messages about waits contain the number of the call. */
void pod__comm_count_call(pod_comm *c);
/* Waits for a collective of MPI, under the watchdog; `what` and the number of the call name it in
 * messages. */
void pod__comm_complete(pod_comm *c, MPI_Request *request, const char *what);
/* Likewise, for ranks that wait while others measure: sleeps between polls. */
void pod__comm_complete_napping(pod_comm *c, MPI_Request *request, const char *what);
/* Returns MPI's last tag, which pod__comm_take_tags never returns. */
int pod__comm_roster_tag(const pod_comm *c);

/* Takes tags for one run: n tags from *first on, the same on all ranks, which no other existing run
 * has. Fails with E_UNSUPPORTED if MPI has no more. Collective. */
POD_MUST pod_status pod__comm_take_tags(pod_comm *c, int n, int *first);
void pod__comm_give_tags(pod_comm *c); /* returns those of one run. Local. */

#endif
