/* A radix heap. What lies ahead is sorted by the highest digit in which its time differs from
 * `base`, and then by that digit: the lower either, the sooner. When all that is sooner has come
 * out, the next such bucket is dealt out anew, as seen from its own first time; a small one is
 * sorted. So an event is moved a few times from one array to the end of another, where a heap would
 * look for its place among all.
 *
 * Ahuja, Mehlhorn, Orlin, Tarjan, "Faster algorithms for the shortest path problem", 1990. */
#include "collectives/net/engine.h"

#include <inttypes.h>
#include <string.h>

#include "kernels/base/assert.h"

enum {
    LINE_BYTES = 64,
    TIME_BITS = 63,
    DIGIT_BITS = 6, /* its values are bits of a word */
    N_DIGITS = (TIME_BITS + DIGIT_BITS - 1) / DIGIT_BITS,
    N_VALUES = 1 << DIGIT_BITS,
    N_SMALL = 32, /* a bucket of so many events is sorted as it is */
    N_RUN = 32,   /* a run has at least so many, as far as there are: for who looks ahead */
    FIRST_CAPACITY = 64
};

typedef struct list {
    pod_engine_event *event;
    int64_t n, capacity;
} list;

struct pod_engine {
    pod_alloc memory;
    int64_t base_ps; /* what is no later is in `run` or `late`, what is later in `ahead` */
    list run;        /* in order, from next_run on still to come */
    list late;       /* a heap with two children a node: put in when `run` was made */
    list ahead[N_DIGITS][N_VALUES]; /* by the highest digit that is not base_ps's, and its value */
    uint64_t values[N_DIGITS];      /* of which there are some */
    uint64_t digits;                /* of which there are some values */
    list spare;                     /* for sorting */
    int64_t next_run;
    int64_t now_ps, n_out;
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
    if (l->event) e->memory.put(e->memory.ctx, l->event);
}

void pod_engine_destroy(pod_engine *e)
{
    if (!e) return;
    free_list(e, &e->run);
    free_list(e, &e->late);
    free_list(e, &e->spare);
    for (int d = 0; d < N_DIGITS; d++)
        for (int v = 0; v < N_VALUES; v++) free_list(e, &e->ahead[d][v]);
    e->memory.put(e->memory.ctx, e);
}

static bool has_room(pod_engine *e, list *l, int64_t n)
{
    if (n <= l->capacity) return true;
    int64_t capacity = l->capacity ? 2 * l->capacity : FIRST_CAPACITY;
    while (capacity < n) capacity *= 2;
    pod_engine_event *event =
        e->memory.get(e->memory.ctx, LINE_BYTES, (size_t)capacity * sizeof *event);
    if (!event) {
        e->has_lost = true;
        return false;
    }
    if (l->n) memcpy(event, l->event, (size_t)l->n * sizeof *event);
    free_list(e, l);
    l->event = event;
    l->capacity = capacity;
    return true;
}

pod_status pod_engine_check(const pod_engine *e)
{
    return e->has_lost ? pod_fail(POD_E_NOMEM, "event queue: no memory for what is to come")
                       : POD_OK;
}

static void append(pod_engine *e, list *l, pod_engine_event event)
{
    if (l->n == l->capacity && !has_room(e, l, l->n + 1)) return;
    l->event[l->n++] = event;
}

static bool is_before(pod_engine_event a, pod_engine_event b)
{
    return (a.at_ps < b.at_ps) | ((a.at_ps == b.at_ps) & (a.key < b.key));
}

/* ---- what comes in while its time is on ----------------------------------------------------- */

static void push_late(pod_engine *e, pod_engine_event event)
{
    append(e, &e->late, event);
    if (e->has_lost) return;
    pod_engine_event *heap = e->late.event;
    int64_t i = e->late.n - 1;
    for (; i > 0 && is_before(event, heap[(i - 1) / 2]); i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = event;
}

static pod_engine_event pop_late(pod_engine *e)
{
    pod_engine_event *heap = e->late.event;
    const pod_engine_event first = heap[0], last = heap[--e->late.n];
    const int64_t n = e->late.n;
    int64_t hole = 0;
    for (int64_t child = 1; child < n; child = 2 * hole + 1) {
        if (child + 1 < n && is_before(heap[child + 1], heap[child])) child++;
        if (!is_before(heap[child], last)) break;
        heap[hole] = heap[child];
        hole = child;
    }
    heap[hole] = last;
    return first;
}

/* ---- what is ahead -------------------------------------------------------------------------- */

static void push_ahead(pod_engine *e, pod_engine_event event)
{
    const int digit = (63 - __builtin_clzll((uint64_t)(event.at_ps ^ e->base_ps))) / DIGIT_BITS;
    const int value = (int)(event.at_ps >> digit * DIGIT_BITS) & (N_VALUES - 1);
    append(e, &e->ahead[digit][value], event);
    e->values[digit] |= UINT64_C(1) << value;
    e->digits |= UINT64_C(1) << digit;
}

static void sort_few(pod_engine_event event[], int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        const pod_engine_event own = event[i];
        int64_t k = i;
        for (; k > 0 && is_before(own, event[k - 1]); k--) event[k] = event[k - 1];
        event[k] = own;
    }
}

/* How many from the first on are in order. */
static int64_t n_in_order(const pod_engine_event event[], int64_t n)
{
    int64_t i = n > 0;
    while (i < n && !is_before(event[i], event[i - 1])) i++;
    return i;
}

static void merge(const pod_engine_event a[], int64_t n_a, const pod_engine_event b[], int64_t n_b,
                  pod_engine_event out[])
{
    int64_t i = 0, k = 0;
    while (i < n_a && k < n_b) {
        const bool takes_b = is_before(b[k], a[i]);
        *out++ = takes_b ? b[k] : a[i];
        k += takes_b;
        i += !takes_b;
    }
    memcpy(out, a + i, (size_t)(n_a - i) * sizeof *a);
    memcpy(out + (n_a - i), b + k, (size_t)(n_b - k) * sizeof *b);
}

/* Neighbouring stretches of the run's end that are in order are merged until there is one: what was
 * put in by events in order is a few of them. */
static void sort_end(pod_engine *e, int64_t first)
{
    const int64_t n = e->run.n;
    while (first + n_in_order(e->run.event + first, n - first) < n) {
        if (!has_room(e, &e->spare, n)) return;
        memcpy(e->spare.event, e->run.event, (size_t)first * sizeof *e->run.event);
        for (int64_t at = first; at < n;) {
            const pod_engine_event *a = e->run.event + at;
            const int64_t n_a = n_in_order(a, n - at);
            const int64_t n_b = n_in_order(a + n_a, n - at - n_a);
            merge(a, n_a, a + n_a, n_b, e->spare.event + at);
            at += n_a + n_b;
        }
        const list sorted = {e->spare.event, n, e->spare.capacity};
        e->spare = (list){e->run.event, 0, e->run.capacity};
        e->run = sorted;
    }
}

static int64_t first_time(const list *l)
{
    int64_t first_ps = l->event[0].at_ps;
    for (int64_t i = 1; i < l->n; i++)
        if (l->event[i].at_ps < first_ps) first_ps = l->event[i].at_ps;
    return first_ps;
}

/* Appends the soonest of what is ahead to the run, in order. */
static void take_bucket(pod_engine *e)
{
    const int digit = __builtin_ctzll(e->digits);
    list *sooner = &e->ahead[digit][__builtin_ctzll(e->values[digit])];
    e->values[digit] &= e->values[digit] - 1;
    if (e->values[digit] == 0) e->digits &= e->digits - 1;
    const int64_t first = e->run.n;
    if (!has_room(e, &e->run, first + sooner->n)) return;
    if (sooner->n <= N_SMALL) {
        memcpy(e->run.event + first, sooner->event, (size_t)sooner->n * sizeof *sooner->event);
        e->run.n += sooner->n;
        sort_few(e->run.event + first, sooner->n);
        e->base_ps = e->run.event[e->run.n - 1].at_ps;
    } else {
        e->base_ps = first_time(sooner);
        for (int64_t k = 0; k < sooner->n; k++) {
            if (sooner->event[k].at_ps == e->base_ps)
                e->run.event[e->run.n++] = sooner->event[k];
            else
                push_ahead(e, sooner->event[k]);
        }
        sort_end(e, first);
    }
    sooner->n = 0;
}

/* Makes the next run; false when nothing is ahead. */
static bool advance(pod_engine *e)
{
    if (e->digits == 0) return false;
    e->run.n = e->next_run = 0;
    while (e->run.n < N_RUN && e->digits != 0 && !e->has_lost) take_bucket(e);
    return !e->has_lost;
}

/* ---- in and out ----------------------------------------------------------------------------- */

void pod_engine_push(pod_engine *e, int64_t at_ps, uint64_t key)
{
    POD_DCHECK(at_ps >= e->now_ps, "an event at %" PRId64 " ps, now is %" PRId64, at_ps, e->now_ps);
    const pod_engine_event event = {at_ps, key};
    if (at_ps > e->base_ps)
        push_ahead(e, event);
    else
        push_late(e, event);
}

bool pod_engine_pop(pod_engine *e, pod_engine_event *out)
{
    if (e->has_lost) return false;
    if (e->next_run == e->run.n && e->late.n == 0 && !advance(e)) return false;
    const bool has_run = e->next_run < e->run.n;
    if (has_run && (e->late.n == 0 || is_before(e->run.event[e->next_run], e->late.event[0])))
        *out = e->run.event[e->next_run++];
    else
        *out = pop_late(e);
    e->now_ps = out->at_ps;
    e->n_out++;
    return true;
}

const pod_engine_event *pod_engine_soon(const pod_engine *e, int64_t *n)
{
    *n = e->run.n - e->next_run;
    return e->run.event + e->next_run;
}

int64_t pod_engine_now(const pod_engine *e) { return e->now_ps; }

int64_t pod_engine_n_events(const pod_engine *e) { return e->n_out; }
