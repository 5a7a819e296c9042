/* What would have helped a job most, from its own log: each proposal with what it would have won.
 *
 * A gain is a share of the job's time, over all ranks; none is guessed: what the log does not tell
 * (how long another batch would take) is proposed with what it could win at most, and says so. */
#ifndef MINIPOD_RUNTIME_GOODPUT_ADVICE_H
#define MINIPOD_RUNTIME_GOODPUT_ADVICE_H

#include "runtime/goodput/account.h"
#include "runtime/goodput/straggler.h"

/* ---- what its saves took and came to, over all ranks and attempts ---- */

typedef struct pod_saves { /* while training went on, where nothing else is said */
    int64_t n;             /* of a rank; all ranks take part in a checkpoint */
    double cost_s;         /* training stood still: for a copy, or until the file was whole */
    double steps_s;
    int64_t n_steps;
    int64_t n_kept;   /* checkpoints that became whole */
    int64_t n_seen;   /* of these, behind which a step came */
    int64_t n_sync;   /* which were whole before it began */
    double writing_s; /* of the seen ones, from the end of their step */

    int64_t n_begun;  /* checkpoints, those at an attempt's end too */
    int64_t n_failed; /* that never became whole, though their attempt lived on */
    /* Rank time of steps that a disruption cost, and that a failed checkpoint had kept. */
    double failed_s;
    int64_t n_failed_steps;
} pod_saves;

pod_saves pod_saves_of(const pod_job *j);

/* ---- proposals ---- */

enum { POD_MAX_ADVICE = 3 };
#define POD_ADVICE_LEAST 0.01 /* of the job's time: less is not said */

typedef struct pod_advice {
    double gain;      /* share of the job's time */
    const char *text; /* one line, in the arena */
} pod_advice;

/* At most POD_MAX_ADVICE, the largest gain first; *n says how many. E_NOMEM. */
POD_MUST pod_status pod_advise(pod_arena *a, const pod_job *j, const pod_account *sum,
                               const pod_stragglers *s, pod_advice out[POD_MAX_ADVICE], int *n);

#endif
