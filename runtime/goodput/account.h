/* Every second of a job, by category: from its log (job_file.h), over all ranks and attempts.
 *
 * An attempt has its ranks from its begin, as its launcher saw it or else as the first rank did, to
 * the next attempt's begin, or to the job's end behind the last one; the first from the begin of its
 * launch. One that ended as it should, well or because it was asked to stop, gives them back with
 * its last sign of life, and so does the last one of a launch: what lies between it and the next is
 * nobody's. So with 4 ranks for 10 s and then 2 ranks for 5 s the wall time is 4 x 10 + 2 x 5 = 50 s;
 * a rank's own is the sum over the attempts that have it.
 *
 * Each rank's time is cut into categories that sum to it in whole nanoseconds:
 *  - spans as the log has them; what lies between them is OTHER.
 *  - a step is productive but for its waits for input (DATA_LOADING_SYNC) and its copies for a
 *    checkpoint (UNPRODUCTIVE_CHECKPOINT_SAVE_TIME). What an attempt's first step takes beyond a
 *    usual one, the median of the others, is PROGRAM_STARTUP; in an attempt of one step, of those of
 *    another that did the same work with as many ranks.
 *  - steps beyond the one a later attempt went on from are lost: WASTED_PROGRESS_FROM_DISRUPTION
 *    instead of productive. So are, where no attempt went on, those that no checkpoint keeps, by
 *    the log or, of the last attempt, by the run's folder; unless it ended well, which keeps all.
 *  - an attempt that neither ended well nor was asked to stop was disrupted. What follows a rank's
 *    last whole step or span is then the step it was in, as long as a usual one at most, wasted;
 *    and up to where its next attempt's record begins INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION.
 *  - in an attempt that was not disrupted SHUTDOWN is from a rank's last word to where its launcher
 *    saw the end.
 *  - before the record of an attempt that follows no disruption it is TPU_INITIALIZATION.
 *
 * Runtime goodput = productive / wall, over all ranks (Wongpanich et al. 2025: progress that is
 * saved / time all ranks are allocated). Evaluation is not productive in it. */
#ifndef MINIPOD_RUNTIME_GOODPUT_ACCOUNT_H
#define MINIPOD_RUNTIME_GOODPUT_ACCOUNT_H

#include "runtime/goodput/job_file.h"

typedef struct pod_account {
    int n_ranks;                        /* of the attempt that had most; 1: a rank's account */
    int n_attempts, n_disruptions;      /* those whose ranks left no record included */
    bool runs;                          /* still, as far as the log tells */
    pod_stamp begin, end;               /* of the job */
    pod_stamp wall;                     /* time that ranks had, summed over them */
    pod_stamp by_span[POD_N_JOB_SPANS]; /* sums to wall exactly */
    /* Of a job that runs: steps that no checkpoint keeps yet. In by_span[POD_JOB_STEP], and not
     * productive. */
    pod_stamp unsaved;
    int64_t n_steps, n_lost_steps, n_unsaved_steps; /* kept; done and lost again; not kept yet */
    int64_t max_productive_step;                    /* the last one that is kept */
} pod_account;

/* All ranks. `now`: a job that may still run is accounted up to there; 0: it is over, and ended
 * with the latest time in its log. Of a job that job_file.h has read: each record is sound by itself.
 * E_FORMAT, naming attempt and rank: times that overlap or go back, ranks of an attempt that disagree, no rank's record at all; more time than 2^63 ns.
 * E_NOMEM. */
POD_MUST pod_status pod_account_of(const pod_job *j, pod_stamp now, pod_account *out);
/* One rank's. E_INVALID: no attempt has it. */
POD_MUST pod_status pod_account_rank(const pod_job *j, int rank, pod_stamp now, pod_account *out);

/* What rank 0 had as attempt `number`, which runs, began: the account up to there, progress that
 * the attempt does not go on from lost. The log must have the attempt's record; other ranks' are
 * not needed. */
POD_MUST pod_status pod_account_before(const pod_job *j, int number, pod_account *out);
/* An attempt's own log added to what was before it, {0} for nothing: without files, or while it
 * runs, up to `now` then. */
pod_account pod_account_add(const pod_account *before, const pod_job_log *l, pod_stamp now);

typedef struct pod_account_piece {
    int rank, ranks; /* of so many that its attempt has */
    int attempt;
    const char *mesh;   /* of the attempt, as its record has it */
    bool was_disrupted; /* the attempt, which is over */
    pod_job_span span;
    bool is_unsaved; /* of a STEP that no checkpoint keeps yet */
    int64_t ideal;   /* of a step of its attempt, picoseconds; 0: not known */
    pod_stamp begin, end;
} pod_account_piece;

/* Tells the pieces that pod_account_of adds up: each rank's cover its time without gaps, in order;
 * ranks one after the other, attempt by attempt. The work of a step is one piece. Status as
 * pod_account_of; some pieces may have been told when it fails. */
typedef void pod_account_piece_fn(void *ctx, const pod_account_piece *piece);
POD_MUST pod_status pod_account_walk(const pod_job *j, pod_stamp now, pod_account_piece_fn *tell,
                                     void *ctx);

/* What falls into each of n stretches of the job's time, from x[i].begin to x[i].end, which may
 * overlap: wall, by_span and unsaved; runs and steps are of the whole job. What a step spent waiting
 * for input stands at its begin, what it spent saving at its end. `now` and status as pod_account_of. */
POD_MUST pod_status pod_account_fill(const pod_job *j, pod_stamp now, pod_account x[], int n);
/* Cuts begin to end into n parts, which differ by a nanosecond at most, and fills them. */
POD_MUST pod_status pod_account_cut(const pod_job *j, pod_stamp now, pod_stamp begin, pod_stamp end,
                                    pod_account x[], int n);

pod_stamp pod_account_productive(const pod_account *a); /* of steps that are kept */
/* It runs, has done steps, and no checkpoint keeps any of them yet. */
bool pod_account_awaits_save(const pod_account *a);
double pod_account_runtime_goodput(const pod_account *a); /* NaN: no time; nothing saved yet */

#endif
