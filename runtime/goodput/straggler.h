/* Which rank is slow, and which ranks only wait for it: from a job's log (job_file.h).
 *
 * All ranks take as long for a step, since each waits in its all-reduces for the last one. What
 * tells them apart is a rank's own time: step - waits for all-reduces - waits for input - copies to
 * save, and without the share of it in which others had the cores, where the log tells. It is
 * compared step by step with the median of the other ranks' own times, so that what slows all of
 * them does not count, and up to half of the ranks may be slow.
 *
 * A rank is slow where the median of its own times against the others' is at least
 * POD_STRAGGLER_LEAST, and above what chance makes of the scatter that ranks have (median absolute
 * deviation): in a stretch of steps, which a cumulative sum with a drift finds (Page, 1954), or in
 * all of them. Of ranks that are alike none is named in 1,000 jobs of 60 steps; one that takes 1.5
 * times as long is by then, where own times scatter by up to 10 %.
 *
 * Scores are those of NVIDIA's resiliency extension, 1: as fast as it should be, 0.5: half as fast;
 * there a rank below 0.7 is called a straggler. */
#ifndef MINIPOD_RUNTIME_GOODPUT_STRAGGLER_H
#define MINIPOD_RUNTIME_GOODPUT_STRAGGLER_H

#include <stdbool.h>

#include "runtime/goodput/job_file.h"

#define POD_STRAGGLER_LEAST 1.05 /* times the median of the others: less is never named */

enum { POD_STRAGGLER_MIN_STEPS = 16 }; /* fewer tell nothing */

typedef struct pod_rank_pace {
    double own_s, reduce_s, input_s, core_wait_s; /* medians of a step */
    double relative;   /* median of the others / own; in its slow stretch where it has one */
    double individual; /* its own times before / the last ones; or outside / in its slow stretch */
    bool is_slow;
    bool is_throughout;  /* slow in all steps, or nearly */
    int64_t from, until; /* the steps in which it is slow, both included; 0 where it is not */
    double factor;       /* own / median of the others there; 1 where it is not slow */
    int waits_for;       /* the slow rank that costs this one most; -1: none */
    double waits_s;      /* for slow ranks, mean of the compared steps */
} pod_rank_pace;

typedef struct pod_stragglers {
    int n_ranks, n_slow;
    int64_t n_steps;           /* that were compared: those of attempts with so many ranks */
    const pod_rank_pace *rank; /* (n_ranks), in the arena; NULL: nothing to compare */
    double scatter;            /* of the ranks' own times round each other's: 0.1 is 10 % */
    double steps_s;            /* all compared steps */
    double gain_s;             /* of these, were the slow ranks as fast as the others */
    double exposed_s; /* of these, all-reduces that every rank waits for: the least of the ranks */
} pod_stragglers;

/* Compares what there is: n_steps < POD_STRAGGLER_MIN_STEPS or one rank alone name nobody. The
 * first step of each attempt is left out. E_NOMEM. */
POD_MUST pod_status pod_stragglers_of(pod_arena *a, const pod_job *j, pod_stragglers *out);

/* ---- how far a job's steps stray from what they usually take (ml-goodput-measurement's step
 * deviation): a step takes as long as its slowest rank; the first of each attempt is left out ---- */

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
