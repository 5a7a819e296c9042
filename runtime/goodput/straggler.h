/* Finds which rank is slow, and which ranks only wait for it, from a job's log (job_file.h).
 *
 * A step takes equally long on all ranks, because each waits in its all-reduces for the last one.
 * What differs is a rank's own time: step - waits for all-reduces - waits for input - copies for a
 * checkpoint. It is reduced by the share of the step in which the rank waited for a core, if the
 * log has that. In each step it is compared with the median of the other ranks' own times, so that
 * what slows down all ranks does not count, and up to half of the ranks may be slow.
 *
 * A rank is slow if the median of (own time / median of the others) is at least
 * POD_STRAGGLER_LEAST, and above what the scatter of ranks (median absolute deviation) makes likely
 * by chance: in a range of steps, found by a cumulative sum with a drift (Page, 1954), or in all
 * steps. In 1,000 jobs of 60 steps with equal ranks none was named; a rank that takes 1.5 times as
 * long is found within 60 steps if own times scatter by up to 10 %.
 *
 * Scores are those of NVIDIA's resiliency extension: 1 is as fast as expected, 0.5 half as fast; it
 * calls a rank below 0.7 a straggler. */
#ifndef MINIPOD_RUNTIME_GOODPUT_STRAGGLER_H
#define MINIPOD_RUNTIME_GOODPUT_STRAGGLER_H

#include <stdbool.h>

#include "runtime/goodput/job_file.h"

#define POD_STRAGGLER_LEAST 1.05 /* times the median of the others: less is never named */

enum { POD_STRAGGLER_MIN_STEPS = 16 }; /* with fewer steps no rank is named */

typedef struct pod_rank_pace {
    double own_s, reduce_s, input_s, core_wait_s; /* medians over steps */
    double relative;   /* score: median of the others / own, at most 1; of a slow rank in its slow
                          range */
    double individual; /* score: earlier own times / the last ones, at most 1; or outside / in its
                          slow range */
    bool is_slow;
    bool is_throughout;  /* over all steps, not in a range of them only */
    int64_t from, until; /* the steps in which it is slow, both included; 0: none */
    double factor;       /* own / median of the others there; 1 if not slow */
    int waits_for;       /* the slow rank for which it waits longest; -1: none */
    double waits_s;      /* wait for slow ranks per step, mean over the compared steps */
} pod_rank_pace;

typedef struct pod_stragglers {
    int n_ranks, n_slow;
    int64_t n_steps;           /* compared steps: those of attempts with n_ranks ranks */
    const pod_rank_pace *rank; /* (n_ranks), in the arena; NULL: nothing to compare */
    double scatter;            /* relative scatter of own times: 0.1 is 10 % */
    double steps_s;            /* total time of the compared steps */
    double gain_s;             /* saving if the slow ranks were as fast as the others */
    double exposed_s;          /* time in which every rank waits for all-reduces: the least over
                                  ranks */
} pod_stragglers;

/* Compares the ranks of a job. Names none with fewer than POD_STRAGGLER_MIN_STEPS steps or with one
 * rank. The first step of each attempt is skipped. E_NOMEM. */
POD_MUST pod_status pod_stragglers_of(pod_arena *a, const pod_job *j, pod_stragglers *out);

/* ---- step deviation, as in ml-goodput-measurement: how much longer recent steps take than usual.
 * A step takes as long as its slowest rank; the first of each attempt is skipped ---- */

enum { POD_DEVIATION_RECENT = 100, POD_DEVIATION_BASELINE = 1000 };

typedef struct pod_deviation { /* seconds; NaN without steps */
    int64_t n_steps, n_recent, n_baseline;
    double median_s;
    double undisturbed_s; /* mean of the steps within three median absolute deviations of the
                             median */
    double recent_s;      /* 90th percentile of the last 100 steps */
    double baseline_s;    /* median of the last 1,000 steps */
    double deviation;     /* recent / baseline - 1 */
} pod_deviation;

/* E_NOMEM. */
POD_MUST pod_status pod_deviation_of(const pod_job *j, pod_deviation *out);
/* The same for n steps in their order. */
POD_MUST pod_status pod_deviation_of_steps(const double step_s[], int64_t n, pod_deviation *out);

#endif
