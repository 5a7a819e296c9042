/* A calendar of windows. Those soon to come have a list each; the others are in a radix heap,
 * sorted by the highest digit in which they differ from the present window and then by that digit:
 * the lower either, the sooner. When all that is sooner has come out, the next such list is dealt
 * out anew, as seen from its own first window. The events of the present window are dealt by place,
 * and the few of a place sorted. So an event is moved two or three times from one array to the end
 * of another, where a heap would look for its place among all.
 *
 * Brown, "Calendar queues", 1988. Ahuja, Mehlhorn, Orlin, Tarjan, "Faster algorithms for the
 * shortest path problem", 1990. */
#include "collectives/net/engine.h"

#include <inttypes.h>
#include <string.h>

#include "kernels/base/assert.h"

enum {
    LINE_BYTES = 64,
    TIME_BITS = 63,
    NEAR_BITS = 10, /* so many lowest bits of a window tell its list */
    N_NEAR = 1 << NEAR_BITS,
    WORD_BITS = 64,
    DIGIT_BITS = 6, /* its values are bits of a word */
    N_DIGITS = (TIME_BITS - NEAR_BITS) / DIGIT_BITS + 1,
    N_VALUES = 1 << DIGIT_BITS,
    ONE_PLACE_BITS = 16, /* of a window where there is one place */
    N_SMALL = 32,        /* so many events are sorted as they are */
    N_POOL = 64,
    FIRST_CAPACITY = 64
};

/* What is seldom done does not make what is done for each event save registers. */
#define SELDOM __attribute__((noinline))

typedef pod_engine_entry entry; /* in a digit's list its order is its time */

typedef struct list {
    entry *at;
    int64_t n, capacity;
} list;

struct pod_engine {
    const entry *next, *end; /* what is still to come of `run` */
    list late;               /* a heap with two children a node: put in when `run` was made */
    int64_t origin_ps;       /* where the window of `run` begins */
    uint64_t in_window;      /* mask of the bits of an order that are the time since then */
    uint64_t last_order;     /* of what came out */
    int64_t now_ps;
    int64_t latest_ps; /* of what went in */
    int64_t base;      /* the window of `run`; what is later is in a list */
    int window_bits;
    pod_engine_places places;
    pod_alloc memory;
    list run;
    list near[N_NEAR]; /* windows that differ from `base` in their lowest bits only */
    uint64_t near_some[N_NEAR / WORD_BITS], near_words; /* which are not empty */
    list far[N_DIGITS][N_VALUES]; /* by the highest digit that is not base's, and its value */
    uint64_t values[N_DIGITS];    /* of which there are some */
    uint64_t digits;              /* of which there are some values */
    list spare;                   /* for sorting */
    list pool[N_POOL]; /* memory of windows that are over: the last one is still in the cache */
    int n_pool;
    int32_t *n_before;  /* (places.n) */
    int64_t n_out_late; /* that came out, and in and out of `run` */
    int64_t n_run;
    bool has_ended; /* all that went in came out */
    bool has_lost;  /* an event, for which there was no memory */
};

pod_status pod_engine_create(const pod_alloc *from, pod_engine **out)
{
    const pod_alloc memory = from ? *from : pod_alloc_default;
    pod_engine *e = memory.get(memory.ctx, LINE_BYTES, sizeof *e);
    if (!e) return pod_fail(POD_E_NOMEM, "event queue: no memory for %zu bytes", sizeof *e);
    *e = (pod_engine){.memory = memory};
    const pod_status status = pod_engine_set_places(e, NULL);
    if (status != POD_OK) {
        pod_engine_destroy(e);
        return status;
    }
    *out = e;
    return POD_OK;
}

static bool is_empty(const pod_engine *e)
{
    return e->next == e->end && e->late.n == 0 && e->digits == 0 && e->near_words == 0;
}

pod_status pod_engine_set_places(pod_engine *e, const pod_engine_places *p)
{
    static const int16_t the_place;
    const pod_engine_places one = {.n = 1, .window_bits = ONE_PLACE_BITS, .place = &the_place};
    POD_ASSERT(is_empty(e), "places change while events are queued");
    const pod_engine_places places = p ? *p : one;
    POD_ASSERT(places.n >= 1 && places.n <= POD_ENGINE_MAX_PLACES, "%d places, at most %d",
               places.n, POD_ENGINE_MAX_PLACES);
    int32_t *n_before =
        e->memory.get(e->memory.ctx, LINE_BYTES, (size_t)places.n * sizeof *n_before);
    if (!n_before) return pod_fail(POD_E_NOMEM, "event queue: no memory for %d places", places.n);
    if (e->n_before) e->memory.put(e->memory.ctx, e->n_before);
    e->n_before = n_before;
    e->places = places;
    e->window_bits = places.window_bits;
    e->in_window = (UINT64_C(1) << e->window_bits) - 1;
    e->base = -1;
    return POD_OK;
}

static void free_list(pod_engine *e, list *l)
{
    if (l->at) e->memory.put(e->memory.ctx, l->at);
}

void pod_engine_destroy(pod_engine *e)
{
    if (!e) return;
    free_list(e, &e->run);
    free_list(e, &e->late);
    free_list(e, &e->spare);
    for (int w = 0; w < N_NEAR; w++) free_list(e, &e->near[w]);
    for (int d = 0; d < N_DIGITS; d++)
        for (int v = 0; v < N_VALUES; v++) free_list(e, &e->far[d][v]);
    for (int i = 0; i < e->n_pool; i++) free_list(e, &e->pool[i]);
    if (e->n_before) e->memory.put(e->memory.ctx, e->n_before);
    e->memory.put(e->memory.ctx, e);
}

SELDOM static bool has_room(pod_engine *e, list *l, int64_t n)
{
    if (n <= l->capacity) return true;
    if (l->capacity == 0 && e->n_pool > 0) *l = e->pool[--e->n_pool];
    if (n <= l->capacity) return true;
    int64_t capacity = l->capacity ? 2 * l->capacity : FIRST_CAPACITY;
    while (capacity < n) capacity *= 2;
    entry *at = e->memory.get(e->memory.ctx, LINE_BYTES, (size_t)capacity * sizeof *at);
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

pod_status pod_engine_check(const pod_engine *e)
{
    return e->has_lost ? pod_fail(POD_E_NOMEM, "event queue: no memory for what is to come")
                       : POD_OK;
}

static void append(pod_engine *e, list *l, entry x)
{
    if (l->n == l->capacity && !has_room(e, l, l->n + 1)) return;
    l->at[l->n++] = x;
}

static bool is_before(entry a, entry b)
{
    return (a.order < b.order) | ((a.order == b.order) & (a.key < b.key));
}

/* ---- windows and places --------------------------------------------------------------------- */

static int64_t window_of(const pod_engine *e, int64_t at_ps) { return at_ps >> e->window_bits; }

/* In a window: places first, at a place times. */
static uint64_t order_of(const pod_engine *e, int64_t at_ps, uint64_t key)
{
    const int place = key & e->places.elsewhere ? e->places.find(e->places.ctx, key)
                                                : e->places.place[key & e->places.mask];
    return (uint64_t)place << e->window_bits | ((uint64_t)at_ps & e->in_window);
}

/* ---- what comes in while its time is on ----------------------------------------------------- */

SELDOM static void push_late(pod_engine *e, entry x)
{
    append(e, &e->late, x);
    if (e->has_lost) return;
    entry *heap = e->late.at;
    int64_t i = e->late.n - 1;
    for (; i > 0 && is_before(x, heap[(i - 1) / 2]); i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
    heap[i] = x;
}

static entry pop_late(pod_engine *e)
{
    entry *heap = e->late.at;
    const entry first = heap[0], last = heap[--e->late.n];
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

/* ---- sorting -------------------------------------------------------------------------------- */

static void sort_few(entry at[], int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        const entry own = at[i];
        int64_t k = i;
        for (; k > 0 && is_before(own, at[k - 1]); k--) at[k] = at[k - 1];
        at[k] = own;
    }
}

/* How many from the first on are in order. */
static int64_t n_in_order(const entry at[], int64_t n)
{
    int64_t i = n > 0;
    while (i < n && !is_before(at[i], at[i - 1])) i++;
    return i;
}

static void merge(const entry a[], int64_t n_a, const entry b[], int64_t n_b, entry out[])
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

/* Neighbouring stretches that are in order are merged until there is one: what was put in by events
 * in order is a few of them. */
static void sort_many(entry at[], int64_t n, entry spare[])
{
    while (n_in_order(at, n) < n) {
        for (int64_t first = 0; first < n;) {
            const entry *a = at + first;
            const int64_t n_a = n_in_order(a, n - first);
            const int64_t n_b = n_in_order(a + n_a, n - first - n_a);
            merge(a, n_a, a + n_a, n_b, spare + first);
            first += n_a + n_b;
        }
        memcpy(at, spare, (size_t)n * sizeof *at);
    }
}

static void sort(entry at[], int64_t n, entry spare[])
{
    if (n <= N_SMALL)
        sort_few(at, n);
    else
        sort_many(at, n, spare);
}

/* By place, and those of each place on their own. */
static void sort_by_place(pod_engine *e, const entry at[], int64_t n, entry out[])
{
    int32_t *n_before = e->n_before;
    const int n_places = e->places.n, bits = e->window_bits;
    memset(n_before, 0, (size_t)n_places * sizeof *n_before);
    for (int64_t i = 0; i < n; i++) n_before[at[i].order >> bits]++;
    int32_t sum = 0;
    for (int k = 0; k < n_places; k++) {
        const int32_t own = n_before[k];
        n_before[k] = sum;
        sum += own;
    }
    for (int64_t i = 0; i < n; i++) out[n_before[at[i].order >> bits]++] = at[i];
    for (int64_t first = 0, end; first < n; first = end) {
        end = n_before[out[first].order >> bits];
        if (end > first + 1) sort(out + first, end - first, e->spare.at);
    }
}

/* ---- what is ahead -------------------------------------------------------------------------- */

SELDOM static void push_far(pod_engine *e, int64_t at_ps, uint64_t key)
{
    const int64_t window = window_of(e, at_ps);
    const uint64_t other = (uint64_t)(window ^ e->base) >> NEAR_BITS;
    const int digit = (63 - __builtin_clzll(other)) / DIGIT_BITS;
    const int value = (int)(window >> (NEAR_BITS + digit * DIGIT_BITS)) & (N_VALUES - 1);
    append(e, &e->far[digit][value], (entry){(uint64_t)at_ps, key});
    e->values[digit] |= UINT64_C(1) << value;
    e->digits |= UINT64_C(1) << digit;
}

static inline void push_ahead(pod_engine *e, int64_t at_ps, uint64_t key)
{
    const int64_t window = window_of(e, at_ps);
    if ((uint64_t)(window ^ e->base) >= N_NEAR) {
        push_far(e, at_ps, key);
        return;
    }
    const unsigned number = (unsigned)window & (N_NEAR - 1);
    append(e, &e->near[number], (entry){order_of(e, at_ps, key), key});
    e->near_some[number / WORD_BITS] |= UINT64_C(1) << number % WORD_BITS;
    e->near_words |= UINT64_C(1) << number / WORD_BITS;
}

/* The soonest list of the radix heap is dealt out, as seen from just before its first window. */
SELDOM static void deal_far(pod_engine *e)
{
    const int digit = __builtin_ctzll(e->digits);
    list *sooner = &e->far[digit][__builtin_ctzll(e->values[digit])];
    e->values[digit] &= e->values[digit] - 1;
    if (e->values[digit] == 0) e->digits &= e->digits - 1;
    uint64_t first_ps = sooner->at[0].order;
    for (int64_t i = 1; i < sooner->n; i++)
        if (sooner->at[i].order < first_ps) first_ps = sooner->at[i].order;
    e->base = window_of(e, (int64_t)first_ps);
    for (int64_t i = 0; i < sooner->n; i++)
        push_ahead(e, (int64_t)sooner->at[i].order, sooner->at[i].key);
    sooner->n = 0;
}

static void take_near(pod_engine *e)
{
    const int word = __builtin_ctzll(e->near_words), bit = __builtin_ctzll(e->near_some[word]);
    list *sooner = &e->near[word * WORD_BITS + bit];
    e->near_some[word] &= e->near_some[word] - 1;
    if (e->near_some[word] == 0) e->near_words &= e->near_words - 1;
    e->base = (e->base & -N_NEAR) | (word * WORD_BITS + bit);
    e->origin_ps = e->base << e->window_bits;
    const int64_t n = sooner->n;
    if (!has_room(e, &e->run, n) || !has_room(e, &e->spare, n)) return;
    if (n > N_SMALL && n >= e->places.n / 8 && e->places.n > 1) {
        sort_by_place(e, sooner->at, n, e->run.at);
    } else {
        memcpy(e->run.at, sooner->at, (size_t)n * sizeof *sooner->at);
        sort(e->run.at, n, e->spare.at);
    }
    e->next = e->run.at;
    e->end = e->run.at + n;
    e->n_run += n;
    sooner->n = 0;
    if (e->n_pool == N_POOL) return;
    e->pool[e->n_pool++] = *sooner;
    *sooner = (list){0};
}

/* Makes the next run; false when nothing is ahead. */
static bool advance(pod_engine *e)
{
    if (e->near_words == 0 && e->digits != 0) deal_far(e);
    if (e->near_words != 0 && !e->has_lost) take_near(e);
    return e->next < e->end && !e->has_lost;
}

/* ---- in and out ----------------------------------------------------------------------------- */

bool pod_engine_may_push(const pod_engine *e, int64_t at_ps, uint64_t key)
{
    /* Sums that end at NEVER come to another place without delay: what is first there says
     * nothing. */
    if (e->has_ended || at_ps == POD_PS_NEVER) return at_ps >= e->now_ps;
    if (window_of(e, at_ps) > e->base) return true;
    return at_ps >= e->origin_ps && order_of(e, at_ps, key) >= e->last_order;
}

void pod_engine_push(pod_engine *e, int64_t at_ps, uint64_t key)
{
    POD_DCHECK(pod_engine_may_push(e, at_ps, key), "an event at %" PRId64 " ps, now is %" PRId64,
               at_ps, pod_engine_now(e));
    if (at_ps > e->latest_ps) e->latest_ps = at_ps;
    if (window_of(e, at_ps) > e->base)
        push_ahead(e, at_ps, key);
    else
        push_late(e, (entry){order_of(e, at_ps, key), key});
}

SELDOM static bool take(pod_engine *e, entry *out)
{
    if (e->has_lost) return false;
    if (e->late.n == 0) {
        if (e->next == e->end && !advance(e)) return false;
        *out = *e->next++;
    } else if (e->next < e->end && is_before(*e->next, e->late.at[0])) {
        *out = *e->next++;
    } else {
        *out = pop_late(e);
        e->n_out_late++;
    }
    return true;
}

bool pod_engine_pop(pod_engine *e, pod_engine_event *out)
{
    entry x;
    if (e->late.n == 0 && e->next < e->end) {
        x = *e->next++;
    } else if (!take(e, &x)) {
        e->now_ps = e->latest_ps;
        e->has_ended = true;
        return false;
    }
    e->has_ended = false;
    e->last_order = x.order;
    e->now_ps = e->origin_ps + (int64_t)(x.order & e->in_window);
    *out = (pod_engine_event){e->now_ps, x.key};
    return true;
}

const pod_engine_entry *pod_engine_soon(const pod_engine *e, int64_t *n)
{
    *n = e->end - e->next;
    return e->next;
}

int64_t pod_engine_now(const pod_engine *e) { return e->now_ps; }

int64_t pod_engine_n_events(const pod_engine *e)
{
    return e->n_run - (e->end - e->next) + e->n_out_late;
}
