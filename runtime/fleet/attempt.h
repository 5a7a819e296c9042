/* What a job does from when it holds all its chips until they fail or it ends, in closed form: the
 * twin of runtime/study/job_sim.h, which walks from event to event.
 *
 *   launch, init, prep, build[, restore] | steps save | steps save | ... | steps save | write
 *
 * Training stands still for a save, and what it copied is whole `write` later; a save waits for the
 * one before to be whole. Only a whole save keeps steps. */
#ifndef MINIPOD_RUNTIME_FLEET_ATTEMPT_H
#define MINIPOD_RUNTIME_FLEET_ATTEMPT_H

#include "runtime/study/job_sim.h"

typedef struct pod_attempt {
    const pod_job_sim_plan *plan; /* borrowed; its faults and its limit do not count here */
    int64_t n_before;             /* steps that a checkpoint has; 0: none */
    bool is_first;                /* its launch is initialization, a later one is recovery */
    pod_stamp copy;               /* of a job that is moved: its save, before the launch; else 0 */
} pod_attempt;

typedef struct pod_attempt_state {
    pod_stamp by_span[POD_N_JOB_SPANS]; /* sums to the time that passed; steps are in STEP */
    pod_stamp unkept;                   /* of STEP: what a failure now would lose */
    int64_t n_kept;                     /* steps that a checkpoint has now, n_before included */
    int64_t n_done;                     /* steps, those included */
    int64_t n_saves;                    /* that became whole */
} pod_attempt_state;

/* From its begin to its end without a failure. INT64_MAX / 2 if it is longer. */
pod_stamp pod_attempt_length(const pod_attempt *a);

/* What has happened after `elapsed`, at most its length. */
pod_attempt_state pod_attempt_at(const pod_attempt *a, pod_stamp elapsed);

#endif
