/* Writes the predictions of an evaluation of image-classification as CSV, one row per sample in the
 * order of the split:
 *
 *   index,label,answer,label_name,answer_name,file,logit0,logit1,...
 *   0,1,1,dog,dog,dog/12.jpg,-1.25,0.5,...
 *
 * The column `file` exists if the data set knows its files. Texts that contain a comma, a quote, a
 * # or a line end are quoted (RFC 4180). `answer` is the class of the largest logit, the first of
 * equal ones; logits are float32 and read back to the same bits. Rank 0 writes the rows of all
 * ranks. */
#ifndef MINIPOD_RUNTIME_TRAIN_PREDICTIONS_H
#define MINIPOD_RUNTIME_TRAIN_PREDICTIONS_H

#include <stdint.h>

#include "collectives/exec/comm.h"
#include "runtime/data/images/image_samples.h"
#include "runtime/data/loader.h"

typedef struct pod_predictions pod_predictions;

/* Opens the file, as a temporary one that gets its name at the end (file.h). `data` is the data
 * set, of which the test split is evaluated; borrowed. local_batch counts the rows of a rank in a
 * batch. E_IO, E_NOMEM. Collective. */
POD_MUST pod_status pod_predictions_open(const char *path, const pod_dataset *data,
                                         int64_t local_batch, pod_comm *comm,
                                         pod_predictions **out);
/* Adds the next batch of the split: this rank's rows of it, with logits (local_batch, n_classes).
 * Padding rows are skipped. Collective. */
void pod_predictions_add(pod_predictions *p, const pod_batch *batch, const float *logits);
/* Completes the file. E_WRITE if a row could not be written. Releases p in any case. Collective. */
POD_MUST pod_status pod_predictions_close(pod_predictions *p);
void pod_predictions_abandon(pod_predictions *p); /* removes the file; NULL is allowed */

#endif
