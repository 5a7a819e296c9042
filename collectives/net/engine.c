/* A calendar of windows: events of the window that is under way are in a heap, those soon to come
 * in a list for each window, and those far ahead in a second heap. A list becomes the heap when
 * its window begins, so that a heap stays small enough for a cache however many events there are.
 *
 * Brown, "Calendar queues: a fast O(1) priority queue implementation for the simulation event set
 * problem", 1988. */
#include "collectives/net/engine.h"

#include <inttypes.h>
#include <string.h>

#include "kernels/base/assert.h"

enum {
    WINDOW_BITS = 16, /* a window is 2^16 ps: some hundred events of thousands of cores */
    N_NEAR = 4096,    /* windows that have a list, 268 us of them */
    FIRST_CAPACITY = 64,
    LINE_BYTES = 64
};

typedef pod_engine_event event;

typedef struct list {
    event *at;
    int64_t n, capacity;
} list;

struct pod_engine {
    list now;          /* a heap: events of `window`, and before it when it is put in late */
    list near[N_NEAR]; /* by window % N_NEAR */
    list far;          /* a heap: events that were N_NEAR windows ahead or more */
    int64_t window, n_near, now_ps, n_events;
    pod_alloc memory;
    bool has_lost; /* an event, for which there was no memory */
};

pod_status pod_engine_create(const pod_alloc *from, pod_engine **out)
{
    const pod_alloc memory = from ? *from : pod_alloc_default;
    pod_engine *e = memory.get(memory.ctx, LINE_BYTES, sizeof *e);
    if (!e) return pod_fail(POD_E_NOMEM, "event queue: no memory for %zu bytes", sizeof *e);
    *e = (pod_engine){.memory = memory};
    *out = e;
    return POD_OK;
}

static void free_list(pod_engine *e, list *l)
{
    if (l->at) e->memory.put(e->memory.ctx, l->at);
}

void pod_engine_destroy(pod_engine *e)
{
    if (!e) return;
    free_list(e, &e->now);
    free_list(e, &e->far);
    for (int w = 0; w < N_NEAR; w++) free_list(e, &e->near[w]);
    e->memory.put(e->memory.ctx, e);
}

static bool grow(pod_engine *e, list *l)
{
    const int64_t capacity = l->capacity ? 2 * l->capacity : FIRST_CAPACITY;
    event *at = e->memory.get(e->memory.ctx, LINE_BYTES, (size_t)capacity * sizeof *at);
    if (!at) {
        e->has_lost = true;
        return false;
    }
    if (l->n) memcpy(at, l->at, (size_t)l->n * sizeof *at);
    free_list(e, l);
    l->at = at;
    l->capacity = capacity;
    return true;
}

static bool append(pod_engine *e, list *l, event x)
{
    if (l->n == l->capacity && !grow(e, l)) return false;
    l->at[l->n++] = x;
    return true;
}

/* ---- heaps ---------------------------------------------------------------------------------- */

static bool is_before(event a, event b)
{
    return (a.at_ps < b.at_ps) | ((a.at_ps == b.at_ps) & (a.key < b.key));
}

static void push_heap(pod_engine *e, list *l, event x)
{
    if (!append(e, l, x)) return;
    int64_t i = l->n - 1;
    for (; i > 0 && is_before(x, l->at[(i - 1) / 2]); i = (i - 1) / 2)
        l->at[i] = l->at[(i - 1) / 2];
    l->at[i] = x;
}

/* Puts x where place i is empty, or below it. */
static void sift_down(list *l, int64_t i, event x)
{
    for (int64_t child = 2 * i + 1; child < l->n; child = 2 * i + 1) {
        if (child + 1 < l->n) child += is_before(l->at[child + 1], l->at[child]);
        if (!is_before(l->at[child], x)) break;
        l->at[i] = l->at[child];
        i = child;
    }
    l->at[i] = x;
}

static event pop_heap(list *l)
{
    const event first = l->at[0];
    l->n--;
    if (l->n > 0) sift_down(l, 0, l->at[l->n]);
    return first;
}

/* ---- windows -------------------------------------------------------------------------------- */

static int64_t window_of(event x) { return x.at_ps >> WINDOW_BITS; }

static bool is_far_due(const pod_engine *e)
{
    return e->far.n > 0 && window_of(e->far.at[0]) <= e->window;
}

/* Begins the next window that has events; false when there is none. */
static bool advance(pod_engine *e)
{
    if (e->n_near == 0 && e->far.n == 0) return false;
    if (e->n_near == 0)
        e->window = window_of(e->far.at[0]);
    else
        do e->window++;
        while (e->near[e->window % N_NEAR].n == 0 && !is_far_due(e));
    list *begun = &e->near[e->window % N_NEAR];
    const list empty = e->now;
    e->now = *begun;
    *begun = empty;
    e->n_near -= e->now.n;
    for (int64_t i = e->now.n / 2; i-- > 0;) sift_down(&e->now, i, e->now.at[i]);
    while (is_far_due(e)) push_heap(e, &e->now, pop_heap(&e->far));
    return true;
}

/* ---- in and out ----------------------------------------------------------------------------- */

void pod_engine_push(pod_engine *e, int64_t at_ps, uint64_t key)
{
    const event x = {at_ps, key};
    const int64_t ahead = window_of(x) - e->window;
    POD_DCHECK(at_ps >= e->now_ps, "an event at %" PRId64 " ps, now is %" PRId64, at_ps, e->now_ps);
    if (ahead <= 0)
        push_heap(e, &e->now, x);
    else if (ahead >= N_NEAR)
        push_heap(e, &e->far, x);
    else
        e->n_near += append(e, &e->near[window_of(x) % N_NEAR], x);
}

bool pod_engine_pop(pod_engine *e, pod_engine_event *out)
{
    if (e->now.n == 0 && !advance(e)) return false;
    if (e->has_lost) return false;
    *out = pop_heap(&e->now);
    e->now_ps = out->at_ps;
    e->n_events++;
    return true;
}

pod_status pod_engine_check(const pod_engine *e)
{
    return e->has_lost ? pod_fail(POD_E_NOMEM, "event queue: no memory for what is to come")
                       : POD_OK;
}

int64_t pod_engine_now(const pod_engine *e) { return e->now_ps; }

int64_t pod_engine_n_events(const pod_engine *e) { return e->n_events; }
