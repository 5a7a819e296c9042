/* Evaluation on all ranks: each rank evaluates its shard of every batch of the test split. Padding
 * rows of the last batch do not count. */
#ifndef MINIPOD_RUNTIME_TRAIN_EVAL_H
#define MINIPOD_RUNTIME_TRAIN_EVAL_H

#include "runtime/data/loader.h"
#include "runtime/exec/exec.h"
#include "runtime/task/task.h"
#include "runtime/train/predictions.h"

typedef struct pod_eval_result {
    double loss;                    /* mean, without label smoothing */
    double metric[POD_MAX_METRICS]; /* of the task */
    int64_t n_samples;
} pod_eval_result;

/* Maps the fields of a loader's batches to the inputs of a program. */
typedef struct pod_feed {
    pod_exec *exec;
    pod_loader *loader;
    int n_fields, input[POD_MAX_FIELDS]; /* -1: the program does not read it */
} pod_feed;

pod_feed pod_feed_of(pod_exec *e, const pod_program *p, pod_loader *l, const pod_form *form);

/* Evaluates the n_samples samples of the feed's loader in one pass, by an evaluation program
 * (network.h). E_NUMERIC if the loss is not finite, with the text of pod_exec_find_fault;
 * `step`, the number of training steps done, is for that text. A rank that cannot read its samples
 * aborts the job. `to`, if not NULL, receives the logits of each sample; the program must have the
 * output logits. Collective: the same result on all ranks. */
POD_MUST pod_status pod_evaluate(const pod_task *task, const pod_feed *feed, int64_t n_samples,
                                 pod_comm *comm, int64_t step, pod_predictions *to,
                                 pod_eval_result *out);

/* Feeds the next batch to the program. A rank on which that fails prints the error and aborts the
 * job, because the others are already waiting in the step. */
void pod_feed_next(const pod_feed *f, pod_comm *comm, pod_batch *batch);

/* Makes the timeline collect what the loader's threads record, until pod_timeline_forget. */
void pod_feed_follow(const pod_loader *l, pod_timeline *tl);

#endif
