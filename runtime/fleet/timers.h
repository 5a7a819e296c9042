/* The pending events of a simulation, as a binary heap in an array. The earliest event is first; at
 * one time the order is by kind, then by id. */
#ifndef MINIPOD_RUNTIME_FLEET_TIMERS_H
#define MINIPOD_RUNTIME_FLEET_TIMERS_H

#include <stdint.h>

#include "kernels/base/arena.h"
#include "runtime/core/clock.h"

typedef struct pod_timer {
    pod_stamp at;
    int kind, id;
    uint32_t epoch; /* the owner's when it was set; the timer is void if the owner's has changed */
} pod_timer;

typedef struct pod_timers {
    pod_timer *heap;
    int n, room;
} pod_timers;

POD_MUST pod_status pod_timers_add(pod_timers *t, pod_arena *a, pod_timer timer); /* E_NOMEM */
pod_timer pod_timers_take(pod_timers *t); /* removes and returns the first; there must be one */

#endif
