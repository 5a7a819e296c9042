/* Saves checkpoints while training continues. The training loop only waits for a copy of the values
 * that this rank writes; a thread writes them, and rank 0's thread completes the checkpoint when
 * the shards of all ranks are there.
 *
 * The threads exchange no messages: they coordinate through the folder, which all ranks must
 * see. */
#ifndef MINIPOD_RUNTIME_TRAIN_SAVER_H
#define MINIPOD_RUNTIME_TRAIN_SAVER_H

#include <stdbool.h>

#include "collectives/exec/comm.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/exec/inject.h"
#include "runtime/exec/store.h"
#include "runtime/trace/timeline.h"

typedef struct pod_saver pod_saver;

typedef struct pod_saver_plan {
    const char *dir; /* the folder of the checkpoints, OUT/checkpoint, which exists */
    bool is_async;
    int64_t keep_last;    /* how many checkpoints to keep, at least 1 */
    int64_t keep_every;   /* keep_last does not apply to checkpoints of steps divisible by this,
                             also in later attempts; 0: none */
    bool keep_best;       /* keeps the checkpoint after the best evaluation, with the link `best` */
    double patience_s;    /* how long rank 0 waits for the shards of the others after writing its
                             own; 0: a minute */
    int64_t left_from;    /* existing checkpoints of this step and later ones are removed when the
                             first one of this saver is complete; 0: none are */
    pod_injection faults; /* faults of files; the thread calls `note` */
    const pod_eval_rows *evals; /* of the job, stored with each checkpoint; borrowed, may grow
                                   between saves; NULL: none */
    /* Clock for recording when values are copied and written and checkpoints completed; NULL:
     * nothing is recorded. */
    const pod_clock *clock;
} pod_saver_plan;

/* Allocates all memory and starts the thread. `info` is copied; its step is ignored. Collective. */
POD_MUST pod_status pod_saver_open(const pod_saver_plan *plan, const pod_checkpoint_info *info,
                                   pod_store *store, pod_comm *comm, pod_saver **out);

/* Saves the store as of `step` steps; a second call with the same step does nothing. Waits until
 * this rank's shard of the previous save is written. If a value is not finite the save fails;
 * failures are reported by pod_saver_failure and pod_saver_finish. Without is_async it returns
 * after the save has ended. Allocates nothing. Local if asynchronous, else collective. */
void pod_saver_begin(pod_saver *s, int64_t step);

/* Makes the timeline collect what the saver records, until pod_timeline_forget, which must come
 * before pod_saver_close. */
void pod_saver_follow(const pod_saver *s, pod_timeline *tl);

/* Returns whether this rank still works on a save. Local. */
bool pod_saver_is_busy(pod_saver *s);
/* Returns the step of the newest complete checkpoint of this saver, -1 if there is none; only rank
 * 0 knows it. Local. */
int64_t pod_saver_kept(pod_saver *s);

typedef struct pod_saver_whole {
    int64_t step;
    pod_stamp at; /* 0: the plan has no clock */
} pod_saver_whole;

/* Returns each checkpoint that has been completed once, oldest first, on rank 0; false: no new one.
 * Call it until it returns false after each pod_saver_begin: the saver remembers only the last
 * four. Local. */
bool pod_saver_next_whole(pod_saver *s, pod_saver_whole *out);
/* Returns the text of the last problem since the previous call, NULL if there is none: a save that
 * failed, a complete checkpoint to which the link `latest` was not moved, or an old checkpoint or
 * an unfinished save that could not be removed. The caller warns, and training continues. Local. */
const char *pod_saver_failure(pod_saver *s);

/* Waits for the saves in flight and returns the status of the last one. Collective. */
POD_MUST pod_status pod_saver_finish(pod_saver *s);
void pod_saver_close(pod_saver *s); /* NULL is allowed */

#endif
