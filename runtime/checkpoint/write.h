/* Writing a checkpoint, by all ranks together and without messages: each leaves its shard in the
 * checkpoint's folder, rank 0 makes the checkpoint whole when all are there. The form of the files
 * is in checkpoint.h.
 *
 *   step-000000120.part/shard-0001.h5        the shard is there
 *   step-000000120.part/shard-0001.receipt   "ID 0 BYTES CRC": and whole; or "ID STATUS TEXT": it
 *                                            will never be
 *
 * What changes from save to save is values and the position, so files are made once, in memory. */
#ifndef MINIPOD_RUNTIME_CHECKPOINT_WRITE_H
#define MINIPOD_RUNTIME_CHECKPOINT_WRITE_H

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/disk.h"

/* ---- who writes what ------------------------------------------------------------------------- */

typedef struct pod_checkpoint_range { /* of a variable's elements in their order */
    int64_t first, count;
} pod_checkpoint_range;

typedef struct pod_checkpoint_form {
    int n, ranks;
    const pod_tensor *tensor;    /* (n); data is not looked at */
    pod_checkpoint_range *range; /* (n, ranks): what each rank writes of each */
} pod_checkpoint_form;

/* Fills in the ranges of variables that every rank holds whole: behind one another in their order
 * they are cut into pieces as equal as can be. Those that are dealt out stay as they are. */
void pod_checkpoint_cut(const pod_checkpoint_form *f, const bool is_dealt[]);

/* ---- files in memory ------------------------------------------------------------------------- */

typedef struct pod_checkpoint_shard {
    char *image;
    size_t bytes;
    float **at; /* (n): where the rank's values of a variable go; NULL: it writes none of them */
} pod_checkpoint_shard;

/* A rank's file but for the values; in the arena. E_INVALID where a name is too long or there
 * twice. */
POD_MUST pod_status pod_checkpoint_build_shard(const pod_checkpoint_form *f, int rank, pod_arena *a,
                                               pod_checkpoint_shard *out);
/* The index, of which only the position changes from save to save; open in HDF5's memory. */
typedef struct pod_checkpoint_index {
    char *image;
    size_t bytes;
    int64_t h5_id, steps_per_epoch, ahead;
} pod_checkpoint_index;

/* In the arena, but for what close releases. E_INVALID as above. */
POD_MUST pod_status pod_checkpoint_open_index(const pod_checkpoint_form *f,
                                              const pod_checkpoint_info *info, pod_arena *a,
                                              pod_checkpoint_index *out);
/* Makes the image the one of this step; takes no memory of ours. */
POD_MUST pod_status pod_checkpoint_move_index(pod_checkpoint_index *x, int64_t step);
void pod_checkpoint_close_index(pod_checkpoint_index *x); /* one that is zeroed is allowed */

/* The shard of a rank in a checkpoint that is whole. */
POD_MUST pod_status pod_checkpoint_shard_path(const char *dir, int64_t step, int rank,
                                              char path[POD_DISK_PATH_BYTES]);

/* ---- one save; takes no memory --------------------------------------------------------------- */

typedef struct pod_checkpoint_save {
    const char *dir; /* made again where somebody removed it; what it stands in exists */
    int64_t step;
    uint64_t id; /* the same on all ranks, of no earlier save: what a killed job left is not ours */
    int rank, ranks;
    pod_disk *disk;
    /* Rank 0's, of a line of steps that begins again behind one that is there: checkpoints of steps
     * from left_from on are of steps that were left behind, but for those of the line itself, which
     * are from own_from (at most `step`) to `step`. left_from 0: none are. */
    int64_t left_from, own_from;
    bool is_kept; /* rank 0's: for ever. So is one that takes the place of one that was, unless that
                     was left behind */
    bool is_best; /* rank 0's: `best` points to it then */
    pod_eval_rows evals; /* rank 0's: the manifest's, which keeps 65536 of them; no more than the
                            desk was made for */
} pod_checkpoint_save;

/* The rank's part: its shard and a receipt. */
POD_MUST pod_status pod_checkpoint_put_shard(const pod_checkpoint_save *s, const void *image,
                                             size_t bytes);
/* Instead: why there is none. As good as can be: a full disk may have no room for it. */
void pod_checkpoint_put_failure(const pod_checkpoint_save *s, pod_status status, const char *text);

typedef struct pod_checkpoint_receipt {
    bool is_there, has_failed; /* neither: awaited */
    size_t bytes;
    uint32_t crc;
} pod_checkpoint_receipt;

typedef struct pod_checkpoint_desk { /* rank 0's room for what it collects and writes */
    pod_checkpoint_receipt *receipt; /* (ranks) */
    char *text;
    size_t text_bytes;
} pod_checkpoint_desk;

POD_MUST pod_status pod_checkpoint_desk_create(pod_arena *a, int ranks, int64_t max_evals,
                                               pod_checkpoint_desk *out);

/* Rank 0: waits for what the ranks leave, at most patience_s; then writes index and manifest,
 * renames the folder, removes what was left behind and moves `latest`: a process that dies in
 * between goes on from where this line began, and one that dies later finds nothing else. What of
 * those cannot be removed is for rotate to tell. `own` is what became of its own shard, with the
 * text where that failed. Where a rank failed its status and text. On failure before the folder is
 * renamed all others are as they were, `latest` too, and no part of the save is left. From then on
 * the checkpoint stays, and is_whole on failure too: the text says whether `latest` was moved to
 * it. Where it was not, it is read when those before it are damaged (pod_checkpoint_find). */
POD_MUST pod_status pod_checkpoint_complete(const pod_checkpoint_save *s, pod_status own,
                                            const pod_checkpoint_index *index, double patience_s,
                                            const pod_checkpoint_desk *desk, bool *is_whole);

/* Points `latest` in `dir` to the checkpoint of that step, which is there; leaves a `latest` alone
 * that does so already. While nobody saves there. */
POD_MUST pod_status pod_checkpoint_point_to(const char *dir, int64_t step);

/* Of the checkpoints up to the step of `s`, which is whole, removes all but the keep_last (at least
 * 1) latest, the one `best` points to and those with a file `keep`; what it replaced; and, of any step and kept or not, what
 * was left behind. What cannot be removed stops none of the others; the status and text tell of the
 * first that still goes by its name, else of the first of which only files are left. one_stays, on
 * failure too: which of both. */
POD_MUST pod_status pod_checkpoint_rotate(const pod_checkpoint_save *s, int64_t keep_last,
                                          bool *one_stays);
/* Removes what saves that were not finished left in `dir`: while nobody saves there. What cannot be
 * removed is renamed, step-000000120.left, out of the way of a save of that step; the status and
 * text tell of one of those. */
POD_MUST pod_status pod_checkpoint_sweep(const char *dir);

#endif
