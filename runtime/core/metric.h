/* Metrics: what an evaluation finds beside the loss, by name. */
#ifndef MINIPOD_RUNTIME_CORE_METRIC_H
#define MINIPOD_RUNTIME_CORE_METRIC_H

#include <math.h>
#include <stdbool.h>

enum { POD_MAX_METRICS = 3 };

typedef struct pod_metric {
    const char *name; /* "accuracy"; a word */
    bool falls;       /* less is better */
    double best;      /* the best value that there can be: 1 of a share */
} pod_metric;

/* Returns whether `value` is better than `other`; any number is better than NaN. */
static inline bool pod_metric_is_better(const pod_metric *m, double value, double other)
{
    if (isnan(other)) return !isnan(value);
    return m->falls ? value < other : value > other;
}

#endif
