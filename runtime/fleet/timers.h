/* What is to happen, the earliest first: a binary heap in an array. At one instant the order is that
 * of kinds, then of ids. */
#ifndef MINIPOD_RUNTIME_FLEET_TIMERS_H
#define MINIPOD_RUNTIME_FLEET_TIMERS_H

#include <stdint.h>

#include "kernels/base/arena.h"
#include "runtime/core/clock.h"

typedef struct pod_timer {
    pod_stamp at;
    int kind, id;
    uint32_t epoch; /* the owner's, as it was set: a later epoch makes it void */
} pod_timer;

typedef struct pod_timers {
    pod_timer *heap;
    int n, room;
} pod_timers;

POD_MUST pod_status pod_timers_add(pod_timers *t, pod_arena *a, pod_timer timer); /* E_NOMEM */
pod_timer pod_timers_take(pod_timers *t); /* the first, of at least one */

#endif
