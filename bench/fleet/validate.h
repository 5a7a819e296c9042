/* The rows of `minipod fleet --validate`: published figures, each with the prediction. */
#ifndef MINIPOD_BENCH_FLEET_VALIDATE_H
#define MINIPOD_BENCH_FLEET_VALIDATE_H

#include "bench/fleet/fleet.h"

enum { POD_VALIDATION_ROWS = 64 };

typedef struct pod_validation_row {
    const char *what, *unit;
    double published, tolerance, predicted; /* predicted NaN: its trace is missing */
    const char *source;
} pod_validation_row;

typedef struct pod_validation {
    const char *traces; /* folder of the traces; "": none */
    pod_arena *arena;
    pod_log *log;
    pod_validation_row row[POD_VALIDATION_ROWS];
    int n;
} pod_validation;

extern const char pod_in_faults[]; /* the folder of InfiniteHBD's trace */

void pod_validation_add(pod_validation *v, const char *what, const char *unit, double published,
                        double tolerance, double predicted, const char *source);
bool pod_validation_has(const pod_validation *v, const char *folder); /* whether `traces` has it */

/* validate_pods.c: adds rows on the usable share of pods and clusters while hosts fail. */
POD_MUST pod_status pod_validation_add_pods(pod_validation *v);

#endif
