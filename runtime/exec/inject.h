/* Fault injection: applies the faults of --fault to this rank at the beginning of a step.
 *
 *     kill   without `write`: the process kills itself by SIGKILL, as the kernel does when memory
 *            runs out
 *     hang   the process stops until a signal ends it
 *     nan    an element of its last weight becomes NaN, and so does the loss, on all ranks
 *     slow   its computation takes `factor` times as long (pod_exec_set_slowness)
 *
 * The first three happen once in a job, also if it restarts. `slow` holds in the steps that it
 * names, in every attempt of the job. The saver injects faults of files (runtime/train/saver.h). */
#ifndef MINIPOD_RUNTIME_EXEC_INJECT_H
#define MINIPOD_RUNTIME_EXEC_INJECT_H

#include <stdbool.h>

#include "runtime/config/fault.h"
#include "runtime/exec/exec.h"

typedef struct pod_injection { /* borrowed */
    const pod_fault *fault;
    int n_faults;
    const bool *spent; /* (n_faults): whether it happened in an earlier attempt */
    /* Called before a fault happens, and when a slow one that is not spent begins. May be NULL. */
    void (*note)(void *to, int fault);
    void *to;
} pod_injection;

/* Fails with E_INVALID for a fault of a rank that does not exist, for a slowness below 1, and for
 * the failure of a link, which only a simulation has. */
POD_MUST pod_status pod_inject_check(const pod_fault fault[], int n_faults, int n_ranks);

/* Injects the faults of `rank` that are due when step `step`, counted from 1, begins. May not
 * return. Allocates nothing. is_slowed (n_faults) records which slow faults have begun in this
 * attempt. exec is the executor to slow down, or NULL. */
void pod_inject(const pod_injection *x, int rank, int64_t step, pod_store *store, pod_exec *exec,
                bool is_slowed[]);

/* Returns the factor by which faults slow down this rank in this step; 1 if none does. The parser
 * refuses two such faults at once. */
double pod_inject_slowness(const pod_fault fault[], int n_faults, int rank, int64_t step);

#endif
