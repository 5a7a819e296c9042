/* The account of a job: divides the time of all its ranks and attempts into categories, from its
 * log (job_file.h).
 *
 * The ranks of an attempt count from its begin, as its launcher or else its first rank recorded it
 * (for the first attempt: from the begin of the launch), to the begin of the next attempt or, for
 * the last one, to the end of the job. In an attempt that ended well or was asked to stop, and in
 * the last attempt of a launch, they count only until the last time in its records; the time from
 * then to the next attempt does not count. So with 4 ranks for 10 s and then 2 ranks for 5 s the
 * wall time is 4 x 10 + 2 x 5 = 50 s. The wall time of one rank is the sum over the attempts that
 * have it.
 *
 * The time of each rank is divided into categories that sum to it in whole nanoseconds:
 *
 *  - Spans have the category in the log; time between them is OTHER.
 *  - A step is productive except for its waits for input (DATA_LOADING_SYNC) and its copies for a
 *    checkpoint (UNPRODUCTIVE_CHECKPOINT_SAVE_TIME). The time that the first step of an attempt
 *    takes beyond a usual one is PROGRAM_STARTUP. A usual step is the median of the other steps of
 *    the attempt or, if there are none, of another attempt with the same work and ranks.
 *  - Steps after the one from which a later attempt resumed are lost: they count as
 *    WASTED_PROGRESS_FROM_DISRUPTION. If no attempt resumed, so are the steps that no checkpoint
 *    has, by the log or, for the last attempt, by the run's folder, unless it ended well.
 *  - An attempt that neither ended well nor was asked to stop was disrupted. After a rank's last
 *    complete step or span, the time of at most a usual step is wasted; the rest, until the record
 *    of the rank's next attempt begins, is INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION.
 *  - In an attempt that was not disrupted, the time from a rank's last record to the end that the
 *    launcher recorded is SHUTDOWN.
 *  - The time before the record of an attempt that follows no disruption is TPU_INITIALIZATION.
 *
 * Runtime goodput = productive / wall, over all ranks (Wongpanich et al. 2025: saved progress /
 * time in which all ranks are allocated). Evaluation does not count as productive. */
#ifndef MINIPOD_RUNTIME_GOODPUT_ACCOUNT_H
#define MINIPOD_RUNTIME_GOODPUT_ACCOUNT_H

#include "runtime/goodput/job_file.h"

typedef struct pod_account {
    int n_ranks;                        /* of the attempt with most; 1 in the account of one rank */
    int n_attempts, n_disruptions;      /* also those without a record of any rank */
    bool runs;                          /* the job still runs, by its log */
    pod_stamp begin, end;               /* of the job */
    pod_stamp wall;                     /* sum over ranks of the time that they were allocated */
    pod_stamp by_span[POD_N_JOB_SPANS]; /* sums to wall exactly */
    /* In a running job, the time of steps that no checkpoint has yet. It is part of
     * by_span[POD_JOB_STEP], but not productive. */
    pod_stamp unsaved;
    int64_t n_steps, n_lost_steps, n_unsaved_steps; /* kept; lost; not saved yet */
    int64_t max_productive_step;                    /* the last kept step */
} pod_account;

/* Computes the account of all ranks, of a job that pod_job_read returned. A job that may still run
 * is accounted up to `now`; now 0: it is over, and ended at the latest time in its log. E_FORMAT,
 * naming attempt and rank, if times overlap or go back, if ranks of an attempt disagree, if there
 * is no record of any rank, or for more than 2^63 ns; E_NOMEM. */
POD_MUST pod_status pod_account_of(const pod_job *j, pod_stamp now, pod_account *out);
/* Computes the account of one rank. E_INVALID if no attempt has that rank. */
POD_MUST pod_status pod_account_rank(const pod_job *j, int rank, pod_stamp now, pod_account *out);

/* Computes the account of rank 0 up to the begin of attempt `number`, which runs; progress that the
 * attempt does not resume from is lost. The log must have rank 0's record of that attempt; records
 * of other ranks are not needed. */
POD_MUST pod_status pod_account_before(const pod_job *j, int number, pod_account *out);
/* Returns the account before an attempt, {0} for none, plus the attempt's log in memory; if the
 * attempt runs, up to `now`. */
pod_account pod_account_add(const pod_account *before, const pod_job_log *l, pod_stamp now);

typedef struct pod_account_piece {
    int rank, ranks; /* ranks: of the attempt */
    int attempt;
    const char *mesh;   /* of the attempt */
    bool was_disrupted; /* the attempt is over and was disrupted */
    pod_job_span span;
    bool is_unsaved; /* a STEP that no checkpoint has yet */
    int64_t ideal;   /* ideal time of a step of the attempt, picoseconds; 0: unknown */
    pod_stamp begin, end;
} pod_account_piece;

/* Calls `tell` with every piece that pod_account_of adds up: attempt by attempt, rank by rank, in
 * the order of time and without gaps. The work of a step is one piece. Fails like pod_account_of,
 * perhaps after some calls. */
typedef void pod_account_piece_fn(void *ctx, const pod_account_piece *piece);
POD_MUST pod_status pod_account_walk(const pod_job *j, pod_stamp now, pod_account_piece_fn *tell,
                                     void *ctx);

/* Sets wall, by_span and unsaved of each of n intervals of the job's time, from x[i].begin to
 * x[i].end, which may overlap; runs and steps are those of the whole job. Within a step, the wait
 * for input counts as its beginning and saving as its end. `now` and status as in
 * pod_account_of. */
POD_MUST pod_status pod_account_fill(const pod_job *j, pod_stamp now, pod_account x[], int n);
/* The same for n intervals of equal length, to a nanosecond, from begin to end. */
POD_MUST pod_status pod_account_cut(const pod_job *j, pod_stamp now, pod_stamp begin, pod_stamp end,
                                    pod_account x[], int n);

pod_stamp pod_account_productive(const pod_account *a); /* time of kept steps */
/* Returns whether the job runs, has done steps, and no checkpoint has any of them yet. */
bool pod_account_awaits_save(const pod_account *a);
double pod_account_runtime_goodput(const pod_account *a); /* NaN without time, or if
                                                             pod_account_awaits_save */

#endif
