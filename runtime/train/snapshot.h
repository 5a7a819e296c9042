/* Between the store and a checkpoint file: rank 0 reads and writes. All ranks hold the same
 * weights; states that are dealt out are whole in the file, so that any mesh may go on with it,
 * dealt out or not. */
#ifndef MINIPOD_RUNTIME_TRAIN_SNAPSHOT_H
#define MINIPOD_RUNTIME_TRAIN_SNAPSHOT_H

#include <stdbool.h>

#include "collectives/exec/comm.h"
#include "runtime/data/checkpoint.h"
#include "runtime/exec/store.h"

/* Writes the whole store; E_NUMERIC, and nothing new under `path`, when a value is not finite.
 * Collective. */
POD_MUST pod_status pod_snapshot_save(const char *path, const pod_checkpoint_info *info,
                                      pod_store *store, pod_comm *comm);

/* Fills the store from `path`, a checkpoint file or a run's folder with one in it, and answers its
 * step in `step`. `want` says what the run is: E_MISMATCH when the checkpoint is of another model
 * or, with_state, of another optimizer. Without state only weights are read. Collective. */
POD_MUST pod_status pod_snapshot_restore(const char *path, const pod_checkpoint_info *want,
                                         bool with_state, pod_store *store, pod_comm *comm,
                                         int64_t *step);

/* Where a run's folder keeps its checkpoint: "DIR/checkpoint/last.h5", in the arena; NULL without
 * memory. */
const char *pod_snapshot_path(pod_arena *a, const char *dir);

#endif
