/* Faults that strike the training loop: what --fault asks of this rank as a step begins.
 *
 *     kill   without `write`: this process kills itself, as the system would for want of memory
 *     hang   it stops for ever, until a signal ends it
 *     nan    an element of its last weight is not a number: the loss will not be, on any rank
 *     slow   what its core computes takes `factor` times as long (pod_exec_set_slowness)
 *
 * The first three strike once in a job. Slow is not a blow but a state of the core: it holds in
 * every attempt, in the steps that it names. Faults of files are the saver's
 * (runtime/train/saver.h). */
#ifndef MINIPOD_RUNTIME_TRAIN_STRIKE_H
#define MINIPOD_RUNTIME_TRAIN_STRIKE_H

#include <stdbool.h>

#include "kernels/base/arena.h"
#include "runtime/core/fault.h"
#include "runtime/exec/exec.h"

/* E_INVALID: a fault of a rank that is not there, a core that is to be faster than it is, a
 * link. */
POD_MUST pod_status pod_strike_check(const pod_fault fault[], int n_faults, int n_ranks);

typedef struct pod_strike_args { /* borrowed while steps are struck */
    const pod_fault *fault;
    int n_faults;
    const bool *spent; /* (n_faults): struck in an earlier attempt */
    int rank;
    pod_store *store;
    pod_exec *exec; /* NULL: it has none to slow down */
    /* Called before a fault strikes, and when a slow one begins that is not spent. */
    void (*note)(void *to, int fault);
    void *to;
} pod_strike_args;

typedef struct pod_strike pod_strike;

/* In the arena. E_NOMEM. */
POD_MUST pod_status pod_strike_create(pod_arena *a, const pod_strike_args *args, pod_strike **out);

/* As step `step` begins, from 1: what is due for this rank strikes. May not return. Allocates
 * nothing. */
void pod_strike_step(pod_strike *s, int64_t step);

/* How many times as long the core of this rank takes in this step; 1 where nothing slows it. As
 * parsed no two of the faults do at once. */
double pod_strike_slowness(const pod_fault fault[], int n_faults, int rank, int64_t step);

#endif
