/* The event queue of a simulation: what happens next on a virtual clock.
 *
 * Time is counted in whole picoseconds, so that sums close and a run gives the same times on every
 * machine. Events come out by time, and those of one time by their key: what the caller packs into
 * a key names the event and decides ties, whatever the order in which events were put in.
 *
 * With places (pod_engine_places) that order is kept at each place alone. Time is cut into windows,
 * short enough that what happens at a place in one of them changes nothing elsewhere before the
 * next: then all that a window has for one place may come out before what it has for another.
 *
 *     at 0.1 a, 0.2 b, 0.3 a, 0.4 a, and at 1.1 b, 1.2 a; windows of 1     a a a b, a b
 *
 * So an event finds what the one before it used still at hand, and only events of one place and
 * window are sorted by time. */
#ifndef MINIPOD_COLLECTIVES_NET_ENGINE_H
#define MINIPOD_COLLECTIVES_NET_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/arena.h"
#include "kernels/base/status.h"

/* Later than everything; sums that would pass it end here. Two bits are left above it. */
#define POD_PS_NEVER (INT64_MAX / 2)

/* The nearest picosecond; NaN and what lies beyond 53 days is POD_PS_NEVER, below 0 is 0. */
static inline int64_t pod_ps(double seconds)
{
    const double ps = seconds * 1e12 + 0.5;
    if (ps < 1) return 0;
    return ps < 4.6e18 ? (int64_t)ps : POD_PS_NEVER;
}

static inline double pod_ps_seconds(int64_t ps) { return (double)ps * 1e-12; }

/* a + b for a, b >= 0. */
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
    uint64_t mask;        /* the bits of a key that `place` is by */
    const int16_t *place; /* by key & mask; below n */
    uint64_t elsewhere;   /* but a key with any of these bits is at find(ctx, key) */
    int (*find)(const void *ctx, uint64_t key);
    const void *ctx;
} pod_engine_places;

typedef struct pod_engine pod_engine;

POD_MUST pod_status pod_engine_create(const pod_alloc *from, pod_engine **out); /* NULL: default */
void pod_engine_destroy(pod_engine *e); /* NULL is allowed */

/* From now on; NULL: one place. While no event is in the queue. What `p` points to is borrowed.
 * E_NOMEM. */
POD_MUST pod_status pod_engine_set_places(pod_engine *e, const pod_engine_places *p);

/* Not before one that came out, as they come out. */
void pod_engine_push(pod_engine *e, int64_t at_ps, uint64_t key);
bool pod_engine_may_push(const pod_engine *e, int64_t at_ps, uint64_t key);
/* Takes out the next event and makes its time now; false when there is none, or when memory for
 * those to come was wanting: which of the two, check tells. */
bool pod_engine_pop(pod_engine *e, pod_engine_event *out);
POD_MUST pod_status pod_engine_check(const pod_engine *e); /* E_NOMEM */

typedef struct pod_engine_entry { /* an event in the queue */
    uint64_t order;               /* of the time and the place, in a window */
    uint64_t key;
} pod_engine_entry;

/* Events that will come next, one after the other, as far as nothing is put in between: for who
 * wants their data at hand. Borrowed until the queue changes. */
const pod_engine_entry *pod_engine_soon(const pod_engine *e, int64_t *n);

/* Of the last event that came out, from 0; when there is none left, of the latest. */
int64_t pod_engine_now(const pod_engine *e);
int64_t pod_engine_n_events(const pod_engine *e); /* that came out so far */

#endif
