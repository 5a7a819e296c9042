/* An attempt of a job, in closed form: what the job does from the time when it holds all its chips
 * until one of them fails or the job ends. runtime/study/job_sim.h simulates the same event by
 * event.
 *
 *   launch, init, prep, build[, restore] | steps save | steps save | ... | steps save | write
 *
 * Training stops during a save; the checkpoint is complete `write` later. A save waits until the
 * previous checkpoint is complete. After a failure only the steps in a complete checkpoint are
 * left. */
#ifndef MINIPOD_RUNTIME_FLEET_ATTEMPT_H
#define MINIPOD_RUNTIME_FLEET_ATTEMPT_H

#include "runtime/study/job_sim.h"

typedef struct pod_attempt {
    const pod_job_sim_plan *plan; /* borrowed; its faults and its limit are ignored */
    int64_t n_before;             /* steps in the checkpoint that it resumes from; 0: none */
    bool is_first;  /* its launch counts as initialization, that of a later attempt as recovery */
    pod_stamp copy; /* of a job that is moved: the time to save it, before the launch; else 0 */
} pod_attempt;

typedef struct pod_attempt_state {
    pod_stamp by_span[POD_N_JOB_SPANS]; /* sums to `elapsed`; all steps are in STEP */
    pod_stamp unkept;                   /* the part of STEP that a failure now would lose */
    int64_t n_kept;                     /* steps in a complete checkpoint, n_before included */
    int64_t n_done;                     /* complete steps, n_before included */
    int64_t n_saves;                    /* checkpoints completed in this attempt */
} pod_attempt_state;

/* Returns the time from the begin to the end of the job without a failure; at most INT64_MAX/2. */
pod_stamp pod_attempt_length(const pod_attempt *a);

/* Returns the state after `elapsed`, which is at most pod_attempt_length. */
pod_attempt_state pod_attempt_at(const pod_attempt *a, pod_stamp elapsed);

#endif
