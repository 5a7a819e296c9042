/* Executors: they carry a program out and make no choices. */
#ifndef MINIPOD_RUNTIME_EXEC_EXEC_H
#define MINIPOD_RUNTIME_EXEC_EXEC_H

#include "collectives/exec/comm.h"
#include "runtime/exec/store.h"
#include "runtime/measure/timeline.h"
#include "runtime/program/program.h"

typedef struct pod_exec pod_exec;

/* real: this rank's part, kernels and MPI, on the wall clock. `p` and `store` are borrowed until
 * close; the store must hold every variable of the program. Collective. */
POD_MUST pod_status pod_exec_open(const pod_program *p, pod_store *store, pod_comm *comm,
                                  pod_exec **out);
void pod_exec_close(pod_exec *e); /* NULL is allowed */

/* The host's data for input i of the program, this rank's part; borrowed until the next feed of it. */
void pod_exec_feed(pod_exec *e, int input, const void *data);

/* One step: allocates nothing. Appends to `tl` (NULL: does not). E_NUMERIC when output 0, the loss of
 * a training program, is not finite: then nothing was updated, on any rank, and all ranks answer
 * alike; pod_exec_find_fault says where it began. */
POD_MUST pod_status pod_exec_step(pod_exec *e, int64_t step, pod_timeline *tl);
double pod_exec_output(const pod_exec *e, int output); /* of the last step, summed over cores */

/* After E_NUMERIC, with the same feeds: runs the step again up to the update, looking at every output.
 * Answers E_NUMERIC with a text that names the first instruction whose output was not finite, and
 * the rank, on all ranks. Collective. */
POD_MUST pod_status pod_exec_find_fault(pod_exec *e, int64_t step);

/* check: one process plays all ranks, in lockstep, with guards: every slot is filled with NaN before
 * it is first written and again after its last use, its bytes are hashed after each write and verified
 * before each read, canaries stand between slots, outputs must be finite. feed[i * n_ranks + r] is
 * rank r's data of input i. Updates every rank's store in `stores`. E_MISMATCH or E_NUMERIC name the
 * instruction. */
POD_MUST pod_status pod_check_step(const pod_program *p, pod_store *const stores[],
                                   const void *const feeds[], double outputs[]);

#endif
