/* Evaluation on all ranks: each takes its part of every batch of the test split; the padded tail
 * counts nowhere. */
#ifndef MINIPOD_RUNTIME_TRAIN_EVAL_H
#define MINIPOD_RUNTIME_TRAIN_EVAL_H

#include "runtime/data/loader.h"
#include "runtime/exec/exec.h"
#include "runtime/train/predictions.h"

typedef struct pod_eval_result {
    double loss;     /* mean over the samples, without label smoothing */
    double accuracy; /* first answer right, 0 to 1 */
    int64_t n_samples;
} pod_eval_result;

/* One pass over the loader's split, which holds n_samples. `e` runs an evaluation program
 * (network.h). E_NUMERIC when the loss is not finite, with the place where it began; `step`, after
 * which the weights are looked at, is for that text. A rank that cannot read its part ends the job.
 * `to` gets what each sample was taken for, of a program that shows logits; NULL: nobody does.
 * Collective: the same result on all ranks. */
POD_MUST pod_status pod_evaluate(pod_exec *e, pod_loader *l, int64_t n_samples, pod_comm *comm,
                                 int64_t step, pod_predictions *to, pod_eval_result *out);

/* The next batch, into the inputs of the program. A rank that fails says so and ends the job, for
 * the others are waiting in the step. */
void pod_feed_next(pod_exec *e, pod_loader *l, pod_comm *comm, pod_batch *batch);

/* The timeline takes what the loader's threads write down, until it forgets them. */
void pod_feed_follow(const pod_loader *l, pod_timeline *tl);

#endif
