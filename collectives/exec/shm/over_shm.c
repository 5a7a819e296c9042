/* Messages and shared steps by memory that the ranks of a node share.
 *
 * Each run has a window of its own, its table of flags. A part of it is written by its rank alone,
 * but for counters, and holds
 *
 *     head        where the rest lies, and the rank's buffer in the window of the data
 *     messages    what it sends to and receives from ranks of this node, a table in order
 *     arrived     by SYNC: the last run in which this rank came to it
 *     counters    by SYNC, in use at the first of the sharing ranks: how often any of them came
 *     flags       by message: the last run in which this rank did its half
 *     scratch     twice
 *
 * Flags and counters hold numbers of runs (epochs), which only grow, so nothing is ever reset.
 *
 * A message. The sender posts its flag: the data is there. The receiver, which found at creation
 * where the sender's data lies, copies it, or adds it, straight out of the sender's memory, and
 * posts its own flag: taken. With that the sender's step is complete, and its memory its own again.
 * Both posts are releases, both looks acquires: what the sender wrote is what the receiver reads,
 * and what the receiver read is read before the sender writes again. Neither flag can run ahead of
 * who looks for it, since the next run's half cannot begin before this one's is complete on both
 * sides.
 *
 * A SYNC adds one to the counter, and is complete when that reaches epoch * sharing ranks: nobody
 * adds to it for the next run who has not completed this one. The last to come wakes the others.
 *
 * SCRATCH. What a peer reads by a message is free when the message is taken. What others read by
 * REDUCE_FROM may be read still when this rank's run is done, if no SYNC stands behind it. So runs
 * take turns on two copies: a copy is written again two runs on, and whoever comes through a SYNC
 * of the run between them knows that all have left the run before. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/exec/add_received.h"
#include "collectives/exec/run.h"
#include "collectives/exec/watch/mailbox.h"
#include "kernels/base/assert.h"

enum { FLAGS_A_LINE = POD__CACHE_LINE / sizeof(uint32_t) };

typedef struct message { /* one half of it, as its rank tells the others */
    int peer, is_send, tag;
    int32_t step, flag; /* its own step and flag */
    pod_span src;
    int64_t count;
} message;

typedef struct head { /* where things lie, in bytes from the start of this part */
    size_t messages, syncs, shared, arrived, counters, flags, scratch[2], end;
    int32_t n_messages, n_syncs, n_shared, n_flags;
    size_t main; /* the buffer, in its own window */
    int64_t main_count, scratch_count;
} head;

typedef struct counter {
    _Alignas(POD__CACHE_LINE) uint32_t n_arrived;
} counter;

typedef struct link {      /* from a step to the other ranks */
    uint32_t *own;         /* what this rank posts */
    uint32_t *awaited;     /* the other half's flag, or the counter */
    uint32_t *doorbell;    /* of the peer */
    const char *source[2]; /* of a receive, by turn */
} link;

typedef struct pending {
    const uint32_t *flag;
    uint32_t want; /* complete when *flag has reached it, in numbers that may wrap */
    int32_t step;
} pending;

typedef struct memory { /* of a rank, as this process sees it */
    char *main, *scratch[2];
    uint32_t *arrived;
    uint32_t *doorbell;
} memory;

struct pod__over_shm {
    pod_window *data, *control;
    head layout; /* of this rank's part of `control` */
    message *messages;
    int *syncs;        /* (layout.n_syncs) tags, ascending */
    const int *shared; /* (layout.n_shared) */
    memory *sharing;   /* (layout.n_shared) */
    const void **in;   /* (layout.n_shared) of add_all */
    void **out;
    uint32_t *arrived; /* (layout.n_syncs) this rank's own */
    link *link;        /* (n_steps) */
    int turn;
    pending *pending; /* (n_steps) */
    int32_t n_pending;
};

/* ---- running ------------------------------------------------------------------------------- */

static void post(uint32_t *flag, uint32_t epoch, uint32_t *doorbell)
{
    __atomic_store_n(flag, epoch, __ATOMIC_SEQ_CST);
    pod__doorbell_look(doorbell);
}

static bool has_reached(const uint32_t *flag, uint32_t want)
{
    return (int32_t)(__atomic_load_n(flag, __ATOMIC_ACQUIRE) - want) >= 0;
}

static void await(pod__over_shm *m, int32_t step, uint32_t want)
{
    m->pending[m->n_pending++] = (pending){m->link[step].awaited, want, step};
}

/* The sender's data is there. */
static void take(pod_coll_run *r, int32_t i)
{
    const pod_step *s = &r->steps[i];
    const link *l = &r->shm->link[i];
    const char *received = l->source[r->shm->turn];
    void *dst = pod__run_place(r, s->dst);
    if (s->kind == POD_STEP_RECV)
        r->combine->convert(s->count, r->type, received, r->type, dst);
    else
        pod__add_received(r->combine, r->op, s, r->type, s->count, received,
                          pod__run_place(r, s->src), dst);
    post(l->own, r->epoch, l->doorbell);
    pod__run_finish(r, i);
}

static void come_to_sync(pod_coll_run *r, int32_t i)
{
    pod__over_shm *m = r->shm;
    const link *l = &m->link[i];
    const uint32_t all = r->epoch * (uint32_t)m->layout.n_shared;
    __atomic_store_n(l->own, r->epoch, __ATOMIC_RELAXED);
    if (__atomic_add_fetch(l->awaited, 1, __ATOMIC_SEQ_CST) != all) {
        await(m, i, all);
        return;
    }
    for (int k = 0; k < m->layout.n_shared; k++) pod__doorbell_look(m->sharing[k].doorbell);
    pod__run_finish(r, i);
}

static char *place_at(const pod_coll_run *r, const memory *of, pod_span at)
{
    char *base = at.buf == POD_BUF_MAIN ? of->main : of->scratch[r->shm->turn];
    return base + (size_t)at.first * r->element_bytes[at.buf];
}

static void reduce(pod_coll_run *r, const pod_step *s)
{
    const pod__over_shm *m = r->shm;
    const int n = m->layout.n_shared;
    const bool is_all = s->kind == POD_STEP_REDUCE_ALL;
    m->out[0] = pod__run_place(r, s->dst);
    for (int k = 0; k < n; k++) {
        m->in[k] = place_at(r, &m->sharing[k], s->src);
        if (is_all) m->out[k] = place_at(r, &m->sharing[k], s->dst);
    }
    if (s->count > 0)
        pod_combine_all(r->combine, r->op, s->count, r->type, n, m->in, is_all ? n : 1, m->out);
}

void pod__shm_begin(pod_coll_run *r, int32_t i)
{
    const pod_step *s = &r->steps[i];
    const link *l = &r->shm->link[i];
    switch (s->kind) {
    case POD_STEP_SEND:
        post(l->own, r->epoch, l->doorbell);
        await(r->shm, i, r->epoch);
        break;
    case POD_STEP_SYNC: come_to_sync(r, i); break;
    case POD_STEP_REDUCE_FROM:
    case POD_STEP_REDUCE_ALL:
        reduce(r, s);
        pod__run_finish(r, i);
        break;
    default:
        if (has_reached(l->awaited, r->epoch))
            take(r, i);
        else
            await(r->shm, i, r->epoch);
    }
}

void pod__shm_start(pod_coll_run *r)
{
    pod__over_shm *m = r->shm;
    m->turn = (int)(r->epoch % 2);
    r->memory[POD_BUF_SCRATCH] = (char *)pod_window_data(m->control) + m->layout.scratch[m->turn];
}

void pod__shm_poll(pod_coll_run *r)
{
    pod__over_shm *m = r->shm;
    for (int32_t k = 0; k < m->n_pending;) {
        const pending p = m->pending[k];
        if (!has_reached(p.flag, p.want)) {
            k++;
            continue;
        }
        m->pending[k] = m->pending[--m->n_pending];
        const pod_step_kind kind = r->steps[p.step].kind;
        if (kind == POD_STEP_RECV || kind == POD_STEP_RECV_REDUCE)
            take(r, p.step);
        else
            pod__run_finish(r, p.step);
        pod__run_begin_ready(r);
    }
}

/* Who has not come to a SYNC says so by what is not in its list of arrivals. */
int pod__shm_awaited(const pod_coll_run *r, int rank[], int n, int max)
{
    const pod__over_shm *m = r->shm;
    for (int32_t p = 0; p < m->n_pending; p++) {
        const pod_step *s = &r->steps[m->pending[p].step];
        if (s->kind != POD_STEP_SYNC) {
            n = pod__note_rank(rank, n, max, s->peer);
            continue;
        }
        const ptrdiff_t index = m->link[m->pending[p].step].own - m->arrived;
        for (int k = 0; k < m->layout.n_shared; k++)
            if (!has_reached(&m->sharing[k].arrived[index], r->epoch))
                n = pod__note_rank(rank, n, max, m->shared[k]);
    }
    return n;
}

bool pod__shm_is_idle(const pod_coll_run *r) { return r->shm->n_pending == 0; }

/* ---- preparing: what this rank does alone ---------------------------------------------------- */

/* By peer, so that a cache line of flags has one reader. */
static int compare_messages(const void *a, const void *b)
{
    const message *x = a, *y = b;
    if (x->peer != y->peer) return x->peer < y->peer ? -1 : 1;
    if (x->is_send != y->is_send) return x->is_send - y->is_send;
    return (x->tag > y->tag) - (x->tag < y->tag);
}

static int compare_ints(const void *a, const void *b)
{
    const int *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static pod_status list_messages(pod_coll_run *r)
{
    pod__over_shm *m = r->shm;
    head *h = &m->layout;
    m->messages = POD_ARENA_NEW(r->arena, message, r->n_steps);
    m->syncs = POD_ARENA_NEW(r->arena, int, r->n_steps);
    if (!m->messages || !m->syncs) return POD_E_NOMEM;
    for (int32_t i = 0; i < r->n_steps; i++) {
        const pod_step *s = &r->steps[i];
        if (s->kind == POD_STEP_SYNC)
            m->syncs[h->n_syncs++] = s->tag;
        else if (r->carrier[i] == POD__BY_SHM && !pod_step_is_shared(s))
            m->messages[h->n_messages++] =
                (message){s->peer, s->kind == POD_STEP_SEND, s->tag, i, 0, s->src, s->count};
    }
    qsort(m->syncs, (size_t)h->n_syncs, sizeof m->syncs[0], compare_ints);
    qsort(m->messages, (size_t)h->n_messages, sizeof m->messages[0], compare_messages);
    for (int32_t k = 0; k < h->n_messages; k++) {
        if (k > 0 && m->messages[k].peer != m->messages[k - 1].peer)
            h->n_flags += (FLAGS_A_LINE - h->n_flags % FLAGS_A_LINE) % FLAGS_A_LINE;
        m->messages[k].flag = h->n_flags++;
    }
    return POD_OK;
}

static pod_status check_shared(const pod_coll_run *r)
{
    const head *h = &r->shm->layout;
    bool has_own = false;
    for (int k = 0; k < h->n_shared; k++) {
        int rank = r->shm->shared[k];
        has_own = has_own || rank == pod_comm_rank(r->comm);
        if (rank < 0 || rank >= pod_comm_size(r->comm) || !pod_comm_shares_node(r->comm, rank))
            return pod_fail(POD_E_UNSUPPORTED, "%s: shares memory with rank %d of another node",
                            r->what, rank);
    }
    for (int32_t i = 0; i < r->n_steps; i++)
        if (pod_step_is_shared(&r->steps[i]) && !has_own)
            return pod_fail(POD_E_INVALID,
                            "%s: step %d is a %s, and this rank is not of those that share",
                            r->what, (int)i, pod_step_kind_name(r->steps[i].kind));
    return POD_OK;
}

static size_t take_bytes(head *h, size_t bytes)
{
    size_t at = h->end;
    h->end += (bytes + POD__CACHE_LINE - 1) / POD__CACHE_LINE * POD__CACHE_LINE;
    return at;
}

static void lay_out(head *h, size_t scratch_bytes)
{
    (void)take_bytes(h, sizeof *h);
    h->messages = take_bytes(h, (size_t)h->n_messages * sizeof(message));
    h->syncs = take_bytes(h, (size_t)h->n_syncs * sizeof(int));
    h->shared = take_bytes(h, (size_t)h->n_shared * sizeof(int));
    h->arrived = take_bytes(h, (size_t)h->n_syncs * sizeof(uint32_t));
    h->counters = take_bytes(h, (size_t)h->n_syncs * sizeof(counter));
    h->flags = take_bytes(h, (size_t)h->n_flags * sizeof(uint32_t));
    h->scratch[0] = take_bytes(h, scratch_bytes);
    h->scratch[1] = h->n_syncs > 0 ? take_bytes(h, scratch_bytes) : h->scratch[0];
}

static pod_status check_buffer(const pod_coll_run *r, const pod_window *w, size_t bytes, size_t *at)
{
    const char *data = pod_window_data(w), *buf = r->memory[POD_BUF_MAIN];
    if (buf < data || buf > data + pod_window_bytes(w) ||
        bytes > pod_window_bytes(w) - (size_t)(buf - data))
        return pod_fail(POD_E_INVALID, "%s: its %zu bytes do not lie in the window of %zu", r->what,
                        bytes, pod_window_bytes(w));
    *at = (size_t)(buf - data);
    return POD_OK;
}

pod_status pod__shm_prepare(pod_coll_run *r, const pod_sched *s, pod_window *w)
{
    pod__over_shm *m = POD_ARENA_NEW(r->arena, pod__over_shm, 1);
    if (!m) return POD_E_NOMEM;
    r->shm = m;
    m->data = w;
    head *h = &m->layout;
    m->shared = pod_sched_shared(s, &h->n_shared);
    h->main_count = pod_sched_count(s);
    h->scratch_count = pod_sched_scratch_count(s);
    POD_TRY(check_buffer(r, w, (size_t)h->main_count * r->element_bytes[POD_BUF_MAIN], &h->main));
    POD_TRY(check_shared(r));
    POD_TRY(list_messages(r));
    lay_out(h, (size_t)h->scratch_count * r->element_bytes[POD_BUF_SCRATCH]);
    m->sharing = POD_ARENA_NEW(r->arena, memory, h->n_shared);
    m->in = POD_ARENA_NEW(r->arena, const void *, h->n_shared);
    m->out = POD_ARENA_NEW(r->arena, void *, h->n_shared + 1);
    m->link = POD_ARENA_NEW(r->arena, link, r->n_steps);
    m->pending = POD_ARENA_NEW(r->arena, pending, r->n_steps);
    bool have_all = m->sharing && m->in && m->out && m->link && m->pending;
    return have_all ? POD_OK : POD_E_NOMEM;
}

/* ---- preparing: what ties the ranks together ------------------------------------------------- */

static char *part_of(const pod__over_shm *m, int rank)
{
    return pod_window_data_of(m->control, rank);
}

static void publish(const pod__over_shm *m)
{
    const head *h = &m->layout;
    char *own = pod_window_data(m->control);
    memcpy(own, h, sizeof *h);
    memcpy(own + h->messages, m->messages, (size_t)h->n_messages * sizeof m->messages[0]);
    memcpy(own + h->syncs, m->syncs, (size_t)h->n_syncs * sizeof m->syncs[0]);
    if (h->n_shared > 0)
        memcpy(own + h->shared, m->shared, (size_t)h->n_shared * sizeof m->shared[0]);
}

static memory find_memory(const pod_coll_run *r, int rank)
{
    const pod__over_shm *m = r->shm;
    char *part = part_of(m, rank);
    const head *h = (const void *)part;
    return (memory){.main = (char *)pod_window_data_of(m->data, rank) + h->main,
                    .scratch = {part + h->scratch[0], part + h->scratch[1]},
                    .arrived = (uint32_t *)(void *)(part + h->arrived),
                    .doorbell = pod__mailbox_doorbell(pod__comm_mailbox(r->comm), rank)};
}

static pod_status connect_message(pod_coll_run *r, const message *mine)
{
    const pod__over_shm *m = r->shm;
    char *part = part_of(m, mine->peer);
    const head *h = (const void *)part;
    const message key = {
        .peer = pod_comm_rank(r->comm), .is_send = !mine->is_send, .tag = mine->tag};
    const message *other =
        bsearch(&key, part + h->messages, (size_t)h->n_messages, sizeof key, compare_messages);
    if (!other || other->count != mine->count)
        return pod_fail(
            POD_E_INVALID,
            "%s: step %d %s rank %d %" PRId64 " elements under tag %d, which %s %" PRId64, r->what,
            (int)mine->step, mine->is_send ? "sends" : "receives from", mine->peer, mine->count,
            mine->tag, mine->is_send ? "receives" : "sends", other ? other->count : 0);
    const memory of = find_memory(r, mine->peer);
    const message *receive = mine->is_send ? other : mine, *send = mine->is_send ? mine : other;
    if (send->src.buf == POD_BUF_SUM)
        return pod_fail(POD_E_INVALID, "%s: a message from a buffer of sums", r->what);
    link *l = &m->link[mine->step];
    l->own =
        (uint32_t *)(void *)((char *)pod_window_data(m->control) + m->layout.flags) + mine->flag;
    l->awaited = (uint32_t *)(void *)(part + h->flags) + other->flag;
    l->doorbell = of.doorbell;
    for (int turn = 0; receive == mine && turn < 2; turn++)
        l->source[turn] = (send->src.buf == POD_BUF_MAIN ? of.main : of.scratch[turn]) +
                          (size_t)send->src.first * r->element_bytes[send->src.buf];
    return POD_OK;
}

static pod_status check_sharing(const pod_coll_run *r, int rank)
{
    const pod__over_shm *m = r->shm;
    const head *own = &m->layout;
    const char *part = part_of(m, rank);
    const head *h = (const void *)part;
    bool is_same =
        h->n_shared == own->n_shared && h->n_syncs == own->n_syncs &&
        memcmp(part + h->shared, m->shared, (size_t)own->n_shared * sizeof m->shared[0]) == 0 &&
        memcmp(part + h->syncs, m->syncs, (size_t)own->n_syncs * sizeof m->syncs[0]) == 0;
    if (!is_same)
        return pod_fail(POD_E_INVALID, "%s: rank %d names other ranks or syncs of shared memory",
                        r->what, rank);
    return POD_OK;
}

static pod_status check_span(const pod_coll_run *r, const pod_step *s, pod_span span, int rank)
{
    const head *h = (const void *)part_of(r->shm, rank);
    int64_t count = span.buf == POD_BUF_MAIN ? h->main_count : h->scratch_count;
    if (span.buf != POD_BUF_SUM && span.first + s->count <= count) return POD_OK;
    return pod_fail(POD_E_INVALID,
                    "%s: %s of elements %" PRId64 " to %" PRId64 ", rank %d has %" PRId64, r->what,
                    pod_step_kind_name(s->kind), span.first, span.first + s->count, rank,
                    span.buf == POD_BUF_SUM ? 0 : count);
}

static pod_status connect_shared(pod_coll_run *r, int32_t i)
{
    const pod_step *s = &r->steps[i];
    const pod__over_shm *m = r->shm;
    const head *h = &m->layout;
    if (s->kind == POD_STEP_SYNC) {
        const int *at = bsearch(&s->tag, m->syncs, (size_t)h->n_syncs, sizeof *at, compare_ints);
        const size_t index = (size_t)(at - m->syncs);
        char *first = part_of(m, m->shared[0]);
        counter *counters = (void *)(first + ((const head *)(const void *)first)->counters);
        m->link[i].own = m->arrived + index;
        m->link[i].awaited = &counters[index].n_arrived;
        return POD_OK;
    }
    for (int k = 0; k < h->n_shared; k++) {
        POD_TRY(check_span(r, s, s->src, m->shared[k]));
        if (s->kind == POD_STEP_REDUCE_ALL || m->shared[k] == pod_comm_rank(r->comm))
            POD_TRY(check_span(r, s, s->dst, m->shared[k]));
    }
    return POD_OK;
}

static pod_status connect_alone(pod_coll_run *r)
{
    pod__over_shm *m = r->shm;
    m->arrived = find_memory(r, pod_comm_rank(r->comm)).arrived;
    for (int32_t k = 0; k < m->layout.n_messages; k++) POD_TRY(connect_message(r, &m->messages[k]));
    for (int k = 0; k < m->layout.n_shared; k++) {
        POD_TRY(check_sharing(r, m->shared[k]));
        m->sharing[k] = find_memory(r, m->shared[k]);
    }
    for (int32_t i = 0; i < r->n_steps; i++)
        if (pod_step_is_shared(&r->steps[i])) POD_TRY(connect_shared(r, i));
    return POD_OK;
}

pod_status pod__shm_connect(pod_coll_run *r)
{
    pod__over_shm *m = r->shm;
    POD_TRY(pod_window_create(r->comm, m->layout.end, &m->control));
    publish(m);
    pod_window_sync(m->control);
    return pod_comm_agree(r->comm, connect_alone(r));
}

void pod__shm_close(pod_coll_run *r) { pod_window_destroy(r->shm->control); }
