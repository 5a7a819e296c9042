/* The state of a training run, shared by the files that prepare it (train_prepare.c) and run it
 * (train.c, records.c, folder.c, guard.c). Private to this folder. */
#ifndef MINIPOD_RUNTIME_TRAIN_TRAINER_H
#define MINIPOD_RUNTIME_TRAIN_TRAINER_H

#include "collectives/exec/watch/vote.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/core/core_wait.h"
#include "runtime/core/file.h"
#include "runtime/exec/inject.h"
#include "runtime/goodput/goodput_live.h"
#include "runtime/search/translator.h"
#include "runtime/train/saver.h"
#include "runtime/train/train.h"

typedef struct pod__past {      /* what rank 0 found in the run's folder; the same on all ranks */
    int attempt;                /* number of this attempt, from 1 */
    pod_stamp begun;            /* when the job began: its launch, else the earliest attempt in its
                                   log */
    bool goes_on;               /* it resumes the job in its own folder */
    bool has_checkpoint;        /* there are checkpoints; those of this job, if goes_on */
    int64_t kept;               /* step of the newest checkpoint in the job's log; 0: none */
    bool spent[POD_MAX_FAULTS]; /* faults that happened */
} pod__past;

typedef struct pod__trainer {
    const pod_train_args *args;
    pod_train_result *result;
    pod_dataset *data;
    uint64_t data_fingerprint;
    pod_dataset_info trained; /* data set of the checkpoint that it resumes from; no classes:
                                 none */
    const pod_program *eval_program;
    pod_store *store;
    pod_exec *exec, *eval_exec;
    pod_translator *translator; /* NULL: the task has no search */
    pod_exec *search_exec[POD_SEARCH_N_PROGRAMS];
    pod_samples samples[POD_N_SPLITS];
    pod_feed feed, eval_feed;
    double
        run_began_s; /* run_start of the log, by `clock`; negative if an earlier attempt wrote it */
    pod_time loop_began;
    pod__past past;
    const char *resume; /* what to resume from; "": nothing */
    pod_job_writer *writer;
    pod_vote *vote;
    pod_saver *saver;       /* NULL: no checkpoints */
    pod_goodput_live *live; /* rank 0's; NULL without --out */
    pod_injection faults;   /* faults that happen at a step */
    bool is_slowed[POD_MAX_FAULTS];
    bool struck[POD_MAX_FAULTS]; /* faults of this rank in this attempt; the saver's thread sets it
                                    too */
    int64_t saved_step;          /* step of the last save; -1: none */
    pod_file *steps;             /* steps.csv, rank 0's; NULL without --out */
    bool steps_begun;
    int steps_failure; /* errno of the first write that failed; 0: none did */
    char mesh[POD_MESH_TEXT_BYTES];
    pod_ideal ideal;
    float lr, step_number; /* fed to the program */
    int32_t *draws;        /* likewise, one per sample of this rank */
    float *weights; /* likewise: the field that the loss is a mean over, divided by its sum */
    int64_t weights_per_sample;
    double n_tokens; /* that were fed, of a text; of this rank */
    pod_core_wait core_wait;
    bool epoch_is_open;       /* in mllog: an epoch_start without epoch_stop */
    bool is_evaluated;        /* in mllog: the evaluation after the last step is complete already */
    pod_eval_rows past_evals; /* evaluations of earlier attempts */
    pod_mllog_left left;
} pod__trainer;

static inline pod_time pod__train_now(const pod__trainer *t)
{
    return pod_clock_now(&t->args->clock);
}

static inline void pod__train_begin_span(const pod__trainer *t, pod_job_span s)
{
    pod_job_begin(t->args->job, s, pod_clock_stamp(&t->args->clock));
}

static inline void pod__train_end_span(const pod__trainer *t, pod_job_span s)
{
    pod_job_end(t->args->job, s, pod_clock_stamp(&t->args->clock));
}

/* Appends an evaluation to the result, and updates its best, peak and target. */
void pod__train_keep_evaluation(pod__trainer *t, const pod_eval_row *row);

/* Computes the metrics of the batch of the step that has just ended. */
void pod__train_measure_step(const pod__trainer *t, double metric[POD_MAX_METRICS]);

/* Prepares data, programs, weights, loaders and records. A span POD_JOB_BUILD is open at the call
 * and at the return. Collective. */
POD_MUST pod_status pod__train_prepare(pod__trainer *t);

/* Returns, before the first step, whether nothing is left to train. */
bool pod__train_is_done(const pod__trainer *t);
/* Returns the learning rate of a step; schedules follow the position in the data
 * (pod_schedule_place). */
double pod__train_lr_at(const pod__trainer *t, int64_t step);

/* records.c: mllog and steps.csv. A later attempt continues the files of the previous one. Both are
 * opened before either is changed, so that a run that cannot open one of them leaves the other as
 * it was. */
POD_MUST pod_status pod__records_begin(pod__trainer *t);
void pod__records_open_epoch(pod__trainer *t, int64_t step);    /* before a step */
void pod__records_put_step(pod__trainer *t);                    /* the step that has just ended */
void pod__records_close_epoch(pod__trainer *t, int64_t n_done); /* also after a failure */
void pod__records_tell_eval(const pod__trainer *t, const char *key, pod_mllog_value value,
                            int64_t n_done);
/* Returns whether the log has the complete run with its run_stop. It is not changed then until
 * pod__records_end. */
bool pod__records_are_told(const pod__trainer *t);
/* Ends the run in the log at the last evaluation, as time_to_target_s does: saving does not
 * count. */
POD_MUST pod_status pod__records_end(pod__trainer *t, bool success);
POD_MUST pod_status pod__records_close_steps(pod__trainer *t); /* E_WRITE if any row was not
                                                                  written; local */

/* folder.c. Finds which attempt this is, and what earlier ones left; called first. Changes nothing
 * in the folder, except that it creates checkpoint/. Collective. */
POD_MUST pod_status pod__folder_look_back(pod__trainer *t);
/* Called when the attempt begins. If it does not resume the job in its own folder, moves existing
 * checkpoints to checkpoint.old, or to checkpoint.old.2 and so on if that exists. If it does,
 * points `latest` to the checkpoint that it resumes from. Collective. */
POD_MUST pod_status pod__folder_begin(pod__trainer *t);
/* Returns whether it resumes from a checkpoint in its own folder. Checkpoints of later steps are
 * then removed when the first one of this attempt is complete. */
bool pod__folder_is_resumed(const pod__trainer *t);

/* guard.c, around the steps. All are collective except pod__guard_before_step. */
POD_MUST pod_status pod__guard_open(pod__trainer *t);
void pod__guard_close(pod__trainer *t);
/* Called before the first step, after weights are restored: begins the attempt's log and opens the
 * saver. */
POD_MUST pod_status pod__guard_arm(pod__trainer *t, const pod_checkpoint_info *info);
/* Injects the faults that are due. Steps count from 1. */
void pod__guard_before_step(pod__trainer *t, int64_t step);
/* Saves if a checkpoint is due. Returns whether the run shall stop after this step. */
bool pod__guard_after_step(pod__trainer *t, int64_t step);
/* Called after `step` steps. If the run went well, saves if that step is not saved yet. Waits for
 * saves in flight. Returns the status of the last save if the run went well, else OK. */
POD_MUST pod_status pod__guard_finish(pod__trainer *t, int64_t step, bool went_well);
/* Writes the last line of this attempt's log. Warns if the log is incomplete and, after a job that
 * ended well, of faults that never happened. */
void pod__guard_end(pod__trainer *t, pod_job_end_kind kind, const char *text);

#endif
