/* Draws random jobs from a mix: a CSV file with one row per class of jobs.
 *
 *     share    of the jobs of its machine; the shares of a machine sum to 1
 *     chips    of each job
 *     hours    mean training time
 *
 * Optional columns are machine, model, phase and priority; spread, the standard deviation of the
 * logarithm of the training time, which is log-normal (0: all the same); step_s (default 1) and
 * ideal_s; checkpoint_bytes; min_chips; and batch, instead of step_s and ideal_s: the caller then
 * finds the time of a step of the model.
 *
 * Jobs arrive at such a rate that on average they ask for `load` times the chip-time of their
 * machine's pods. */
#ifndef MINIPOD_RUNTIME_FLEET_JOBS_MIX_H
#define MINIPOD_RUNTIME_FLEET_JOBS_MIX_H

#include "runtime/fleet/jobs/jobs.h"

typedef struct pod_mix_class {
    const char *machine, *model, *phase;          /* "": not in the file */
    double share, hours, spread, step_s, ideal_s; /* ideal_s NaN: not known */
    int64_t chips, bytes, batch, min_chips;
    int priority, line;
} pod_mix_class;

typedef struct pod_mix {
    const char *name; /* of the file */
    int n;
    const pod_mix_class *row;
} pod_mix;

/* Read a mix into the arena. E_IO; E_FORMAT, naming file and line. */
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

/* Draws the jobs that are submitted up to the horizon, ordered by time. Rows that name no machine
 * belong to the first site. E_INVALID if a row names a machine that no site has, or if there are
 * more than 10 million jobs. */
POD_MUST pod_status pod_mix_draw(pod_arena *a, const pod_mix *m, const pod_mix_site site[],
                                 int n_sites, pod_arrivals arrivals, double load, pod_stamp horizon,
                                 uint64_t seed, pod_fleet_jobs *out);

#endif
