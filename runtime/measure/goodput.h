/* Goodput: where the time of a job went, and what share of it was progress (DESIGN section 7; names
 * after ml-goodput-measurement 0.2.3).
 *
 * A job log adds up spans that follow one another, in nanoseconds. What lies between spans is
 * OTHER, so that the categories sum to the wall time exactly. A step counts as productive once its
 * progress is kept: by a checkpoint, or by the end of training. Evaluation is a category of its
 * own: it belongs to the time to train, and is not productive in runtime goodput. */
#ifndef MINIPOD_RUNTIME_MEASURE_GOODPUT_H
#define MINIPOD_RUNTIME_MEASURE_GOODPUT_H

#include <stdbool.h>

#include "kernels/base/status.h"
#include "runtime/core/clock.h"

/* X(name, name in files): the table prints the first category as ACCELERATOR_INITIALIZATION. */
#define POD_JOB_SPAN_MAP(X)                            \
    X(INIT, "TPU_INITIALIZATION")                      \
    X(PREP, "TRAINING_PREP")                           \
    X(BUILD, "PROGRAM_STARTUP")                        \
    X(STEP, "PRODUCTIVE_STEPS")                        \
    X(INPUT_WAIT, "DATA_LOADING_SYNC")                 \
    X(EVAL, "EVALUATION")                              \
    X(SAVE, "UNPRODUCTIVE_CHECKPOINT_SAVE_TIME")       \
    X(RESTORE, "UNPRODUCTIVE_CHECKPOINT_RESTORE_TIME") \
    X(LOST_STEP, "WASTED_PROGRESS_FROM_DISRUPTION")    \
    X(OTHER, "OTHER")

typedef enum pod_job_span {
#define POD_X(name, text) POD_JOB_##name,
    POD_JOB_SPAN_MAP(POD_X)
#undef POD_X
        POD_N_JOB_SPANS
} pod_job_span;

const char *pod_job_span_name(pod_job_span s); /* as files have it */
const char *pod_job_span_text(pod_job_span s); /* as tables have it */

typedef struct pod_job_log {            /* a value; takes no memory */
    pod_stamp begun, ended;             /* ended: 0 until pod_job_finish */
    pod_stamp by_span[POD_N_JOB_SPANS]; /* nanoseconds; OTHER is set by pod_job_finish */
    pod_stamp unsaved; /* of steps whose progress is not kept yet; within by_span[STEP] */
    pod_stamp open_since;
    int open; /* the span, or -1 */
    int64_t n_steps;
} pod_job_log;

pod_job_log pod_job_start(pod_stamp at); /* the first thing a job does */
/* Spans follow one another and times never go back: a span is ended before the next begins. Not for
 * OTHER and LOST_STEP. */
void pod_job_begin(pod_job_log *l, pod_job_span span, pod_stamp at);
void pod_job_end(pod_job_log *l, pod_job_span span, pod_stamp at);
/* Part of what was counted in one category belongs to another: a step's wait for input to
 * INPUT_WAIT, what the first step took beyond a usual one to BUILD. Moves what there is at most. */
void pod_job_move(pod_job_log *l, pod_job_span from, pod_job_span to, pod_stamp ns);
void pod_job_keep(pod_job_log *l); /* a checkpoint is complete, or training has ended well */
/* Ends the log: steps not kept become LOST_STEP, the rest OTHER. */
void pod_job_finish(pod_job_log *l, pod_stamp at);

typedef struct pod_ideal {  /* the terms of program goodput */
    double model_flops;     /* of one step: the whole global batch, from the unoptimised graph */
    double peak_flop_per_s; /* of a core, at the run's precision; 0: not known */
    int ranks, physical_cores;
    double median_step_s;
} pod_ideal;

typedef struct pod_goodput { /* NaN: not known */
    double scheduling;       /* one job alone does not know when it was asked for: not measured */
    double runtime;          /* time of kept steps / wall time of all ranks; of this attempt */
    double program;          /* ideal step time / median step time */
    double ideal_step_s;
    double wall_s, productive_s;
} pod_goodput;

/* model_flops / (peak x min(ranks, physical cores)); NaN when the peak is not known. */
double pod_ideal_step_s(const pod_ideal *t);
/* The log must be finished. */
pod_goodput pod_goodput_of(const pod_job_log *l, const pod_ideal *t);

/* goodput.json: the three factors with their terms, and the categories in exact nanoseconds.
 * `clock` and `machine` name them. */
POD_MUST pod_status pod_goodput_write(const char *path, const char *clock, const char *machine,
                                      const pod_job_log *l, const pod_ideal *t);

#endif
