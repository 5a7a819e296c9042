/* A training run in progress, for the files of runtime/train that carry it out: prepared
 * (train_prepare.c), run and measured (train.c). */
#ifndef MINIPOD_RUNTIME_TRAIN_TRAINER_H
#define MINIPOD_RUNTIME_TRAIN_TRAINER_H

#include "collectives/exec/watch/vote.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/core/core_wait.h"
#include "runtime/core/file.h"
#include "runtime/exec/inject.h"
#include "runtime/goodput/goodput_live.h"
#include "runtime/train/saver.h"
#include "runtime/train/train.h"

typedef struct pod__past { /* what rank 0 finds in the run's folder, for all */
    int attempt;           /* this one's number, from 1 */
    pod_stamp begun;       /* the job's: its launch, else rank 0's record of attempt 1; the same in
                               each of its attempts, as far as is known */
    bool goes_on;          /* from its own folder, as the same job */
    bool has_checkpoint;   /* one or more; of this job, if it goes on */
    int64_t kept;          /* the latest that the job's log tells of; 0: none */
    bool spent[POD_MAX_FAULTS]; /* faults that struck */
} pod__past;

typedef struct pod__trainer {
    const pod_train_args *args;
    pod_train_result *result;
    pod_dataset *data;
    uint64_t data_fingerprint;
    pod_dataset_info trained; /* of the checkpoint that this goes on from; without classes: none */
    const pod_program *eval_program;
    pod_store *store;
    pod_exec *exec, *eval_exec;
    pod_loader *loader, *eval_loader;
    double
        run_began_s; /* as run_start of its log, by the clock; below 0 when that was another process */
    pod_time loop_began;
    pod__past past;
    const char *resume; /* what to go on from; "": nothing */
    pod_job_writer *writer;
    pod_vote *vote;
    pod_saver *saver;       /* NULL: nothing is kept */
    pod_goodput_live *live; /* rank 0's; NULL likewise */
    pod_injection faults;   /* of steps */
    bool is_slowed[POD_MAX_FAULTS];
    bool struck[POD_MAX_FAULTS]; /* this rank's, in this attempt; by the saver's thread, too */
    int64_t saved_step;          /* of the latest save; -1: none */
    pod_file *steps;             /* steps.csv, rank 0's; NULL: nothing is kept */
    bool steps_begun;
    int steps_failure; /* errno of the first write that failed; 0: none did */
    char mesh[POD_MESH_TEXT_BYTES];
    pod_ideal ideal;
    float lr, step_number; /* fed to the program */
    int32_t *draws;        /* likewise, one a sample of this rank */
    pod_core_wait core_wait;
    bool epoch_is_open;       /* in the log */
    bool is_evaluated;        /* likewise, behind a last step that is done already */
    pod_eval_rows past_evals; /* what earlier attempts' evaluations found */
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

/* Puts what an evaluation found behind the others: the best, the target. */
void pod__train_keep_evaluation(pod__trainer *t, const pod_eval_row *row);

/* Data, programs, weights, loaders, records. A BUILD span is open before and after. Collective. */
POD_MUST pod_status pod__train_prepare(pod__trainer *t);

/* Before the first step: nothing is left to train. */
bool pod__train_is_done(const pod__trainer *t);
/* The learning rate of a step: schedules follow the position in the data. */
double pod__train_lr_at(const pod__trainer *t, int64_t step);

/* records.c: the log and steps.csv. Of a later attempt they go on with what the one before left. Both
 * are in hand before either is changed: a run that cannot have one of them leaves the other whole. */
POD_MUST pod_status pod__records_begin(pod__trainer *t);
void pod__records_open_epoch(pod__trainer *t, int64_t step);    /* before a step */
void pod__records_put_step(pod__trainer *t);                    /* that has just ended */
void pod__records_close_epoch(pod__trainer *t, int64_t n_done); /* also where a failure ends it */
void pod__records_tell_eval(const pod__trainer *t, const char *key, pod_mllog_value value,
                            int64_t n_done);
/* The log has the whole run and its end. It is left alone until it is known whether that is right. */
bool pod__records_are_told(const pod__trainer *t);
/* The log's run ends with the last evaluation, as time_to_target_s does: saving is not in it. */
POD_MUST pod_status pod__records_end(pod__trainer *t, bool success);
POD_MUST pod_status pod__records_close_steps(pod__trainer *t); /* E_WRITE, of a row too; local */

/* folder.c. Before anything is read: finds out which attempt this is, and what earlier ones left.
 * Changes nothing in the folder, but that it has a checkpoint/ then. Collective. */
POD_MUST pod_status pod__folder_look_back(pod__trainer *t);
/* As the attempt begins: one that does not go on from what its folder has puts the checkpoints that
 * are there aside, as checkpoint.old, or checkpoint.old.2 and so on beside those of earlier times: the
 * first one, or one behind attempts that did not get as far as this. `latest` points to what it goes
 * on from in its own folder then. Collective. */
POD_MUST pod_status pod__folder_begin(pod__trainer *t);
/* It goes on from its own folder: checkpoints of later steps are left behind, and go as soon as one of
 * this attempt is whole. */
bool pod__folder_is_resumed(const pod__trainer *t);

/* guard.c, round the steps. All collective but before_step. */
POD_MUST pod_status pod__guard_open(pod__trainer *t);
void pod__guard_close(pod__trainer *t);
/* Before the first step, with everything restored: begins the attempt's log and what saves. */
POD_MUST pod_status pod__guard_arm(pod__trainer *t, const pod_checkpoint_info *info);
/* Steps count from 1. Faults that are due happen. */
void pod__guard_before_step(pod__trainer *t, int64_t step);
/* What is due is saved. Answers whether the run was asked to stop behind this step. */
bool pod__guard_after_step(pod__trainer *t, int64_t step);
/* After `step` steps: of a run that went well saves what is not saved yet; waits for what is in
 * flight. The status of the last save, if the run went well. */
POD_MUST pod_status pod__guard_finish(pod__trainer *t, int64_t step, bool went_well);
/* The last line of this attempt's log. What could not be written of it is a warning, and so are
 * faults that a job that ended well was never struck by. */
void pod__guard_end(pod__trainer *t, pod_job_end_kind kind, const char *text);

#endif
