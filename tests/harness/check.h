/* An executor that proves a program's plan: one process plays all ranks, in lockstep.
 *
 *   - slots are full of NaN before they are first written and after their last use
 *   - what was written is hashed, and verified before each read
 *   - canaries stand behind slots where the program was compiled with guards
 *   - a collective's buffer is NaN while it is in flight
 *   - values must be finite */
#ifndef MINIPOD_TESTS_HARNESS_CHECK_H
#define MINIPOD_TESTS_HARNESS_CHECK_H

#include "runtime/exec/store.h"
#include "runtime/program/program.h"

/* feeds[i * n_ranks + r] is rank r's data of input i; every rank's store is updated; outputs[i] is
 * output i, 0 where that has rows. E_MISMATCH: the plan or a kernel is wrong; E_NUMERIC: a value is
 * not finite. Both name instruction and rank. */
POD_MUST pod_status pod_check_step(const pod_program *p, pod_store *const stores[],
                                   const void *const feeds[], double outputs[]);

#endif
