/* What does one thing at a time: a link, a sender, the sums of a rank.
 *
 * Who comes first goes first; but what is preferred waits for what is preferred alone, and those
 * behind it wait as much longer. What had its turn before keeps its times: for as long as both hold
 * it, it is shared, as links are that send packets of several messages by turns. */
#ifndef MINIPOD_COLLECTIVES_NET_BUSY_H
#define MINIPOD_COLLECTIVES_NET_BUSY_H

#include <stdbool.h>

#include "collectives/net/engine.h"

typedef struct pod_busy {
    int64_t free_ps;           /* for anyone */
    int64_t preferred_free_ps; /* for what is preferred; no later */
} pod_busy;

static inline int64_t pod_later(int64_t a, int64_t b) { return a > b ? a : b; }

/* Held for held_ps, for one that comes at at_ps: from when. */
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
