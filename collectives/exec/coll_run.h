/* One collective, created once and run many times: only create allocates.
 *
 * A run has a schedule, this rank's buffer and its own message tags. start, poll and wait execute
 * it; between start and completion the buffer belongs to the collective. `what` names it in
 * messages ("allreduce torus2d 4M") and is copied. The schedule is borrowed until destroy. */
#ifndef MINIPOD_COLLECTIVES_EXEC_COLL_RUN_H
#define MINIPOD_COLLECTIVES_EXEC_COLL_RUN_H

#include <stdbool.h>

#include "collectives/exec/comm.h"
#include "collectives/exec/shm/window.h"
#include "collectives/sched/sched.h"
#include "kernels/base/dtype.h"

typedef struct pod_coll_run pod_coll_run;

/* Creates a run over shared memory between ranks of a node, and over MPI's point-to-point messages
 * between nodes. The buffer is anywhere in the window, which is the same one on all ranks; the run
 * owns its scratch memory. Fails with E_UNSUPPORTED if the type lacks the schedule's operation
 * (pod_redop_why_not) or if ranks that share memory in the schedule are on different nodes, with
 * E_INVALID if the schedules of two ranks do not match, and with E_NOMEM. Collective. */
POD_MUST pod_status pod_coll_run_create_shm(pod_comm *c, const pod_sched *s, pod_dtype t,
                                            pod_window *w, void *buf, const char *what,
                                            pod_coll_run **out);

/* Creates a run only over MPI's point-to-point messages (Isend, Irecv, Test; never MPI's own
 * collectives), on any buffer, borrowed until destroy. Fails with E_UNSUPPORTED if the type lacks
 * the operation or the schedule shares memory, and with E_NOMEM. All ranks create their runs in the
 * same order, which determines the tags. Collective. */
POD_MUST pod_status pod_coll_run_create_mpi(pod_comm *c, const pod_sched *s, pod_dtype t, void *buf,
                                            const char *what, pod_coll_run **out);
void pod_coll_run_start(pod_coll_run *r); /* begins the steps that wait for nothing */
/* Advances without waiting; returns true when the run is complete: no peer reads or writes this
 * rank's buffer any more. */
bool pod_coll_run_poll(pod_coll_run *r);
/* Polls the run until it is complete. Between polls it first pauses, later yields, and, if it waits
 * only for ranks of this node, later sleeps until one of them wakes it. A run advances only when it
 * is polled, so if several are in flight, all ranks must wait for them in the same order: otherwise
 * they deadlock. */
void pod_coll_run_wait(pod_coll_run *r);
/* Likewise; meanwhile also advances the n other runs, which may be in flight or complete. */
void pod_coll_run_wait_among(pod_coll_run *r, pod_coll_run *const others[], int n);
void pod_coll_run_destroy(pod_coll_run *r); /* collective; NULL is allowed */

#endif
