/* Executors carry out a program and make no choices. */
#ifndef MINIPOD_RUNTIME_EXEC_EXEC_H
#define MINIPOD_RUNTIME_EXEC_EXEC_H

#include "collectives/exec/comm.h"
#include "runtime/core/clock.h"
#include "runtime/exec/store.h"
#include "runtime/program/program.h"
#include "runtime/trace/timeline.h"

typedef struct pod_exec pod_exec;

/* real: runs this rank's kernels and collectives on the wall clock. Buckets are in memory that the
 * ranks of a node share. `p` and `store` are borrowed until close; the store must hold every
 * variable of the program (E_MISMATCH names one it lacks). The program's fingerprint must be that
 * of all ranks. Collective. */
POD_MUST pod_status pod_exec_open(const pod_program *p, pod_store *store, pod_comm *comm,
                                  pod_clock clock, pod_exec **out);
/* Opens several in one memory, as large as the largest needs: their steps alternate, and none keeps
 * anything there. On failure none is open. */
POD_MUST pod_status pod_exec_open_all(const pod_program *const p[], int n, pod_store *store,
                                      pod_comm *comm, pod_clock clock, pod_exec *out[]);
void pod_exec_close(pod_exec *e); /* collective; NULL is allowed */

/* Feeds this rank's shard of the data for input i; borrowed until the input is fed again. */
void pod_exec_feed(pod_exec *e, int input, const void *data);

/* Makes this core slow from now on: its computation takes `factor` times as long, at least 1. After
 * an instruction the rank idles, which counts as the instruction's time, while collectives in
 * flight continue. Results stay the same. Local. */
void pod_exec_set_slowness(pod_exec *e, double factor);

/* Runs one step; allocates nothing. Adds its events to `tl`, between begin and end of a step (NULL:
 * none). E_NUMERIC if output 0, the loss, is not finite: then no rank has updated anything, and all
 * ranks return the same; pod_exec_find_fault finds the first value at fault. */
POD_MUST pod_status pod_exec_step(pod_exec *e, pod_timeline *tl);
double pod_exec_output(const pod_exec *e, int output); /* of the last step, summed over cores */
/* Likewise for an output with rows: those of this core; borrowed until the next step. */
const float *pod_exec_rows(const pod_exec *e, int output);

/* After E_NUMERIC, with the same feeds: runs the step again up to the update, and checks every
 * value. E_NUMERIC with a text that names the first weight or instruction that was not finite and
 * its rank, the same on all ranks; `step` is for the text. Collective. */
POD_MUST pod_status pod_exec_find_fault(pod_exec *e, int64_t step);

#endif
