/* Metrics: what an evaluation finds beside the loss, by name. */
#ifndef MINIPOD_RUNTIME_CORE_METRIC_H
#define MINIPOD_RUNTIME_CORE_METRIC_H

#include <stdbool.h>

enum { POD_MAX_METRICS = 3 };

typedef struct pod_metric {
    const char *name; /* "accuracy"; a word */
    bool falls;       /* less is better */
} pod_metric;

/* Returns whether `value` is better than `other`. No number is better than NaN, nor NaN than any. */
static inline bool pod_metric_is_better(const pod_metric *m, double value, double other)
{
    return m->falls ? value < other : value > other;
}

#endif
