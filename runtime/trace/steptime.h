/* Step statistics: from the rows of a timeline, whoever wrote it. */
#ifndef MINIPOD_RUNTIME_TRACE_STEPTIME_H
#define MINIPOD_RUNTIME_TRACE_STEPTIME_H

#include "runtime/core/spread.h"
#include "runtime/trace/timeline.h"

typedef struct pod_step_stats { /* all in seconds of one step */
    pod_spread step;
    pod_spread phase[POD_N_PHASES]; /* phase[POD_PHASE_REDUCE] is the all-reduce that was not
                                       hidden, phase[POD_PHASE_INPUT] the wait for data */
    pod_spread other;               /* the means of phases and other sum to the step's mean */
    pod_spread comm;                /* all-reduces in flight, hidden or not */
    int64_t n_dropped;              /* events that found no room */
} pod_step_stats;

/* Leave the first step after a start out of `rows`: it is startup. E_NOMEM. */
POD_MUST pod_status pod_step_stats_of(const pod_step_row *rows, int64_t n, pod_step_stats *out);

/* Of the whole time of the steps; 0 when there were none. */
double pod_step_share(const pod_step_stats *s, pod_phase phase);
double pod_step_share_other(const pod_step_stats *s);

#endif
