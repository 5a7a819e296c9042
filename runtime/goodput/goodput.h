/* Goodput: where the time of a job went, and what share of it was progress (DESIGN section 7): its
 * factors, and goodput.json.
 *
 * goodput.json, version 2, is of the whole job: all attempts, and at its end all ranks
 * (accounted_ranks); total_elapsed_time and the categories are summed over them. While the job runs
 * rank 0 rewrites it (goodput_live.h); while nothing is saved yet runtime_goodput is null, and
 * "runtime_note" says so. */
#ifndef MINIPOD_RUNTIME_GOODPUT_GOODPUT_H
#define MINIPOD_RUNTIME_GOODPUT_GOODPUT_H

#include "runtime/core/json.h"
#include "runtime/goodput/account.h"

typedef struct pod_ideal {     /* the terms of program goodput */
    double model_flops;        /* of one step: the whole global batch, from the unoptimised graph */
    double peak_flop_per_s;    /* of a core, at the run's precision; 0: not known */
    int ranks, physical_cores; /* of all hosts */
    int cores_at_work;         /* cores that the ranks have at a time; no more than ranks */
    double median_step_s;
} pod_ideal;

typedef struct pod_goodput { /* NaN: not known */
    double scheduling;       /* one job alone does not know when it was asked for: not measured */
    double runtime;          /* time of kept steps / wall time of all ranks */
    double program;          /* ideal step time / median step time */
    double ideal_step_s;
    double wall_s, productive_s;
} pod_goodput;

/* model_flops / (peak x cores at work); NaN when the peak is not known. */
double pod_ideal_step_s(const pod_ideal *t);
pod_goodput pod_goodput_of(const pod_account *a, const pod_ideal *t);

/* goodput.json: the three factors with their terms, and the categories in exact nanoseconds.
 * `clock` and `machine` name them. */
POD_MUST pod_status pod_goodput_write(const char *path, const char *clock, const char *machine,
                                      const pod_account *a, const pod_ideal *t);
/* The same keys into an object that is open. */
void pod_goodput_put(pod_json *j, const char *clock, const char *machine, const pod_account *a,
                     const pod_ideal *t);

#endif
