/* Runs all ranks of a collective in one process: the reference for the other executors. */
#ifndef MINIPOD_COLLECTIVES_EXEC_EXEC_LOCAL_H
#define MINIPOD_COLLECTIVES_EXEC_EXEC_LOCAL_H

#include "collectives/sched/sched.h"
#include "kernels/base/dtype.h"

/* Executes all[r] on buf[r], the buffer of rank r, event by event in the order of
 * collectives/sched/order.h. A message is copied from one buffer to the other, and sums are
 * computed as under MPI, so the results have the same bits. Fails, before it changes a buffer, with
 * E_INVALID if the schedules do not match or deadlock (pod_sched_verify; races and spans are not
 * checked), with E_UNSUPPORTED if the type lacks the operation (pod_redop_why_not), and with
 * E_NOMEM. */
POD_MUST pod_status pod_sched_run_local(const pod_sched *const all[], int n_ranks, pod_dtype t,
                                        void *const buf[]);

#endif
