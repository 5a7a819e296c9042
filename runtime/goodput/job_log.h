/* Sums up, while it runs, how one rank spends its time in one attempt. Categories are named as in
 * ml-goodput-measurement 0.2.3.
 *
 * A job log adds up spans that follow one another, in nanoseconds. Time between spans is OTHER, so
 * that the categories sum to the wall time exactly. A step counts as productive once its progress
 * is kept: by a checkpoint, or by the end of training. Evaluation is a category of its own: it
 * belongs to the time to train, but is not productive in runtime goodput. */
#ifndef MINIPOD_RUNTIME_GOODPUT_JOB_LOG_H
#define MINIPOD_RUNTIME_GOODPUT_JOB_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/core/clock.h"

/* X(name, name in tables and files). The latter are those of ml-goodput-measurement, except
 * EVALUATION and SHUTDOWN. */
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

/* Returns whether the log has spans of this kind. LOST_STEP, RECOVERY, SHUTDOWN and OTHER are
 * computed from other records instead. */
bool pod_job_span_is_logged(pod_job_span s);
const char *pod_job_span_name(pod_job_span s); /* as in files */

typedef struct pod_job_step { /* a step that was done */
    int64_t step;             /* from 1 */
    pod_stamp begin, end;
    /* Durations within the step: waits for data, waits for all-reduces, copies for a checkpoint.
     * input and save do not overlap. */
    pod_stamp input, reduce, save;
    pod_stamp core_wait; /* ready to run, but without a core; 0: unknown */
} pod_job_step;

/* Returns the time of the step without waits for input and copies for a checkpoint. */
static inline pod_stamp pod_job_step_work(const pod_job_step *s)
{
    return s->end - s->begin - s->input - s->save;
}

enum {
    POD_JOB_SAVES = 8, /* incomplete saves that a log remembers */
    POD_JOB_EARLY = 8  /* spans that it remembers until a writer is attached */
};

typedef struct pod_job_mark {
    pod_job_span span;
    pod_stamp begin, end;
} pod_job_mark;

typedef struct pod_job_save { /* progress that was not kept when a save began */
    int64_t step, n_steps;
    pod_stamp work, until;
} pod_job_save;

struct pod_job_writer; /* job_file.h */

typedef struct pod_job_log {            /* a value; allocates nothing */
    pod_stamp begun, ended;             /* ended: 0 until pod_job_finish */
    pod_stamp by_span[POD_N_JOB_SPANS]; /* nanoseconds; OTHER is set by pod_job_finish */
    pod_stamp unsaved; /* time of steps that are not kept yet; part of by_span[STEP] */
    pod_stamp open_since;
    int open; /* the open span, or -1 */
    int64_t n_steps, n_unsaved;
    pod_job_step last;    /* the last step; before the first one, .step is that of pod_job_from */
    int64_t kept_step;    /* the last kept step */
    pod_stamp kept_until; /* steps that ended by then are kept */
    pod_job_save saves[POD_JOB_SAVES]; /* in flight, oldest first */
    int n_saves;
    struct pod_job_writer *writer; /* writes everything to a file; borrowed; NULL: none */
    pod_job_mark early[POD_JOB_EARLY];
    int n_early;
} pod_job_log;

pod_job_log pod_job_start(pod_stamp at); /* called first in a job */
/* Begins a span. End a span before the next begins; times never go back. Only for spans that are
 * logged (pod_job_span_is_logged). */
void pod_job_begin(pod_job_log *l, pod_job_span span, pod_stamp at);
/* Ends a span. For STEP: the step failed; it is not done, and its time is not kept. */
void pod_job_end(pod_job_log *l, pod_job_span span, pod_stamp at);
/* Ends the span STEP of a step that was done. `parts` has its number and durations; begin and end
 * are ignored, and durations are cut to the step's. */
void pod_job_end_step(pod_job_log *l, pod_job_step parts, pod_stamp at);
/* Moves time from one category to another, at most what is there: for example, the time of the
 * first step beyond a usual one from STEP to BUILD. */
void pod_job_move(pod_job_log *l, pod_job_span from, pod_job_span to, pod_stamp ns);

/* Call it before the first step, when weights are restored from a checkpoint of `step`; 0: new
 * weights. `ideal` is the ideal time of a step (goodput.h) in picoseconds; 0: unknown. */
void pod_job_from(pod_job_log *l, int64_t step, int64_t ideal, pod_stamp at);
/* Records that a save of the last step begins. */
void pod_job_save_begin(pod_job_log *l);
/* Records that the checkpoint of `step` is complete. If the log has forgotten that save, because
 * POD_JOB_SAVES others began after it, only the writer records it, and its steps are kept by the
 * next one. */
void pod_job_keep_step(pod_job_log *l, int64_t step, pod_stamp at);
void pod_job_keep(pod_job_log *l); /* training has ended well: all steps are kept */
/* Ends the log: steps that are not kept become LOST_STEP, time in no span becomes OTHER. */
void pod_job_finish(pod_job_log *l, pod_stamp at);

/* Attaches a writer, which receives the spans that have ended so far (at most POD_JOB_EARLY) and
 * everything from now on. */
void pod_job_attach(pod_job_log *l, struct pod_job_writer *w);

#endif
