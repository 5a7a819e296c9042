/* A heap in which a node has four children: half as deep as with two, and the four lie together. */
#include "collectives/net/engine.h"

#include <inttypes.h>
#include <string.h>

#include "kernels/base/assert.h"

enum { N_CHILDREN = 4, LINE_BYTES = 64 };

/* The children of a node fill a cache line: those of the first begin at heap[1]. */
enum { N_SKIPPED = N_CHILDREN - 1 };
_Static_assert(N_CHILDREN * sizeof(pod_engine_event) == LINE_BYTES, "children of a node");

struct pod_engine {
    pod_alloc memory;
    pod_engine_event *lines, *heap; /* heap = lines + N_SKIPPED */
    int64_t n, capacity;
    int64_t now_ps, n_out;
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

void pod_engine_destroy(pod_engine *e)
{
    if (!e) return;
    const pod_alloc memory = e->memory;
    if (e->lines) memory.put(memory.ctx, e->lines);
    memory.put(memory.ctx, e);
}

pod_status pod_engine_reserve(pod_engine *e, int64_t n)
{
    const int64_t capacity = e->capacity + n;
    const size_t bytes = (size_t)(N_SKIPPED + capacity) * sizeof *e->heap;
    /* Not from an arena, which would write to all of it: few events wait at a time, and memory that
     * is not touched is not taken. */
    pod_engine_event *lines = e->memory.get(e->memory.ctx, LINE_BYTES, bytes);
    if (!lines)
        return pod_fail(POD_E_NOMEM, "event queue: no memory for %" PRId64 " events", capacity);
    if (e->n) memcpy(lines + N_SKIPPED, e->heap, (size_t)e->n * sizeof *lines);
    if (e->lines) e->memory.put(e->memory.ctx, e->lines);
    e->lines = lines;
    e->heap = lines + N_SKIPPED;
    e->capacity = capacity;
    return POD_OK;
}

static bool is_before(pod_engine_event a, pod_engine_event b)
{
    return (a.at_ps < b.at_ps) | ((a.at_ps == b.at_ps) & (a.key < b.key));
}

/* The first of the children, of which there are all: compared in pairs and without a branch, which
 * nothing could foretell. */
static int64_t first_of_all(const pod_engine_event child[])
{
    const int64_t a = is_before(child[1], child[0]);
    const int64_t b = 2 + is_before(child[3], child[2]);
    return a + (b - a) * is_before(child[b], child[a]);
}

static int64_t first_of_few(const pod_engine_event child[], int64_t n)
{
    int64_t first = 0;
    for (int64_t c = 1; c < n; c++)
        if (is_before(child[c], child[first])) first = c;
    return first;
}

/* Moves the hole at i up to where `event` belongs. */
static void sift_up(pod_engine_event *heap, int64_t i, pod_engine_event event)
{
    while (i > 0) {
        const int64_t parent = (i - 1) / N_CHILDREN;
        if (!is_before(event, heap[parent])) break;
        heap[i] = heap[parent];
        i = parent;
    }
    heap[i] = event;
}

void pod_engine_push(pod_engine *e, int64_t at_ps, uint64_t key)
{
    POD_DCHECK(at_ps >= e->now_ps, "an event at %" PRId64 " ps, now is %" PRId64, at_ps, e->now_ps);
    POD_ASSERT(e->n < e->capacity, "%" PRId64 " events wait, room for %" PRId64, e->n, e->capacity);
    sift_up(e->heap, e->n++, (pod_engine_event){at_ps, key});
}

bool pod_engine_pop(pod_engine *e, pod_engine_event *out)
{
    if (e->n == 0) return false;
    pod_engine_event *heap = e->heap;
    *out = heap[0];
    e->now_ps = out->at_ps;
    e->n_out++;
    /* The hole sinks to a leaf, and the last event, which is late as a rule, rises from there. */
    const int64_t n = --e->n;
    int64_t hole = 0;
    for (int64_t child = 1; child < n; child = N_CHILDREN * hole + 1) {
        child += n - child >= N_CHILDREN ? first_of_all(heap + child)
                                         : first_of_few(heap + child, n - child);
        heap[hole] = heap[child];
        hole = child;
    }
    if (n > 0) sift_up(heap, hole, heap[n]);
    return true;
}

const pod_engine_event *pod_engine_soon(const pod_engine *e, int *n)
{
    *n = e->n < N_CHILDREN + 1 ? (int)e->n : N_CHILDREN + 1;
    return e->heap;
}

int64_t pod_engine_now(const pod_engine *e) { return e->now_ps; }

int64_t pod_engine_n_events(const pod_engine *e) { return e->n_out; }
