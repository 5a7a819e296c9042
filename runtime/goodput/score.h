/* The score of a training that was repeated with different seeds: the time to its target by
 * MLPerf's rule for several runs (mlcommons/training_policies, "Benchmark Results"), with mean and
 * confidence interval. Pure arithmetic. */
#ifndef MINIPOD_RUNTIME_GOODPUT_SCORE_H
#define MINIPOD_RUNTIME_GOODPUT_SCORE_H

#include <stdbool.h>

enum { POD_SCORE_LEAST_RUNS = 3, POD_SCORE_MAX_MISSES = 1 };

typedef struct pod_score {
    int n, n_reached;
    /* score_s is the mean without the fastest and the slowest run; a run that missed the target
     * counts as the slowest. Valid for at least POD_SCORE_LEAST_RUNS runs, of which at most
     * POD_SCORE_MAX_MISSES missed. */
    bool is_valid;
    double score_s;
    double mean_s, least_s, most_s; /* of the runs that reached the target, if any */
    double low_s, high_s;           /* 95 % interval of the mean by Student's t, of at least two
                                       runs */
} pod_score;

/* Computes the score from the seconds to the target of n runs, INFINITY for one that missed it. */
pod_score pod_score_of(const double time_s[], int n);

/* Returns the t such that `share` (0 < share < 1) of Student's distribution with `df` >= 1 degrees
 * of freedom is in [-t, t]. */
double pod_student_t(double share, int df);

#endif
