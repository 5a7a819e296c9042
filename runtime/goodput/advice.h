/* Proposes what would have helped a job most, from its log: each proposal with its gain.
 *
 * A gain is a share of the job's time, over all ranks. No gain is guessed: if the log cannot tell
 * it (the step time of another batch size, for example), the proposal gives an upper bound and says
 * so. */
#ifndef MINIPOD_RUNTIME_GOODPUT_ADVICE_H
#define MINIPOD_RUNTIME_GOODPUT_ADVICE_H

#include "runtime/goodput/account.h"
#include "runtime/goodput/straggler.h"

/* ---- the saves of a job, over all ranks and attempts ---- */

typedef struct pod_saves { /* during training, unless noted */
    int64_t n;             /* saves, each rank's counted: all ranks take part in a checkpoint */
    double cost_s;         /* training waited: for a copy, or until the file was complete */
    double steps_s;
    int64_t n_steps;
    int64_t n_kept;   /* complete checkpoints */
    int64_t n_seen;   /* of these, those with a step after them */
    int64_t n_sync;   /* of the seen ones, complete before that step began */
    double writing_s; /* of the seen ones, from the end of their step until complete */

    int64_t n_begun;  /* checkpoints begun, also those at the end of an attempt */
    int64_t n_failed; /* never completed, although their attempt continued */
    /* Time, over ranks, of steps that a disruption cost and that a failed checkpoint would have
     * saved. */
    double failed_s;
    int64_t n_failed_steps;
} pod_saves;

pod_saves pod_saves_of(const pod_job *j);

/* ---- proposals ---- */

enum { POD_MAX_ADVICE = 3 };
#define POD_ADVICE_LEAST 0.01 /* of the job's time: smaller gains are not proposed */

typedef struct pod_advice {
    double gain;      /* share of the job's time */
    const char *text; /* one line, in the arena */
} pod_advice;

/* Sets out to at most POD_MAX_ADVICE proposals, the largest gain first, and *n to their number.
 * E_NOMEM. */
POD_MUST pod_status pod_advise(pod_arena *a, const pod_job *j, const pod_account *sum,
                               const pod_stragglers *s, pod_advice out[POD_MAX_ADVICE], int *n);

#endif
