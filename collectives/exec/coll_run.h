/* One collective, prepared once and run many times: nothing is allocated after create.
 *
 * A run is bound to a schedule, this rank's buffer and a base for message tags. start, poll and
 * wait do the work; between start and done the buffer belongs to the collective. Whatever carries
 * the messages (exec_mpi today) is behind the vtable. */
#ifndef MINIPOD_COLLECTIVES_EXEC_COLL_RUN_H
#define MINIPOD_COLLECTIVES_EXEC_COLL_RUN_H

#include <stdbool.h>

#include "collectives/exec/comm.h"
#include "collectives/exec/window.h"
#include "collectives/sched/sched.h"
#include "kernels/base/dtype.h"

typedef struct pod_coll_run pod_coll_run;

/* Over shared memory between ranks of one node, over MPI's point-to-point messages between nodes.
 * The buffer lies in the window, the same one on all ranks, wherever in it; scratch is the run's
 * own. Waiting pauses, then yields, then sleeps; a peer that died ends the job and is named. Types
 * f32, bf16 and binned. Schedules that share memory name only ranks of one node, or E_UNSUPPORTED.
 * `what` names the collective in messages, "allreduce torus2d 4M". Collective; E_NOMEM. */
POD_MUST pod_status pod_coll_run_create_shm(pod_comm *c, const pod_sched *s, pod_dtype t,
                                            pod_window *w, void *buf, const char *what,
                                            pod_coll_run **out);

/* Over MPI's point-to-point messages (Isend, Irecv, Test; never MPI's own collectives). The
 * schedule and the buffer are borrowed until destroy. All ranks create their runs in the same
 * order: that order gives the tags. POD_F32 only. Collective. */
POD_MUST pod_status pod_coll_run_create_mpi(pod_comm *c, const pod_sched *s, pod_dtype t, void *buf,
                                            pod_coll_run **out);
void pod_coll_run_start(pod_coll_run *r); /* posts what can go at once */
/* Advances without waiting; true when done, so that no peer reads or writes my buffer any more. */
bool pod_coll_run_poll(pod_coll_run *r);
/* Polls this run until it is done. A run advances only when it is polled, so with several in flight
 * all ranks wait for them in the same order; two that wait crosswise would wait for ever. */
void pod_coll_run_wait(pod_coll_run *r);
void pod_coll_run_destroy(pod_coll_run *r);

#endif
