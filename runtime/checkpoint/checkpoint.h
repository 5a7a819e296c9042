/* Checkpoints: everything that is kept from step to step. Each is one folder, and in it one logical
 * file, whatever mesh wrote it:
 *
 *   DIR/latest                 "step-000000120 1a2b3c4d": the newest, and the CRC-32 of its name
 *   DIR/best                   likewise, with --keep-best: that of the best evaluation, which stays
 *   DIR/step-000000120/
 *       index.h5               what is opened: arrays of full shape, virtual, over the shards
 *       shard-0000.h5 ...      what each rank wrote of each variable
 *       manifest.json          every file with its bytes and CRC-32; its own too; and what the
 *                              job's evaluations found so far, at most the latest 65536
 *       keep                   empty: it was saved to be kept for ever; who removes the file
 *                              releases it
 *
 * index.h5 has at its root
 *
 *   minipod_checkpoint         integer 2
 *   model, data, optimizer     strings: what was trained, on what, how
 *   seed, step, batch          integers; step counts the steps that were done
 *   steps_per_epoch, epoch     integer; and number: the position in the data; 0 and 0: not known
 *   data_fingerprint           string: of the data set, likewise 16 digits; 0: not known
 *   image_height, image_width, image_channels   integers: what the network was trained on, of a
 *                              data set or by --image-size; these and the next lines are missing in
 *                              checkpoints of earlier versions
 *   mean, std                  numbers (channels): with which images were normalized
 *   class_names                strings: by the number of the class; an array, /class_names, where
 *                              they are too many for an attribute
 *   mesh, ranks                string, integer: who wrote it
 *   settings, picks            strings, by line: `option = value`, `op = kernel or algorithm`
 *   fingerprint                string: of the program, 16 hexadecimal digits
 *   /weights/<variable>        float32: what evaluation needs, moving statistics included
 *   /state/<variable>          float32: what only training needs
 *
 * and shows NaN where a shard is missing. A shard has arrays of one dimension under the same names,
 * what the rank wrote of the variable's elements in their order, with an attribute `first`: which
 * of them it begins with.
 *
 * A folder is written as step-...part and renamed; then `latest` moves. One that is replaced by
 * another of the same step is step-...old meanwhile, one that is removed step-...gone. Reading goes
 * the other way round: manifest, bytes and CRC-32 of the whole file in memory, and only then HDF5;
 * what is damaged never gets there. */
#ifndef MINIPOD_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define MINIPOD_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/arena.h"
#include "kernels/base/status.h"
#include "runtime/core/log.h"
#include "runtime/data/dataset.h"

enum { POD_CHECKPOINT_VERSION = 2, POD_CHECKPOINT_MAX_DIMS = 5 };

typedef struct pod_eval_row { /* an evaluation within a job */
    int64_t n_done;           /* steps before it, those of earlier attempts included */
    double epochs;            /* the same */
    double loss, accuracy;
    double at_s; /* its end, from run_start of mllog.txt */
} pod_eval_row;

typedef struct pod_eval_rows { /* oldest first; what is in it stays as it is */
    pod_eval_row *row;         /* (room) */
    int64_t n, room;
} pod_eval_rows;

/* Whether the last of them was made after `step` steps and is better than each before it. */
bool pod_eval_rows_end_best(const pod_eval_rows *evals, int64_t step);

typedef struct pod_checkpoint_info { /* texts: NULL is written as "" */
    const char *model, *data, *optimizer;
    uint64_t seed;
    int64_t step, batch;
    int64_t steps_per_epoch;
    int64_t ahead; /* steps that the position in the data is ahead of `step`; for who writes */
    double epochs; /* the position, in [0, 2^40), NaN where it is not known; as read */
    const char *mesh, *settings, *picks;
    pod_dataset_info set; /* what the network sees of its data set: image size, mean, std, classes;
                             n_classes 0: not known, in checkpoints of earlier versions */
    uint64_t fingerprint, data_fingerprint; /* 0: not known */
    int ranks;                              /* filled in by whoever writes */
    pod_eval_rows evals;                    /* as read; who writes gives them with each save */
    const char *folder;                     /* its path; as loaded */
} pod_checkpoint_info;

typedef struct pod_tensor { /* one variable */
    const char *name;
    bool is_state;
    int n_dims; /* 1 to POD_CHECKPOINT_MAX_DIMS */
    int64_t dim[POD_CHECKPOINT_MAX_DIMS];
    float *data; /* read into */
} pod_tensor;

int64_t pod_tensor_count(const pod_tensor *t); /* elements */

/* What may be read, best first: where `latest` points to, then those of earlier steps, then those
 * of later ones, which a run that stopped before pointing to them left, or another run. */
typedef struct pod_checkpoint_list {
    const char *where; /* the folder they are in */
    int n;
    const char *const *folder; /* (n), each with its path */
} pod_checkpoint_list;

/* `path` is a run's folder (with checkpoint/ in it), a folder of checkpoints, one checkpoint, its
 * index.h5, or DIR/best or DIR/latest; the last four give a list of one. n may be 0. E_IO where nothing is at `path`,
 * E_FORMAT where it is something else. Looks at names only. A damaged `latest` is a warning in
 * `log`, which may be NULL. */
POD_MUST pod_status pod_checkpoint_find(const char *path, pod_arena *a, pod_log *log,
                                        pod_checkpoint_list *out);

/* The step that `best` in a run's folder points to; -1: to none that is there. */
int64_t pod_checkpoint_best(const char *run);

/* Of one folder; the texts go into the arena. E_IO, E_FORMAT where the index is missing, damaged or
 * not as above. */
POD_MUST pod_status pod_checkpoint_read_info(const char *folder, pod_arena *a,
                                             pod_checkpoint_info *out);
/* Of the newest checkpoint at `path` (pod_checkpoint_find) whose index can be read; where none can,
 * which pod_checkpoint_load tells, its settings are "" and nothing else is known. "" is no path. */
POD_MUST pod_status pod_checkpoint_find_info(const char *path, pod_arena *a,
                                             pod_checkpoint_info *out);
/* Fills the tensors from one folder, having looked at every file in it. E_MISMATCH, naming file and
 * variable, where one is missing or has another shape; E_NUMERIC where a value is not finite. On
 * failure the tensors hold anything. */
POD_MUST pod_status pod_checkpoint_read(const char *folder, const pod_tensor tensor[], int n);

/* Fills the tensors from the newest checkpoint at `path` (pod_checkpoint_find) that is whole; each
 * one that is not is a line of warning. E_MISMATCH where it is of another model than `want` says,
 * has weights that are none of the tensors, but for averages, or, with_state, is of another data
 * set, by name or by fingerprint, or optimizer; E_IO, E_FORMAT where none is whole. What a job that
 * trains removes meanwhile is not told: the others are looked for again. Without state another data
 * set is a warning, and so is another size of images, where the weights fit. */
POD_MUST pod_status pod_checkpoint_load(const char *path, const pod_checkpoint_info *want,
                                        bool with_state, const pod_tensor tensor[], int n,
                                        pod_arena *a, pod_log *log, pod_checkpoint_info *out);

#endif
