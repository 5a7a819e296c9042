#include "runtime/fleet/timers.h"

#include <stdbool.h>
#include <string.h>

enum { LEAST = 256 };

static bool is_before(const pod_timer *a, const pod_timer *b)
{
    if (a->at != b->at) return a->at < b->at;
    if (a->kind != b->kind) return a->kind < b->kind;
    return a->id != b->id ? a->id < b->id : a->epoch < b->epoch;
}

pod_status pod_timers_add(pod_timers *t, pod_arena *a, pod_timer timer)
{
    if (t->n == t->room) {
        const int room = t->room ? 2 * t->room : LEAST;
        pod_timer *larger = POD_ARENA_NEW(a, pod_timer, room);
        if (!larger) return POD_E_NOMEM;
        if (t->n > 0) memcpy(larger, t->heap, sizeof larger[0] * (size_t)t->n);
        t->heap = larger;
        t->room = room;
    }
    pod_timer *heap = t->heap;
    int at = t->n++;
    for (int up; at > 0 && is_before(&timer, &heap[up = (at - 1) / 2]); at = up)
        heap[at] = heap[up];
    heap[at] = timer;
    return POD_OK;
}

pod_timer pod_timers_take(pod_timers *t)
{
    const pod_timer first = t->heap[0], moved = t->heap[--t->n];
    int at = 0;
    for (int child; (child = 2 * at + 1) < t->n; at = child) {
        if (child + 1 < t->n && is_before(&t->heap[child + 1], &t->heap[child])) child++;
        if (!is_before(&t->heap[child], &moved)) break;
        t->heap[at] = t->heap[child];
    }
    t->heap[at] = moved;
    return first;
}
