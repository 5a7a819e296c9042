/* Restores the store from a checkpoint, which rank 0 reads. A checkpoint holds whole tensors, also
 * of variables that are sharded in the store, so that a run may resume on any mesh, with or without
 * sharding. */
#ifndef MINIPOD_RUNTIME_TRAIN_SNAPSHOT_H
#define MINIPOD_RUNTIME_TRAIN_SNAPSHOT_H

#include <stdbool.h>

#include "collectives/exec/comm.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/disk.h"
#include "runtime/exec/store.h"

/* Returns the description of variable i as a tensor of a checkpoint, in which a scalar has one
 * dimension; without data. The name is borrowed from the store. */
pod_tensor pod_snapshot_tensor(const pod_store *store, int i);

typedef struct pod_snapshot { /* contents of a checkpoint besides values */
    int64_t step, batch;
    double epochs;       /* the position in the data; NaN: unknown */
    pod_eval_rows evals; /* in `keep`; empty without `keep` */
    char folder[POD_DISK_PATH_BYTES];
} pod_snapshot;

/* Returns the data set that the newest usable checkpoint at `path` (pod_checkpoint_find_info) was
 * trained on, in the arena, and its fingerprint. If that is unknown, or `path` is "", the set has
 * no classes and the fingerprint is 0. Collective. */
POD_MUST pod_status pod_snapshot_origin(const char *path, pod_comm *comm, pod_arena *a,
                                        pod_dataset_info *set, uint64_t *fingerprint);

/* Fills the store from the newest complete checkpoint at `path` (pod_checkpoint_load). `want`
 * describes the run: E_MISMATCH if the checkpoint is of another model or, with_state, of another
 * data set or optimizer. Without with_state optimizer states are not read. `keep` is an arena for
 * the rows of evaluations; NULL: they are not read. Collective. */
POD_MUST pod_status pod_snapshot_restore(const char *path, const pod_checkpoint_info *want,
                                         bool with_state, pod_store *store, pod_comm *comm,
                                         pod_log *log, pod_arena *keep, pod_snapshot *out);

#endif
