/* A resource that serves one request at a time: a link, a sender, the sums of a rank. First come,
 * first served.
 *
 * A preferred request does not wait for others, even if one is being served. Both are then served
 * at full rate, and later requests wait correspondingly longer: meanwhile the resource works at up
 * to twice its rate. */
#ifndef MINIPOD_COLLECTIVES_NET_BUSY_H
#define MINIPOD_COLLECTIVES_NET_BUSY_H

#include <stdbool.h>

#include "collectives/net/engine.h"

typedef struct pod_busy {
    int64_t free_ps;           /* free for any request */
    int64_t preferred_free_ps; /* free for preferred requests; not later than free_ps */
} pod_busy;

static inline int64_t pod_later(int64_t a, int64_t b) { return a > b ? a : b; }

/* Serves a request that arrives at at_ps for held_ps; returns the time when it begins. */
static inline int64_t pod_busy_take(pod_busy *b, int64_t at_ps, int64_t held_ps, bool is_preferred)
{
    if (!is_preferred) {
        const int64_t start_ps = pod_later(b->free_ps, at_ps);
        b->free_ps = pod_ps_add(start_ps, held_ps);
        return start_ps;
    }
    const int64_t start_ps = pod_later(b->preferred_free_ps, at_ps);
    b->preferred_free_ps = pod_ps_add(start_ps, held_ps);
    b->free_ps = pod_ps_add(pod_later(b->free_ps, start_ps), held_ps);
    return start_ps;
}

#endif
