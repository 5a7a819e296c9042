/* What one rank did with its time in one attempt, summed up as it goes; names after
 * ml-goodput-measurement 0.2.3.
 *
 * A job log adds up spans that follow one another, in nanoseconds. What lies between spans is
 * OTHER, so that the categories sum to the wall time exactly. A step counts as productive once its
 * progress is kept: by a checkpoint, or by the end of training. Evaluation is a category of its
 * own: it belongs to the time to train, and is not productive in runtime goodput. */
#ifndef MINIPOD_RUNTIME_GOODPUT_JOB_LOG_H
#define MINIPOD_RUNTIME_GOODPUT_JOB_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/core/clock.h"

/* X(name, name in tables and files), those of ml-goodput-measurement. EVALUATION and SHUTDOWN are names of our own. */
#define POD_JOB_SPAN_MAP(X)                                \
    X(INIT, "TPU_INITIALIZATION")                          \
    X(PREP, "TRAINING_PREP")                               \
    X(BUILD, "PROGRAM_STARTUP")                            \
    X(STEP, "PRODUCTIVE_STEPS")                            \
    X(INPUT_WAIT, "DATA_LOADING_SYNC")                     \
    X(EVAL, "EVALUATION")                                  \
    X(SAVE, "UNPRODUCTIVE_CHECKPOINT_SAVE_TIME")           \
    X(RESTORE, "UNPRODUCTIVE_CHECKPOINT_RESTORE_TIME")     \
    X(LOST_STEP, "WASTED_PROGRESS_FROM_DISRUPTION")        \
    X(RECOVERY, "INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION") \
    X(SHUTDOWN, "SHUTDOWN")                                \
    X(OTHER, "OTHER")

typedef enum pod_job_span {
#define POD_X(name, text) POD_JOB_##name,
    POD_JOB_SPAN_MAP(POD_X)
#undef POD_X
        POD_N_JOB_SPANS
} pod_job_span;

/* Not worked out from other records: LOST_STEP, RECOVERY, SHUTDOWN, OTHER are. */
bool pod_job_span_is_logged(pod_job_span s);
const char *pod_job_span_name(pod_job_span s); /* as files have it */

typedef struct pod_job_step { /* a step that was done */
    int64_t step;             /* from 1 */
    pod_stamp begin, end;
    /* Parts of it, how long: waits for data, waits for all-reduces, copies to save. Input and save
     * do not overlap. */
    pod_stamp input, reduce, save;
    pod_stamp core_wait; /* anywhere in it: could have run and got no core; 0: not known */
} pod_job_step;

/* What is neither a wait for input nor a copy to save. */
static inline pod_stamp pod_job_step_work(const pod_job_step *s)
{
    return s->end - s->begin - s->input - s->save;
}

enum {
    POD_JOB_SAVES = 8, /* that a log knows of while they are not whole */
    POD_JOB_EARLY = 8  /* spans that it keeps for a writer that comes later */
};

typedef struct pod_job_mark {
    pod_job_span span;
    pod_stamp begin, end;
} pod_job_mark;

typedef struct pod_job_save { /* what there was to keep as a save began */
    int64_t step, n_steps;
    pod_stamp work, until;
} pod_job_save;

struct pod_job_writer; /* job_file.h */

typedef struct pod_job_log {            /* a value; takes no memory */
    pod_stamp begun, ended;             /* ended: 0 until pod_job_finish */
    pod_stamp by_span[POD_N_JOB_SPANS]; /* nanoseconds; OTHER is set by pod_job_finish */
    pod_stamp unsaved; /* of steps whose progress is not kept yet; within by_span[STEP] */
    pod_stamp open_since;
    int open; /* the span, or -1 */
    int64_t n_steps, n_unsaved;
    pod_job_step last;    /* the last step; .step is from where it went on before there is one */
    int64_t kept_step;    /* the last one that is kept */
    pod_stamp kept_until; /* steps that ended by then are */
    pod_job_save saves[POD_JOB_SAVES]; /* in flight, oldest first */
    int n_saves;
    struct pod_job_writer *writer; /* is told of all of it; borrowed; NULL: none */
    pod_job_mark early[POD_JOB_EARLY];
    int n_early;
} pod_job_log;

pod_job_log pod_job_start(pod_stamp at); /* the first thing a job does */
/* Spans follow one another and times never go back: a span is ended before the next begins. Only
 * for what is logged (pod_job_span_is_logged). */
void pod_job_begin(pod_job_log *l, pod_job_span span, pod_stamp at);
/* STEP: one that failed; it is not done, and its time not kept. */
void pod_job_end(pod_job_log *l, pod_job_span span, pod_stamp at);
/* Ends the span STEP of a step that was done: number and parts of it. Begin and end are filled in,
 * parts that are longer than the step cut. */
void pod_job_end_step(pod_job_log *l, pod_job_step parts, pod_stamp at);
/* Part of what was counted in one category belongs to another: what the first step took beyond a
 * usual one to BUILD. Moves what there is at most. */
void pod_job_move(pod_job_log *l, pod_job_span from, pod_job_span to, pod_stamp ns);

/* Weights are there: goes on behind `step`; 0: from new. Before the first step. `ideal` is what a
 * step would take of each rank at the peak (goodput.h), in picoseconds; 0: not known. */
void pod_job_from(pod_job_log *l, int64_t step, int64_t ideal, pod_stamp at);
/* A save of what is done so far begins; its step is the last one's. */
void pod_job_save_begin(pod_job_log *l);
/* The save of that step is whole. Of one that is not known, since POD_JOB_SAVES others began behind
 * it, only the writer is told: what it kept waits for the next. */
void pod_job_keep_step(pod_job_log *l, int64_t step, pod_stamp at);
void pod_job_keep(pod_job_log *l); /* training has ended well: all of it */
/* Ends the log: steps not kept become LOST_STEP, the rest OTHER. */
void pod_job_finish(pod_job_log *l, pod_stamp at);

/* From now on `w` is told; of the spans that ended so far it is told at once. */
void pod_job_attach(pod_job_log *l, struct pod_job_writer *w);

#endif
