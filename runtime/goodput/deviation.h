/* How far a job's steps stray from what they usually take (ml-goodput-measurement's step
 * deviation).
 *
 * A step takes as long as its slowest rank. The first step of each attempt is left out. */
#ifndef MINIPOD_RUNTIME_GOODPUT_DEVIATION_H
#define MINIPOD_RUNTIME_GOODPUT_DEVIATION_H

#include "runtime/goodput/job_file.h"

enum { POD_DEVIATION_RECENT = 100, POD_DEVIATION_BASELINE = 1000 };

typedef struct pod_deviation { /* seconds; NaN where there were no steps */
    int64_t n_steps, n_recent, n_baseline;
    double median_s;
    double undisturbed_s; /* what a step takes undisturbed: the mean of those within three of the
                          median's absolute deviations of the median */
    double recent_s;      /* 90 % of the last 100 steps take no longer */
    double baseline_s;    /* median of the last 1,000 */
    double deviation;     /* recent / baseline - 1 */
} pod_deviation;

/* E_NOMEM. */
POD_MUST pod_status pod_deviation_of(const pod_job *j, pod_deviation *out);
/* The same of n steps as they followed one another. */
POD_MUST pod_status pod_deviation_of_steps(const double step_s[], int64_t n, pod_deviation *out);

#endif
