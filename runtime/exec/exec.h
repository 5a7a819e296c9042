/* Executors: they carry a program out and make no choices. */
#ifndef MINIPOD_RUNTIME_EXEC_EXEC_H
#define MINIPOD_RUNTIME_EXEC_EXEC_H

#include "collectives/exec/comm.h"
#include "runtime/core/clock.h"
#include "runtime/exec/store.h"
#include "runtime/program/program.h"
#include "runtime/trace/timeline.h"

typedef struct pod_exec pod_exec;

/* real: this rank's part, kernels and collectives, on the wall clock. What is all-reduced lies in
 * memory that the ranks of a node share. `p` and `store` are borrowed until close; the store must
 * hold every variable of the program (E_MISMATCH names one it lacks). The program's fingerprint
 * must be that of all ranks. Collective. */
POD_MUST pod_status pod_exec_open(const pod_program *p, pod_store *store, pod_comm *comm,
                                  pod_clock clock, pod_exec **out);
/* Several, in one memory as large as the largest needs: their steps take turns, and none finds what
 * it left there. On failure none is open. */
POD_MUST pod_status pod_exec_open_all(const pod_program *const p[], int n, pod_store *store,
                                      pod_comm *comm, pod_clock clock, pod_exec *out[]);
void pod_exec_close(pod_exec *e); /* collective; NULL is allowed */

/* This rank's part of the data for input i of the program; borrowed until it is fed again. */
void pod_exec_feed(pod_exec *e, int input, const void *data);

/* From now on what this core computes takes `factor` times as long, at least 1: after an
 * instruction time passes, which counts as the instruction's, while collectives in flight go on.
 * The rank that it is set on plays a slow one; numbers stay the same. Local. */
void pod_exec_set_slowness(pod_exec *e, double factor);

/* One step: allocates nothing. Adds its events to `tl`, between begin and end of a step (NULL:
 * none). E_NUMERIC when output 0, the loss, is not finite: then nothing was updated, on any rank,
 * and all ranks answer alike; pod_exec_find_fault says where it began. */
POD_MUST pod_status pod_exec_step(pod_exec *e, pod_timeline *tl);
double pod_exec_output(const pod_exec *e, int output); /* of the last step, summed over cores */
/* Likewise of an output that has rows: this core's; borrowed until the next step. */
const float *pod_exec_rows(const pod_exec *e, int output);

/* After E_NUMERIC, with the same feeds: runs the step again up to the update, looking at every
 * value. E_NUMERIC with a text that names the first weight or instruction that was not finite and
 * its rank, the same on all ranks; `step` is for the text. Collective. */
POD_MUST pod_status pod_exec_find_fault(pod_exec *e, int64_t step);

#endif
