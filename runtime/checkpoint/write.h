/* Writes a checkpoint, by all ranks together and without messages: each rank writes its shard to
 * the checkpoint's folder, and rank 0 completes the checkpoint when all are there. checkpoint.h
 * describes the files. In addition each rank writes a receipt:
 *
 *   step-000000120.part/shard-0001.receipt   "ID 0 BYTES CRC": the shard is complete;
 *                                            "ID STATUS TEXT": this rank has failed
 *
 * Only values and the position change from save to save, so the files are built once, in memory. */
#ifndef MINIPOD_RUNTIME_CHECKPOINT_WRITE_H
#define MINIPOD_RUNTIME_CHECKPOINT_WRITE_H

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/disk.h"

/* ---- who writes what ------------------------------------------------------------------------- */

typedef struct pod_checkpoint_range { /* of a variable's elements, row-major */
    int64_t first, count;
} pod_checkpoint_range;

typedef struct pod_checkpoint_form {
    int n, ranks;
    const pod_tensor *tensor;    /* (n); `data` is not used */
    pod_checkpoint_range *range; /* (n, ranks): what each rank writes of each variable */
} pod_checkpoint_form;

/* Sets the ranges of the variables that every rank holds completely: concatenated in their order,
 * they are cut into one piece per rank, as equal as possible. Ranges of variables with is_dealt
 * (sharded ones) stay as they are. */
void pod_checkpoint_cut(const pod_checkpoint_form *f, const bool is_dealt[]);

/* ---- files in memory ------------------------------------------------------------------------- */

typedef struct pod_checkpoint_shard {
    char *image;
    size_t bytes;
    float **at; /* (n): where in the image the rank's values of a variable go; NULL: it writes
                   none */
} pod_checkpoint_shard;

/* Builds a rank's file without its values, in the arena. E_INVALID if a name is too long or occurs
 * twice. */
POD_MUST pod_status pod_checkpoint_build_shard(const pod_checkpoint_form *f, int rank, pod_arena *a,
                                               pod_checkpoint_shard *out);
/* The index. Only the position changes from save to save, so it stays open in HDF5's memory. */
typedef struct pod_checkpoint_index {
    char *image;
    size_t bytes;
    int64_t h5_id, steps_per_epoch, ahead;
} pod_checkpoint_index;

/* Builds the index in the arena; pod_checkpoint_close_index releases HDF5's memory. E_INVALID as
 * above. */
POD_MUST pod_status pod_checkpoint_open_index(const pod_checkpoint_form *f,
                                              const pod_checkpoint_info *info, pod_arena *a,
                                              pod_checkpoint_index *out);
/* Sets the image to that of this step. Allocates nothing outside HDF5. */
POD_MUST pod_status pod_checkpoint_move_index(pod_checkpoint_index *x, int64_t step);
void pod_checkpoint_close_index(pod_checkpoint_index *x); /* a zeroed one is allowed */

/* Returns the path of a rank's shard in a complete checkpoint. */
POD_MUST pod_status pod_checkpoint_shard_path(const char *dir, int64_t step, int rank,
                                              char path[POD_DISK_PATH_BYTES]);

/* ---- one save; allocates nothing ------------------------------------------------------------- */

typedef struct pod_checkpoint_save {
    const char *dir; /* created if it is missing; its parent exists */
    int64_t step;
    uint64_t id; /* the same on all ranks, different for each save: tells receipts of a killed job
                    apart */
    int rank, ranks;
    pod_disk *disk;
    /* Rank 0's, for a run that resumed from an older checkpoint than the newest. Checkpoints of
     * steps from left_from on are abandoned, except those of this run, own_from (at most `step`) to
     * `step`. left_from 0: none are. */
    int64_t left_from, own_from;
    bool is_kept; /* rank 0's: the checkpoint gets a file `keep`. It gets one in any case if it
                     replaces a checkpoint that has one and is not abandoned */
    bool is_best; /* rank 0's: `best` will point to it */
    pod_eval_rows evals; /* rank 0's: for the manifest, which has the last 65536; not more than
                            max_evals of pod_checkpoint_desk_create */
} pod_checkpoint_save;

/* Writes the rank's shard and its receipt. */
POD_MUST pod_status pod_checkpoint_put_shard(const pod_checkpoint_save *s, const void *image,
                                             size_t bytes);
/* Writes a receipt with the failure instead, if the disk has room for it. */
void pod_checkpoint_put_failure(const pod_checkpoint_save *s, pod_status status, const char *text);

typedef struct pod_checkpoint_receipt {
    bool is_there, has_failed; /* neither: not there yet */
    size_t bytes;
    uint32_t crc;
} pod_checkpoint_receipt;

typedef struct pod_checkpoint_desk { /* rank 0's memory for receipts and the manifest */
    pod_checkpoint_receipt *receipt; /* (ranks) */
    char *text;
    size_t text_bytes;
} pod_checkpoint_desk;

POD_MUST pod_status pod_checkpoint_desk_create(pod_arena *a, int ranks, int64_t max_evals,
                                               pod_checkpoint_desk *out);

/* Rank 0: waits for the receipts of all ranks, at most patience_s; then writes index and manifest,
 * renames the folder, removes abandoned checkpoints and moves `latest`, in this order: even if the
 * process dies in between, `latest` points to a checkpoint that exists. Failed removals are
 * reported by pod_checkpoint_rotate. `own` is the status of rank 0's own shard, with the error text
 * if that failed. Fails with the status and text of a rank that failed. On a failure before the
 * rename, other checkpoints and `latest` are unchanged and no file of the save remains. After the
 * rename the checkpoint stays and *is_whole is true, also on failure; the text says whether
 * `latest` was moved. If it was not, this checkpoint is tried after those before it
 * (pod_checkpoint_find). */
POD_MUST pod_status pod_checkpoint_complete(const pod_checkpoint_save *s, pod_status own,
                                            const pod_checkpoint_index *index, double patience_s,
                                            const pod_checkpoint_desk *desk, bool *is_whole);

/* Points `latest` in `dir` to the checkpoint of that step, which must exist, unless it does
 * already. Call it while no save is in progress. */
POD_MUST pod_status pod_checkpoint_point_to(const char *dir, int64_t step);

/* Call it after `s` is complete. Of the checkpoints up to its step, removes all but the last
 * keep_last (at least 1), that of `best`, and those with a file `keep`. Also removes the checkpoint
 * that it replaced and abandoned ones, kept or not. A failure does not stop the other removals: the
 * status and text are those of the first checkpoint that still has its name (*one_stays true), else
 * of the first of which files remain (*one_stays false). */
POD_MUST pod_status pod_checkpoint_rotate(const pod_checkpoint_save *s, int64_t keep_last,
                                          bool *one_stays);
/* Removes the folders of unfinished saves in `dir`. Call it while no save is in progress. A folder
 * that cannot be removed is renamed to step-000000120.left, so that it does not block a save of
 * that step; the status and text name one of these. */
POD_MUST pod_status pod_checkpoint_sweep(const char *dir);

#endif
