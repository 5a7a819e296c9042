/* Rows of `minipod fleet --validate`: what was published, and what is predicted. */
#ifndef MINIPOD_BENCH_FLEET_VALIDATE_H
#define MINIPOD_BENCH_FLEET_VALIDATE_H

#include "bench/fleet/fleet.h"

enum { POD_VALIDATION_ROWS = 64 };

typedef struct pod_validation_row {
    const char *what, *unit;
    double published, tolerance, predicted; /* predicted NaN: not at hand */
    const char *source;
} pod_validation_row;

typedef struct pod_validation {
    const char *traces; /* "": none */
    pod_arena *arena;
    pod_log *log;
    pod_validation_row row[POD_VALIDATION_ROWS];
    int n;
} pod_validation;

extern const char pod_in_faults[]; /* the folder of InfiniteHBD's trace */

void pod_validation_add(pod_validation *v, const char *what, const char *unit, double published,
                        double tolerance, double predicted, const char *source);
bool pod_validation_has(const pod_validation *v, const char *folder); /* with a trace */

/* validate_pods.c: what pods and clusters offer while hosts fail. */
POD_MUST pod_status pod_validation_add_pods(pod_validation *v);

#endif
