/* A job's categories (account.h) by stretches of its time. */
#ifndef MINIPOD_RUNTIME_GOODPUT_INTERVAL_H
#define MINIPOD_RUNTIME_GOODPUT_INTERVAL_H

#include "runtime/goodput/account.h"

typedef struct pod_interval { /* nanoseconds; the times of ranks summed */
    pod_stamp begin, end;
    pod_stamp wall;                     /* that ranks had in it */
    pod_stamp by_span[POD_N_JOB_SPANS]; /* sums to wall exactly */
    pod_stamp unsaved;                  /* in by_span[POD_JOB_STEP], and not productive */
    bool awaits_save;                   /* the job does (pod_account_awaits_save) */
} pod_interval;

/* Fills in what falls into each of the n intervals, which may overlap. What a step spent waiting
 * for input stands at its begin, what it spent saving at its end. `now` and status as
 * pod_account_of. */
POD_MUST pod_status pod_intervals_fill(const pod_job *j, pod_stamp now, pod_interval x[], int n);

/* Cuts begin to end into n parts, which differ by a nanosecond at most, and fills them. */
POD_MUST pod_status pod_intervals_cut(const pod_job *j, pod_stamp now, pod_stamp begin,
                                      pod_stamp end, pod_interval x[], int n);

pod_stamp pod_interval_productive(const pod_interval *x); /* of steps that are kept */
/* NaN: ranks had no time in it; the job has saved nothing yet. */
double pod_interval_goodput(const pod_interval *x);

#endif
