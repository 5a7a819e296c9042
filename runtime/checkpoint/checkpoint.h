/* Checkpoints: all variables of a run and its position. A checkpoint is a folder that reads as one
 * logical file, whatever mesh wrote it:
 *
 *   DIR/latest                 "step-000000120 1a2b3c4d": the newest, and the CRC-32 of its name
 *   DIR/best                   likewise, with --keep-best: the one after the best evaluation
 *   DIR/step-000000120/
 *       index.h5               the file to open: virtual arrays of full shape over the shards
 *       shard-0000.h5 ...      for each rank, the elements of each variable that it wrote
 *       manifest.json          bytes and CRC-32 of every file and of itself; and the results of
 *                              the job's evaluations so far, the latest 65536 of them
 *       keep                   an empty file; while it exists, this checkpoint is not removed when
 *                              newer ones are complete
 *
 * index.h5 has at its root
 *
 *   minipod_checkpoint         integer 2
 *   model, data, optimizer     strings: the names of the three
 *   seed, step, batch          integers; step is the number of steps done
 *   steps_per_epoch, epoch     integer, number: the position in the data; 0 and 0: unknown
 *   data_fingerprint           string: of the data set, 16 hexadecimal digits; 0: unknown
 *   image_height, image_width, image_channels   integers: size of the images that the network was
 *                              trained on; these, mean, std and class_names are missing in
 *                              checkpoints of earlier versions
 *   mean, std                  numbers (channels), by which images were normalized
 *   class_names                strings, by number of the class; an array /class_names if they are
 *                              too many for an attribute
 *   vocabulary_hash            string: of the tokens of a text, 16 hexadecimal digits; 0: no text
 *   mesh, ranks                string, integer: of the run that wrote it
 *   settings, picks            strings, by line: `option = value`, `op = kernel or algorithm`
 *   fingerprint                string: of the program, 16 hexadecimal digits
 *   /weights/<variable>        float32: weights, moving statistics and averages
 *   /state/<variable>          float32: optimizer states
 *
 * and its arrays read as NaN where a shard is missing. A shard has arrays of one dimension under
 * the same names: a range of the variable's elements in row-major order. The attribute `first` is
 * the index of the first one.
 *
 * A checkpoint is written as step-000000120.part and renamed; then `latest` moves. While another
 * one of the same step replaces it, it is called step-000000120.old; while it is removed,
 * step-000000120.gone. A reader checks the manifest, then size and CRC-32 of a file, and only then
 * opens it with HDF5, so that HDF5 never reads a damaged file. */
#ifndef MINIPOD_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define MINIPOD_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/arena.h"
#include "kernels/base/status.h"
#include "runtime/core/log.h"
#include "runtime/core/metric.h"
#include "runtime/data/dataset.h"

enum { POD_CHECKPOINT_VERSION = 2, POD_CHECKPOINT_MAX_DIMS = 5 };

typedef struct pod_eval_row { /* an evaluation within a job */
    int64_t n_done;           /* steps done before it, in all attempts */
    double epochs;            /* epochs done before it */
    double loss, metric[POD_MAX_METRICS];
    double at_s; /* its end, in seconds since run_start of mllog.txt */
} pod_eval_row;

typedef struct pod_eval_rows { /* oldest first; rows are only appended */
    pod_eval_row *row;         /* (room) */
    int64_t n, room;
    int n_metrics;
    pod_metric metric[POD_MAX_METRICS]; /* when read from a file: only their names */
    int target_metric;                  /* index in `metric`; when read: 0 */
} pod_eval_rows;

/* Returns whether the last evaluation came after `step` steps and is better in the target's metric
 * than all before it. */
bool pod_eval_rows_end_best(const pod_eval_rows *evals, int64_t step);

typedef struct pod_checkpoint_info { /* texts: NULL is written as "" */
    const char *model, *data, *optimizer;
    uint64_t seed;
    int64_t step, batch;
    int64_t steps_per_epoch;
    int64_t ahead; /* for writing: the position in the data, in steps of this batch, minus `step`;
                      0 unless the batch size changed at a resume */
    double epochs; /* as read: the position in the data, in [0, 2^40), NaN if unknown */
    const char *mesh, *settings, *picks;
    pod_dataset_info set; /* the training set as the network sees it: image size, mean, std,
                             classes; n_classes 0: unknown (checkpoints of earlier versions) */
    uint64_t fingerprint, data_fingerprint; /* 0: unknown */
    int ranks;                              /* as read; the writer sets it */
    pod_eval_rows evals;                    /* as read; for writing, pod_checkpoint_save has them */
    const char *folder;                     /* as loaded: the checkpoint's path */
} pod_checkpoint_info;

typedef struct pod_tensor { /* one variable */
    const char *name;
    bool is_state;
    int n_dims; /* 1 to POD_CHECKPOINT_MAX_DIMS */
    int64_t dim[POD_CHECKPOINT_MAX_DIMS];
    float *data; /* the elements, for reading */
} pod_tensor;

int64_t pod_tensor_count(const pod_tensor *t); /* elements */

/* The checkpoints to try, in this order: that of `latest`; those of earlier steps, newest first;
 * then those of later steps, which are left by another run or by one that stopped before it moved
 * `latest`. Without a readable `latest`, newest first. */
typedef struct pod_checkpoint_list {
    const char *where; /* the folder they are in */
    int n;
    const char *const *folder; /* (n), each with its path */
} pod_checkpoint_list;

/* Lists the checkpoints at `path`: a run's folder (which has checkpoint/), a folder of checkpoints,
 * one checkpoint, its index.h5, DIR/best or DIR/latest; the last four give a list of one. n may be
 * 0. E_IO if nothing is at `path`, E_FORMAT if it is something else. Only names are read. Warns of
 * a damaged `latest` in `log`, which may be NULL. */
POD_MUST pod_status pod_checkpoint_find(const char *path, pod_arena *a, pod_log *log,
                                        pod_checkpoint_list *out);

/* Returns the step of the checkpoint to which `best` in a run's folder points; -1 if there is
 * none. */
int64_t pod_checkpoint_best(const char *run);

/* Reads the info of one checkpoint, with texts in the arena. E_IO or E_FORMAT if its index is
 * missing, damaged or not as described above. */
POD_MUST pod_status pod_checkpoint_read_info(const char *folder, pod_arena *a,
                                             pod_checkpoint_info *out);
/* Reads the info of the first checkpoint at `path` (pod_checkpoint_find) whose index can be read.
 * If there is none, or `path` is "", everything is zeroed and settings is "": pod_checkpoint_load
 * reports the error. */
POD_MUST pod_status pod_checkpoint_find_info(const char *path, pod_arena *a,
                                             pod_checkpoint_info *out);
/* Fills the tensors from one checkpoint, after checking each of its files. E_MISMATCH, naming file
 * and variable, if a variable is missing or has another shape; E_NUMERIC if a value is not finite;
 * E_IO, E_FORMAT. On failure the content of the tensors is undefined. */
POD_MUST pod_status pod_checkpoint_read(const char *folder, const pod_tensor tensor[], int n);

/* Fills the tensors from the first checkpoint at `path` (pod_checkpoint_find) that is complete and
 * finite, and warns of those before it. E_MISMATCH if its model is not that of `want`; if it has
 * weights, other than moving averages, that are none of the tensors; or, with_state, if it has
 * another data set, by name or by fingerprint, or another optimizer. E_IO, E_FORMAT or E_NUMERIC if
 * no checkpoint can be used. If a running job removes a checkpoint meanwhile, the list is read
 * again without a warning. Without with_state another data set or another size of images is only a
 * warning, if the weights fit. */
POD_MUST pod_status pod_checkpoint_load(const char *path, const pod_checkpoint_info *want,
                                        bool with_state, const pod_tensor tensor[], int n,
                                        pod_arena *a, pod_log *log, pod_checkpoint_info *out);

#endif
