/* The event queue of a simulation on a virtual clock.
 *
 * Time is counted in whole picoseconds, so that sums are exact and a simulation gives the same
 * times on every machine. Events are popped by time, and those of the same time by key. The caller
 * encodes the event in the key, so ties do not depend on the order in which events were pushed.
 *
 * With places (pod_engine_places) this order holds only among the events of each place. Time is
 * divided into windows that are so short that an event at one place affects other places only in
 * later windows: then all events of a window at one place may be popped before those at another.
 *
 *     at 0.1 a, 0.2 b, 0.3 a, 0.4 a, and at 1.1 b, 1.2 a; windows of 1     a a a b, a b
 *
 * So the data of an event are often still in the cache from the event before, and only events of
 * one place and window need to be sorted by time. */
#ifndef MINIPOD_COLLECTIVES_NET_ENGINE_H
#define MINIPOD_COLLECTIVES_NET_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/arena.h"
#include "kernels/base/status.h"

/* Later than every event; sums saturate here. Leaves two bits above it. */
#define POD_PS_NEVER (INT64_MAX / 2)

/* Returns the nearest picosecond; POD_PS_NEVER for NaN and times beyond 53 days; 0 for negative
 * times. */
static inline int64_t pod_ps(double seconds)
{
    const double ps = seconds * 1e12 + 0.5;
    if (ps < 1) return 0;
    return ps < 4.6e18 ? (int64_t)ps : POD_PS_NEVER;
}

static inline double pod_ps_seconds(int64_t ps) { return (double)ps * 1e-12; }

/* Returns a + b for a, b >= 0, at most POD_PS_NEVER. */
static inline int64_t pod_ps_add(int64_t a, int64_t b)
{
    return a > POD_PS_NEVER - b ? POD_PS_NEVER : a + b;
}

typedef struct pod_engine_event {
    int64_t at_ps;
    uint64_t key;
} pod_engine_event;

enum { POD_ENGINE_PLACE_BITS = 12, POD_ENGINE_MAX_PLACES = 1 << POD_ENGINE_PLACE_BITS };

typedef struct pod_engine_places {
    int n;                /* at most POD_ENGINE_MAX_PLACES */
    int window_bits;      /* a window is 2^window_bits ps */
    uint64_t mask;        /* bits of a key that index `place` */
    const int16_t *place; /* by key & mask; values are below n */
    uint64_t elsewhere;   /* keys with any of these bits are at find(ctx, key) instead */
    int (*find)(const void *ctx, uint64_t key);
    const void *ctx;
} pod_engine_places;

typedef struct pod_engine pod_engine;

POD_MUST pod_status pod_engine_create(const pod_alloc *from, pod_engine **out); /* NULL: default */
void pod_engine_destroy(pod_engine *e); /* NULL is allowed */

/* Sets the places; NULL: one place. The queue must be empty. The arrays of `p` are borrowed. Fails
 * with E_NOMEM. */
POD_MUST pod_status pod_engine_set_places(pod_engine *e, const pod_engine_places *p);

/* Adds an event, which must not precede the last popped one in the order of the queue;
 * pod_engine_may_push tells. */
void pod_engine_push(pod_engine *e, int64_t at_ps, uint64_t key);
bool pod_engine_may_push(const pod_engine *e, int64_t at_ps, uint64_t key);
/* Removes the next event and sets the time to its own; returns false if there is none, or if memory
 * for pushed events was missing: pod_engine_check then fails. */
bool pod_engine_pop(pod_engine *e, pod_engine_event *out);
POD_MUST pod_status pod_engine_check(const pod_engine *e); /* E_NOMEM */

typedef struct pod_engine_entry { /* an event in the queue */
    uint64_t order;               /* encodes time and place within a window */
    uint64_t key;
} pod_engine_entry;

/* Returns the next events in order, unless others are pushed before them: for prefetching their
 * data. Borrowed until the queue changes. */
const pod_engine_entry *pod_engine_soon(const pod_engine *e, int64_t *n);

/* Returns the time of the last popped event (initially 0); if the queue is empty, the latest time
 * of any event. */
int64_t pod_engine_now(const pod_engine *e);
int64_t pod_engine_n_events(const pod_engine *e); /* popped so far */

#endif
