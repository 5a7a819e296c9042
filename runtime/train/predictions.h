/* What an evaluation took each sample for, as CSV, a row a sample in the order of the split:
 *
 *   index,label,answer,label_name,answer_name,file,logit0,logit1,...
 *   0,1,1,dog,dog,dog/12.jpg,-1.25,0.5,...
 *
 * The column file is there where the data set knows its files. Texts with a comma, a quote, a # or
 * the end of a line in them stand in quotes (RFC 4180). answer is the class of the largest logit,
 * the first of those that are equal; logits are float32 and read back to the same bits. Rank 0
 * writes for all. */
#ifndef MINIPOD_RUNTIME_TRAIN_PREDICTIONS_H
#define MINIPOD_RUNTIME_TRAIN_PREDICTIONS_H

#include <stdint.h>

#include "collectives/exec/comm.h"
#include "runtime/data/loader.h"

typedef struct pod_predictions pod_predictions;

/* data: the set of which the test split is evaluated, borrowed. local_batch: rows of each rank in a
 * batch. The file is made aside (file.h). E_IO, E_NOMEM.
 * Collective. */
POD_MUST pod_status pod_predictions_open(const char *path, const pod_dataset *data,
                                         int64_t local_batch, pod_comm *comm,
                                         pod_predictions **out);
/* This rank's part of the next batch of the split, and logits (local_batch, n_classes) for it; rows
 * of padding are left out. Collective. */
void pod_predictions_add(pod_predictions *p, const pod_batch *batch, const float *logits);
/* E_WRITE where a row could not be written. Collective; releases p either way. */
POD_MUST pod_status pod_predictions_close(pod_predictions *p);
void pod_predictions_abandon(pod_predictions *p); /* leaves no file; NULL is allowed */

#endif
