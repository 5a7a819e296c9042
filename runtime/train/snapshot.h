/* Between checkpoints and the store: rank 0 reads. What is dealt out in the store is whole in a
 * checkpoint, so that any mesh may go on with it, dealt out or not. */
#ifndef MINIPOD_RUNTIME_TRAIN_SNAPSHOT_H
#define MINIPOD_RUNTIME_TRAIN_SNAPSHOT_H

#include <stdbool.h>

#include "collectives/exec/comm.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/disk.h"
#include "runtime/exec/store.h"

/* Variable i as a tensor of a file, where a scalar has one dimension; without data. The name is the
 * store's. */
pod_tensor pod_snapshot_tensor(const pod_store *store, int i);

typedef struct pod_snapshot { /* what a checkpoint tells beside values */
    int64_t step, batch;
    double epochs;       /* the position in the data; NaN: not known */
    pod_eval_rows evals; /* in the arena; none where it was not asked for them */
    char folder[POD_DISK_PATH_BYTES];
} pod_snapshot;

/* What the newest usable checkpoint at `path` (pod_checkpoint_find_info) was trained on, in the
 * arena, and the fingerprint of that set; without classes and 0 where it is not known, as of "".
 * Collective. */
POD_MUST pod_status pod_snapshot_origin(const char *path, pod_comm *comm, pod_arena *a,
                                        pod_dataset_info *set, uint64_t *fingerprint);

/* Fills the store from the newest checkpoint at `path` that is whole (pod_checkpoint_load). `want`
 * says what the run is: E_MISMATCH when the checkpoint is of another model or, with_state, of
 * another data set or optimizer. Without state only weights are read. keep: an arena for the rows
 * of evaluations; NULL: they are not wanted. Collective. */
POD_MUST pod_status pod_snapshot_restore(const char *path, const pod_checkpoint_info *want,
                                         bool with_state, pod_store *store, pod_comm *comm,
                                         pod_log *log, pod_arena *keep, pod_snapshot *out);

#endif
