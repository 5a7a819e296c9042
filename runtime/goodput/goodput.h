/* Goodput: the share of a job's time that was progress (DESIGN section 7), as three factors, and
 * goodput.json.
 *
 * goodput.json, version 2, describes the whole job: all attempts, and when it has ended all ranks
 * (accounted_ranks). total_elapsed_time_s and the categories are sums over ranks. While the job
 * runs, rank 0 rewrites it (goodput_live.h). While a running job has no checkpoint of its steps
 * yet, runtime_goodput is null and "runtime_note" says why; a job that ended without one has 0. */
#ifndef MINIPOD_RUNTIME_GOODPUT_GOODPUT_H
#define MINIPOD_RUNTIME_GOODPUT_GOODPUT_H

#include "runtime/core/json.h"
#include "runtime/goodput/account.h"

typedef struct pod_ideal {     /* terms of program goodput */
    double model_flops;        /* of one step, global batch, from the unoptimised graph */
    double peak_flop_per_s;    /* of a core, at the run's precision; 0: unknown */
    int ranks, physical_cores; /* of all hosts */
    int cores_at_work;         /* cores that the ranks use at once, at most `ranks` */
    double median_step_s;
} pod_ideal;

typedef struct pod_goodput { /* NaN: unknown */
    double scheduling;       /* NaN: a job cannot measure it; fleet.h */
    double runtime;          /* time of kept steps / wall time of all ranks */
    double program;          /* ideal step time / median step time */
    double ideal_step_s;
    double wall_s, productive_s;
} pod_goodput;

/* Returns model_flops / (peak_flop_per_s cores_at_work); NaN if the peak is unknown. */
double pod_ideal_step_s(const pod_ideal *t);
pod_goodput pod_goodput_of(const pod_account *a, const pod_ideal *t);

/* Writes goodput.json: the three factors with their terms, and the categories in exact nanoseconds.
 * `clock` and `machine` are names. */
POD_MUST pod_status pod_goodput_write(const char *path, const char *clock, const char *machine,
                                      const pod_account *a, const pod_ideal *t);
/* Writes the same keys into an open object. */
void pod_goodput_put(pod_json *j, const char *clock, const char *machine, const pod_account *a,
                     const pod_ideal *t);

#endif
