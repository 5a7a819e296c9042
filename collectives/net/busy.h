/* What serves one after the other: a link, a sender, the sums of a rank. Who comes first goes
 * first.
 *
 * What is preferred does not wait for what is not, even if that is under way. Both then go at
 * their full rates, and the time is charged to those that come next: for that while, up to twice
 * the rate.
 */
#ifndef MINIPOD_COLLECTIVES_NET_BUSY_H
#define MINIPOD_COLLECTIVES_NET_BUSY_H

#include <stdbool.h>

#include "collectives/net/engine.h"

typedef struct pod_busy {
    int64_t free_ps;           /* for anyone */
    int64_t preferred_free_ps; /* for what is preferred; no later */
} pod_busy;

static inline int64_t pod_later(int64_t a, int64_t b) { return a > b ? a : b; }

/* One comes at at_ps and holds it for held_ps: answers from when. */
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
