/* The event queue of a simulation: what happens next on a virtual clock.
 *
 * Time is counted in whole picoseconds, so that sums close and a run gives the same times on every
 * machine. Events come out by time, and those of one time by their key: what the caller packs into
 * a key names the event and decides ties, whatever the order in which events were put in. */
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

typedef struct pod_engine pod_engine;

POD_MUST pod_status pod_engine_create(const pod_alloc *from, pod_engine **out); /* NULL: default */
void pod_engine_destroy(pod_engine *e); /* NULL is allowed */

/* Not before now. */
void pod_engine_push(pod_engine *e, int64_t at_ps, uint64_t key);
/* Takes out the next event and makes its time now; false when there is none, or when memory for
 * those to come was wanting: which of the two, check says. */
bool pod_engine_pop(pod_engine *e, pod_engine_event *out);
POD_MUST pod_status pod_engine_check(const pod_engine *e); /* E_NOMEM */

int64_t pod_engine_now(const pod_engine *e);      /* of the last event that came out, from 0 */
int64_t pod_engine_n_events(const pod_engine *e); /* that came out so far */

#endif
