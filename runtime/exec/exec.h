/* The executor of real runs. It carries out a program as it is and chooses nothing. */
#ifndef MINIPOD_RUNTIME_EXEC_EXEC_H
#define MINIPOD_RUNTIME_EXEC_EXEC_H

#include "collectives/exec/comm.h"
#include "runtime/core/clock.h"
#include "runtime/exec/store.h"
#include "runtime/program/program.h"
#include "runtime/trace/timeline.h"

typedef struct pod_exec pod_exec;

/* Opens an executor that runs this rank's kernels and collectives. Buckets are in memory that the
 * ranks of a node share. `p` and `store` are borrowed until close. Fails with E_MISMATCH, naming
 * the variable, if the store lacks a variable of the program or has it with another number of
 * elements; with E_MISMATCH if the programs of the ranks have different fingerprints; and with
 * E_NOMEM. Collective. */
POD_MUST pod_status pod_exec_open(const pod_program *p, pod_store *store, pod_comm *comm,
                                  pod_clock clock, pod_exec **out);
/* Opens n executors that share one slab, as large as the largest program needs. Their steps must
 * not overlap; no executor keeps values in the slab between steps. On failure none is open. */
POD_MUST pod_status pod_exec_open_all(const pod_program *const p[], int n, pod_store *store,
                                      pod_comm *comm, pod_clock clock, pod_exec *out[]);
void pod_exec_close(pod_exec *e); /* collective; NULL is allowed */

/* Feeds this rank's shard of the data for input i; borrowed until the input is fed again. */
void pod_exec_feed(pod_exec *e, int input, const void *data);

/* Makes this core slow from now on: its computation takes `factor` (at least 1) times as long,
 * because the rank sleeps between instructions. The sleep counts as the time of an instruction;
 * collectives in flight continue meanwhile. Results stay the same. Local. */
void pod_exec_set_slowness(pod_exec *e, double factor);

/* Runs one step; allocates nothing. Adds its events to `tl` unless that is NULL; the caller begins
 * and ends the step there. Returns E_NUMERIC, on all ranks, if output 0, the loss, is not finite:
 * no variable has been updated then, and pod_exec_find_fault finds the cause. */
POD_MUST pod_status pod_exec_step(pod_exec *e, pod_timeline *tl);
double pod_exec_output(const pod_exec *e, int output); /* a scalar of the last step */
/* Returns this core's rows of an output with rows, from the last step; borrowed until the next
 * step. */
const float *pod_exec_rows(const pod_exec *e, int output);

/* Call it after E_NUMERIC, with the same feeds. Checks all variables, then runs the step again up
 * to the loss and checks the output of every instruction. Returns E_NUMERIC with a text, the same
 * on all ranks, that names the first variable that is not finite, or else the first such
 * instruction and its rank; if there is neither, the sum of the loss overflowed. `step` is for the
 * text. Collective. */
POD_MUST pod_status pod_exec_find_fault(pod_exec *e, int64_t step);

#endif
