/* A checkpoint: everything that is kept from step to step, in one HDF5 file.
 *
 *   minipod_checkpoint        integer 1                  (attributes stand at the root)
 *   model, data, optimizer    string: what was trained, on what, how
 *   seed, step, batch         integers; step counts the steps that were done
 *   /weights/<variable>       float32: what evaluation needs, moving statistics included
 *   /state/<variable>         float32: what only training needs
 *
 * All ranks hold the same variables, so one rank writes for all, and any mesh may read. The file is
 * made aside and renamed. Every array is checksummed by HDF5's own filters (h5.h). */
#ifndef MINIPOD_RUNTIME_DATA_CHECKPOINT_H
#define MINIPOD_RUNTIME_DATA_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/arena.h"
#include "kernels/base/status.h"

enum { POD_CHECKPOINT_VERSION = 1, POD_CHECKPOINT_MAX_DIMS = 5 };

typedef struct pod_checkpoint_info {
    const char *model, *data, *optimizer;
    uint64_t seed;
    int64_t step, batch;
} pod_checkpoint_info;

typedef struct pod_tensor { /* one variable */
    const char *name;
    bool is_state;
    int n_dims; /* 1 to POD_CHECKPOINT_MAX_DIMS */
    int64_t dim[POD_CHECKPOINT_MAX_DIMS];
    float *data; /* read into, or written from */
} pod_tensor;

/* E_IO where the file cannot be written; then nothing new stands under `path`. */
POD_MUST pod_status pod_checkpoint_write(const char *path, const pod_checkpoint_info *info,
                                         const pod_tensor tensor[], int n);

/* The texts go into the arena. E_IO, E_FORMAT. */
POD_MUST pod_status pod_checkpoint_read_info(const char *path, pod_arena *a,
                                             pod_checkpoint_info *out);
/* Fills the tensors. E_MISMATCH, naming the file and the variable, where one is missing or has
 * another shape; E_NUMERIC where a value is not finite. */
POD_MUST pod_status pod_checkpoint_read(const char *path, const pod_tensor tensor[], int n);

#endif
