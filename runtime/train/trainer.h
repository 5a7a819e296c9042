/* A training run in progress, for the files of runtime/train that carry it out: prepared
 * (train_prepare.c), run (train.c), measured (train_measure.c). */
#ifndef MINIPOD_RUNTIME_TRAIN_TRAINER_H
#define MINIPOD_RUNTIME_TRAIN_TRAINER_H

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/core/core_wait.h"
#include "runtime/train/steps.h"
#include "runtime/train/train.h"

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
    pod_guard *guard;
    pod_steps *steps; /* rank 0's; NULL: nothing is kept */
    char mesh[POD_MESH_TEXT_BYTES];
    pod_ideal ideal;
    float lr, step_number; /* fed to the program */
    int32_t *draws;        /* likewise, one a sample of this rank */
    pod_core_wait core_wait;
    bool epoch_is_open; /* in the log */
    bool is_evaluated;  /* likewise, behind a last step that is done already */
    pod_eval_rows past; /* what earlier attempts' evaluations found */
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

/* Fills in the result's statistics, over all ranks, and the hash of the weights; E_MISMATCH when
 * ranks have other weights. Collective. */
POD_MUST pod_status pod__train_measure(pod__trainer *t);

#endif
