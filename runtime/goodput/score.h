/* The score of a training that was repeated with other seeds: the time to its target as MLPerf takes
 * it from several runs (mlcommons/training_policies, "Benchmark Results"), and what statistics says
 * of them. Pure arithmetic. */
#ifndef MINIPOD_RUNTIME_GOODPUT_SCORE_H
#define MINIPOD_RUNTIME_GOODPUT_SCORE_H

#include <stdbool.h>

enum { POD_SCORE_LEAST_RUNS = 3, POD_SCORE_MAX_MISSES = 1 };

typedef struct pod_score {
    int n, n_reached;
    /* Without the fastest and the slowest the mean of the rest; one that missed the target is the
     * slowest. Of at least POD_SCORE_LEAST_RUNS runs, POD_SCORE_MAX_MISSES of which may miss. */
    bool is_valid;
    double score_s;
    double mean_s, least_s, most_s; /* of those that reached it, where there are any */
    double low_s, high_s;           /* the mean's 95 % interval by Student's t, of at least two */
} pod_score;

/* Seconds to the target of n runs, INFINITY where one missed it. */
pod_score pod_score_of(const double time_s[], int n);

/* Within +-t of 0 lies this share (0 < share < 1) of Student's distribution with `df` >= 1 degrees
 * of freedom. */
double pod_student_t(double share, int df);

#endif
