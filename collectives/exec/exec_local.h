/* All ranks of a collective in one process: the plain twin of the other executors. */
#ifndef MINIPOD_COLLECTIVES_EXEC_EXEC_LOCAL_H
#define MINIPOD_COLLECTIVES_EXEC_EXEC_LOCAL_H

#include "collectives/sched/sched.h"
#include "kernels/base/dtype.h"

/* Carries out all[r] on buf[r], the buffer of rank r, event after event in the order of
 * collectives/sched/order.h. A message goes straight from one buffer to the other, and sums are
 * made as under MPI, so that the results have the same bits. E_INVALID, with nothing done, when the
 * parts do not fit together or would wait for each other (pod_sched_verify); races and spans are
 * not looked at. E_UNSUPPORTED for other types than f32, bf16 and binned; E_NOMEM. */
POD_MUST pod_status pod_sched_run_local(const pod_sched *const all[], int n_ranks, pod_dtype t,
                                        void *const buf[]);

#endif
