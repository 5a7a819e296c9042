/* Fault injection: makes happen what --fault asks of this rank as a step begins.
 *
 *     kill   without `write`: this process kills itself, as the system would for want of memory
 *     hang   it stops for ever, until a signal ends it
 *     nan    an element of its last weight is not a number: the loss will not be, on any rank
 *     slow   what its core computes takes `factor` times as long (pod_exec_set_slowness)
 *
 * The first three happen once in a job. Slow is a state of the core: it holds in every attempt, in
 * the steps that it names. Faults of files are the saver's (runtime/train/saver.h). */
#ifndef MINIPOD_RUNTIME_TRAIN_INJECT_H
#define MINIPOD_RUNTIME_TRAIN_INJECT_H

#include <stdbool.h>

#include "runtime/config/fault.h"
#include "runtime/exec/exec.h"

typedef struct pod_injection { /* borrowed */
    const pod_fault *fault;
    int n_faults;
    const bool *spent; /* (n_faults): it happened in an earlier attempt */
    /* Called before a fault happens, and when a slow one begins that is not spent; NULL: not called. */
    void (*note)(void *to, int fault);
    void *to;
} pod_injection;

/* E_INVALID: a fault of a rank that is not there, a core that is to be faster than it is, a
 * link. */
POD_MUST pod_status pod_inject_check(const pod_fault fault[], int n_faults, int n_ranks);

/* As step `step` of `rank` begins, from 1: what is due happens. May not return. Allocates nothing.
 * is_slowed: (n_faults), which slow ones have begun in this attempt. exec NULL: there is none to
 * slow down. */
void pod_inject(const pod_injection *x, int rank, int64_t step, pod_store *store, pod_exec *exec,
                bool is_slowed[]);

/* How many times as long the core of this rank takes in this step; 1 where nothing slows it. As
 * parsed no two of the faults do at once. */
double pod_inject_slowness(const pod_fault fault[], int n_faults, int rank, int64_t step);

#endif
