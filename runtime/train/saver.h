/* Saving while training goes on: a step pays for a copy of what this rank writes; a thread writes
 * it, and rank 0's thread makes the checkpoint whole when every rank's part is there.
 *
 * No messages: ranks meet in the folder, which all of them see. */
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
    const char *dir; /* the checkpoints' folder, DIR/checkpoint; it exists */
    bool is_async;
    int64_t keep_last;    /* checkpoints, at least 1; never fewer than one that is whole */
    int64_t keep_every;   /* those of steps that it divides are saved to be kept for ever, by later
                           attempts, too; 0: none */
    bool keep_best;       /* the one saved after the best of `evals` is `best`, and stays */
    double patience_s;    /* of rank 0 with the shards of the others, once its own is written;
                           0: a minute */
    int64_t left_from;    /* checkpoints that are there, of this step and later ones, go as soon as
                           one of this saver is whole; 0: none do */
    pod_injection faults; /* of files; the thread notes them */
    const pod_eval_rows *evals; /* of the job, kept with each save; borrowed, and may grow in
                                   between; NULL: none are kept */
    /* By which it writes down what is copied, written, committed and whole when; NULL: it does
     * not. */
    const pod_clock *clock;
} pod_saver_plan;

/* Takes all memory. `info` is copied but for its step. Collective. */
POD_MUST pod_status pod_saver_open(const pod_saver_plan *plan, const pod_checkpoint_info *info,
                                   pod_store *store, pod_comm *comm, pod_saver **out);

/* Saves what the store holds after `step` steps; the same step again does nothing. Waits until this
 * rank's part of the save before is written. Not finite values are not saved: the failure is kept
 * as any other. Without is_async it returns when the checkpoint is whole. Takes no memory. Local
 * when asynchronous, else collective. */
void pod_saver_begin(pod_saver *s, int64_t step);

/* The timeline takes what is written down, until it forgets it: before close. */
void pod_saver_follow(const pod_saver *s, pod_timeline *tl);

/* A save is under way, as far as this rank has to do with it. Local. */
bool pod_saver_is_busy(pod_saver *s);
/* The latest checkpoint that is whole, -1: none of this run; known to rank 0. Local. */
int64_t pod_saver_kept(pod_saver *s);

typedef struct pod_saver_whole {
    int64_t step;
    pod_stamp at; /* 0: the plan has no clock */
} pod_saver_whole;

/* Those that became whole, each once, oldest first; known to rank 0. Who asks behind each begin
 * misses none: three can come to it at most, of one that is being made whole, one that waits, and
 * the one that begins. Local. */
bool pod_saver_next_whole(pod_saver *s, pod_saver_whole *out);
/* A save that failed since the last call, one that is whole and `latest` not moved to it, or what
 * could not be removed, of older ones or as it was opened: the latest of it, once, to be told;
 * NULL: nothing. Training goes on. Local. */
const char *pod_saver_failure(pod_saver *s);

/* Waits for saves in flight; the status of the last one. Collective. */
POD_MUST pod_status pod_saver_finish(pod_saver *s);
void pod_saver_close(pod_saver *s); /* NULL is allowed */

#endif
