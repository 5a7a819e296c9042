/* A track records what one thread does over time, for another thread to read: a ring that its owner
 * fills and one reader empties, without a lock. All memory is allocated at creation; entries that
 * find the ring full are dropped and counted. */
#ifndef MINIPOD_RUNTIME_CORE_TRACK_H
#define MINIPOD_RUNTIME_CORE_TRACK_H

#include <stdbool.h>

#include "kernels/base/arena.h"
#include "runtime/core/clock.h"

typedef enum pod_deed { /* entries of a timeline other than instructions */
                        POD_DEED_NONE,
                        POD_DEED_BATCH, /* rows of a batch are prepared */
                        POD_DEED_EVAL_BATCH,
                        POD_DEED_SAVE_WAIT, /* wait for the previous save */
                        POD_DEED_SAVE_COPY,
                        POD_DEED_SAVE_WRITE,
                        POD_DEED_SAVE_COMMIT,
                        POD_DEED_EVALUATION,
                        POD_DEED_ATTEMPT, /* an attempt begins */
                        POD_DEED_FAULT,   /* a fault is injected */
                        POD_N_DEEDS
} pod_deed;

const char *pod_deed_name(pod_deed d); /* "batch" */

typedef struct pod_done { /* one entry */
    pod_time begin, end;
    int64_t number; /* its step, from 1; for an attempt or a fault, its number */
    pod_deed deed;
} pod_done;

typedef struct pod_track pod_track;

/* Lives in the arena. Times are those of `clock`. E_NOMEM. */
POD_MUST pod_status pod_track_create(pod_arena *a, const pod_clock *clock, int room,
                                     pod_track **out);

/* For the owner. With NULL they record nothing, at time 0. */
pod_time pod_track_now(const pod_track *t);
void pod_track_put(pod_track *t, pod_deed deed, int64_t number, pod_time begin, pod_time end);

/* For the reader: takes the oldest entry; false if there is none. */
bool pod_track_take(pod_track *t, pod_done *out);
int64_t pod_track_dropped(const pod_track *t); /* so far; for any thread */

#endif
