/* A mix of jobs as data, and jobs drawn from it.
 *
 * A CSV file has a row a class of jobs:
 *
 *     share    of the jobs of its machine; the shares of a machine sum to 1
 *     chips    of each
 *     hours    mean training time
 *
 * and, where it has these columns and the row has a text in them: machine, model, phase, priority;
 * spread (standard deviation of the logarithm of the training time, which is log-normal; 0: all the
 * same); step_s (1), ideal_s; checkpoint_bytes; min_chips; batch, instead of step_s and ideal_s: the caller finds
 * out what a step of the model takes.
 *
 * Jobs arrive so that they ask for `load` times the chip-time of their machine's pods. */
#ifndef MINIPOD_RUNTIME_FLEET_JOBS_MIX_H
#define MINIPOD_RUNTIME_FLEET_JOBS_MIX_H

#include "runtime/fleet/jobs/jobs.h"

typedef struct pod_mix_class {
    const char *machine, *model, *phase;          /* "" where the file does not say */
    double share, hours, spread, step_s, ideal_s; /* ideal_s NaN: not known */
    int64_t chips, bytes, batch, min_chips;
    int priority, line;
} pod_mix_class;

typedef struct pod_mix {
    const char *name; /* of the file */
    int n;
    const pod_mix_class *row;
} pod_mix;

/* In the arena. E_IO; E_FORMAT naming file and line. */
POD_MUST pod_status pod_mix_read(pod_arena *a, const char *path, pod_mix *out);
POD_MUST pod_status pod_mix_parse(pod_arena *a, const char *name, char *text, pod_mix *out);

typedef struct pod_mix_site { /* the pods of a machine */
    const char *machine;
    int64_t chips;
} pod_mix_site;

typedef enum pod_arrivals {
#define POD_ARRIVALS(name, about) POD_ARRIVALS_##name,
#include "runtime/fleet/jobs/arrivals.def"
    POD_N_ARRIVALS
} pod_arrivals;

int pod_arrivals_find(const char *name); /* -1: there is none */

/* Jobs that are submitted up to the horizon, by time. Rows that name no machine go to the first site.
 * E_INVALID: a row names one that is not there, or more than 10 million jobs. */
POD_MUST pod_status pod_mix_draw(pod_arena *a, const pod_mix *m, const pod_mix_site site[],
                                 int n_sites, pod_arrivals arrivals, double load, pod_stamp horizon,
                                 uint64_t seed, pod_fleet_jobs *out);

#endif
