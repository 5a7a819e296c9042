/* What would have helped a job most, from its own log: each proposal with what it would have won.
 *
 * A gain is a share of the job's time, over all ranks; none is guessed: what the log does not tell
 * (how long another batch would take) is proposed with what it could win at most, and says so. */
#ifndef MINIPOD_RUNTIME_GOODPUT_ADVICE_H
#define MINIPOD_RUNTIME_GOODPUT_ADVICE_H

#include "runtime/goodput/account.h"
#include "runtime/goodput/straggler.h"

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
