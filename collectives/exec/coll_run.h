/* One collective, prepared once and run many times: nothing is allocated after create.
 *
 * A run is bound to a schedule, this rank's buffer and a base for message tags. start, poll and
 * wait do the work; between start and done the buffer belongs to the collective. `what` names it in
 * messages, "allreduce torus2d 4M"; it is copied. The schedule is borrowed until destroy. */
#ifndef MINIPOD_COLLECTIVES_EXEC_COLL_RUN_H
#define MINIPOD_COLLECTIVES_EXEC_COLL_RUN_H

#include <stdbool.h>

#include "collectives/exec/comm.h"
#include "collectives/exec/shm/window.h"
#include "collectives/sched/sched.h"
#include "kernels/base/dtype.h"

typedef struct pod_coll_run pod_coll_run;

/* Over shared memory between ranks of one node, over MPI's point-to-point messages between nodes.
 * The buffer lies in the window, the same one on all ranks, wherever in it; scratch is the run's
 * own. Types f32, bf16 and binned. Schedules that share memory name only ranks of one node, or
 * E_UNSUPPORTED; E_INVALID where the parts of two ranks do not fit together. Collective; E_NOMEM.
 */
POD_MUST pod_status pod_coll_run_create_shm(pod_comm *c, const pod_sched *s, pod_dtype t,
                                            pod_window *w, void *buf, const char *what,
                                            pod_coll_run **out);

/* Over MPI's point-to-point messages alone (Isend, Irecv, Test; never MPI's own collectives), from
 * and to any buffer, borrowed until destroy. Types as above. E_UNSUPPORTED for a schedule that
 * shares memory. All ranks create their runs in the same order: that order gives the tags.
 * Collective; E_NOMEM. */
POD_MUST pod_status pod_coll_run_create_mpi(pod_comm *c, const pod_sched *s, pod_dtype t, void *buf,
                                            const char *what, pod_coll_run **out);
void pod_coll_run_start(pod_coll_run *r); /* posts what can go at once */
/* Advances without waiting; true when done, so that no peer reads or writes my buffer any more. */
bool pod_coll_run_poll(pod_coll_run *r);
/* Polls this run until it is done: pauses in between, then yields, then, where it waits for ranks
 * of this node only, sleeps until one of them rings. A run advances only when it is polled, so with
 * several in flight all ranks wait for them in the same order; two that wait crosswise would wait
 * for ever. */
void pod_coll_run_wait(pod_coll_run *r);
/* The same, where the n others, in flight or done, advance too meanwhile. */
void pod_coll_run_wait_among(pod_coll_run *r, pod_coll_run *const others[], int n);
void pod_coll_run_destroy(pod_coll_run *r); /* collective; NULL is allowed */

#endif
