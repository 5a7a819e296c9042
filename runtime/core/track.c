#include "runtime/core/track.h"

#include <stdatomic.h>

#include "kernels/base/assert.h"

/* Entry i of all that were put stands at i mod room. Whoever sees a count sees the entries that it
 * counts: the owner moves n_put behind what it wrote, the reader n_taken behind what it read. */
struct pod_track {
    pod_clock clock;
    int64_t room;
    pod_done *entry;
    _Atomic int64_t n_put, n_taken, n_dropped;
};

const char *pod_deed_name(pod_deed d)
{
    static const char *const name[POD_N_DEEDS] = {
        "none",       "batch",       "evaluation batch", "wait for the save before",
        "save: copy", "save: write", "save: commit",     "evaluation",
        "attempt",    "fault"};
    return name[d];
}

pod_status pod_track_create(pod_arena *a, const pod_clock *clock, int room, pod_track **out)
{
    POD_ASSERT(room > 0, "a track of %d entries", room);
    pod_track *t = POD_ARENA_NEW(a, pod_track, 1);
    pod_done *entry = POD_ARENA_NEW(a, pod_done, room);
    if (!t || !entry) return POD_E_NOMEM;
    t->clock = *clock;
    t->room = room;
    t->entry = entry;
    *out = t;
    return POD_OK;
}

pod_time pod_track_now(const pod_track *t) { return t ? pod_clock_now(&t->clock) : 0; }

void pod_track_put(pod_track *t, pod_deed deed, int64_t number, pod_time begin, pod_time end)
{
    if (!t) return;
    const int64_t n = atomic_load_explicit(&t->n_put, memory_order_relaxed);
    if (n - atomic_load_explicit(&t->n_taken, memory_order_acquire) == t->room) {
        atomic_fetch_add_explicit(&t->n_dropped, 1, memory_order_relaxed);
        return;
    }
    t->entry[n % t->room] = (pod_done){.begin = begin, .end = end, .number = number, .deed = deed};
    atomic_store_explicit(&t->n_put, n + 1, memory_order_release);
}

bool pod_track_take(pod_track *t, pod_done *out)
{
    const int64_t n = atomic_load_explicit(&t->n_taken, memory_order_relaxed);
    if (n == atomic_load_explicit(&t->n_put, memory_order_acquire)) return false;
    *out = t->entry[n % t->room];
    atomic_store_explicit(&t->n_taken, n + 1, memory_order_release);
    return true;
}

int64_t pod_track_dropped(const pod_track *t)
{
    return atomic_load_explicit(&t->n_dropped, memory_order_relaxed);
}
