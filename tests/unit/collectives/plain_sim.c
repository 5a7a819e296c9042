#include "tests/unit/collectives/plain_sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/mesh/route.h"
#include "kernels/base/assert.h"

enum { NO_TIME = -1, MAX_SHARED = 256 };

/* What may happen, in the order of what could happen at one time. */
typedef enum kind { SEND, HEAD, WORK } kind;

typedef struct event {
    int64_t at_ps;
    kind kind;
    int far; /* HEAD: how far it has come, as a rank counted from its sender at rank 0 */
    int32_t step;
    int rank;        /* whose step */
    int at;          /* HEAD: the rank that it is at */
    int64_t tail_ps; /* HEAD: when the whole message will be there */
} event;

typedef struct state {                  /* of a step */
    int64_t begun_ps, came_ps, done_ps; /* came: the message that it receives */
    bool is_begun;
} state;

typedef struct world {
    const pod_net *net;
    const pod_mesh *mesh;
    const pod_sched *const *all;
    pod_dtype dtype;
    const int64_t *start_ps;
    int n_ranks;
    state **state;                          /* (n_ranks, steps of each) */
    bool *is_news;                          /* (n_ranks) something of its steps has become known */
    int64_t *sender_free_ps, *unit_free_ps; /* (n_ranks) */
    int64_t *link_free_ps;                  /* (links) */
    event *event;
    int n_events, capacity;
    plain_report report;
} world;

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

static int64_t ps(double seconds) { return (int64_t)floor(seconds * 1e12 + 0.5); }

static const pod_step *steps_of(const world *w, int rank, int32_t *n)
{
    return pod_sched_steps(w->all[rank], n);
}

static bool receives(const pod_step *s)
{
    return s->kind == POD_STEP_RECV || s->kind == POD_STEP_RECV_REDUCE;
}

static int64_t bytes_of(const world *w, const pod_step *s)
{
    return s->count * (int64_t)pod_dtype_bytes(w->dtype);
}

static void put(world *w, event e)
{
    if (w->n_events == w->capacity) {
        w->capacity = 2 * w->capacity + 16;
        w->event = realloc(w->event, (size_t)w->capacity * sizeof *w->event);
        if (!w->event) abort();
    }
    w->event[w->n_events++] = e;
}

static bool is_before(const event *a, const event *b)
{
    if (a->at_ps != b->at_ps) return a->at_ps < b->at_ps;
    if (a->kind != b->kind) return a->kind < b->kind;
    if (a->far != b->far) return a->far < b->far;
    if (a->step != b->step) return a->step < b->step;
    return a->rank < b->rank;
}

static event take_first(world *w)
{
    int first = 0;
    for (int i = 1; i < w->n_events; i++)
        if (is_before(&w->event[i], &w->event[first])) first = i;
    const event e = w->event[first];
    w->event[first] = w->event[--w->n_events];
    return e;
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* When the step may begin; NO_TIME: not yet known. */
static int64_t may_begin_ps(const world *w, int rank, const pod_step *s)
{
    int64_t at_ps = w->start_ps[rank];
    for (int k = 0; k < 2; k++) {
        if (s->after[k] == POD_NO_STEP) continue;
        const int64_t done_ps = w->state[rank][s->after[k]].done_ps;
        if (done_ps == NO_TIME) return NO_TIME;
        at_ps = later(at_ps, done_ps);
    }
    return at_ps;
}

static double work_seconds(const world *w, int rank, const pod_step *s)
{
    const double count = (double)s->count;
    const double from = count * (double)pod_dtype_bytes(pod_sched_dtype(s->src.buf, w->dtype));
    const double to = count * (double)pod_dtype_bytes(pod_sched_dtype(s->dst.buf, w->dtype));
    int n_shared;
    pod_sched_shared(w->all[rank], &n_shared);
    switch (s->kind) {
    case POD_STEP_RECV_REDUCE: return (double)bytes_of(w, s) / w->net->reduce_bytes_per_s;
    case POD_STEP_COPY: return (from + to) / w->net->memory_bytes_per_s;
    case POD_STEP_REDUCE_FROM: return (n_shared * from + to) / w->net->memory_bytes_per_s;
    case POD_STEP_REDUCE_ALL: return n_shared * (from + to) / w->net->memory_bytes_per_s;
    default: return 0;
    }
}

static void know(world *w, int rank, state *s, int64_t done_ps)
{
    s->done_ps = done_ps;
    w->is_news[rank] = true;
}

static state *find_sync(const world *w, int rank, int tag)
{
    int32_t n;
    const pod_step *step = steps_of(w, rank, &n);
    for (int32_t i = 0; i < n; i++)
        if (step[i].kind == POD_STEP_SYNC && step[i].tag == tag) return &w->state[rank][i];
    return NULL;
}

/* Complete when the last of those that share has begun its own. */
static void begin_sync(world *w, int rank, const pod_step *s)
{
    int n;
    const int *shared = pod_sched_shared(w->all[rank], &n);
    POD_ASSERT(n <= MAX_SHARED, "%d ranks share", n);
    int64_t last_ps = 0;
    state *found[MAX_SHARED];
    for (int i = 0; i < n; i++) {
        found[i] = find_sync(w, shared[i], s->tag);
        if (!found[i] || !found[i]->is_begun) return;
        last_ps = later(last_ps, found[i]->begun_ps);
    }
    for (int i = 0; i < n; i++) know(w, shared[i], found[i], last_ps + ps(w->net->sync_s));
}

static void begin(world *w, int rank, int32_t i, const pod_step *step, int64_t at_ps)
{
    state *s = &w->state[rank][i];
    s->is_begun = true;
    s->begun_ps = at_ps;
    if (step->kind == POD_STEP_SEND)
        put(w, (event){.at_ps = at_ps, .kind = SEND, .step = i, .rank = rank});
    else if (step->kind == POD_STEP_SYNC)
        begin_sync(w, rank, step);
    else if (step->kind == POD_STEP_RECV || step->kind == POD_STEP_JOIN)
        know(w, rank, s, at_ps);
    else
        put(w, (event){.at_ps = at_ps, .kind = WORK, .step = i, .rank = rank});
}

/* Begins what may begin: a receive when its message comes. */
static void begin_of_rank(world *w, int rank)
{
    int32_t n;
    const pod_step *step = steps_of(w, rank, &n);
    w->is_news[rank] = false;
    for (int32_t i = 0; i < n; i++) {
        const state *s = &w->state[rank][i];
        const int64_t at_ps = may_begin_ps(w, rank, &step[i]);
        if (s->is_begun || at_ps == NO_TIME || (receives(&step[i]) && s->came_ps == NO_TIME))
            continue;
        begin(w, rank, i, &step[i], receives(&step[i]) ? later(at_ps, s->came_ps) : at_ps);
    }
}

static void begin_all(world *w)
{
    for (int n_news = 1; n_news > 0;) {
        n_news = 0;
        for (int rank = 0; rank < w->n_ranks; rank++) {
            if (!w->is_news[rank]) continue;
            begin_of_rank(w, rank);
            n_news++;
        }
    }
}

/* ---- messages ------------------------------------------------------------------------------- */

/* The links of a chip's cores are those of its first one, where they share. */
static int64_t *link_of(const world *w, int rank, pod_hop hop)
{
    if (w->net->is_chip_shared && w->mesh->n_dims == 3 && hop.dim > 0)
        rank -= rank % w->mesh->extent[0];
    return &w->link_free_ps[pod_route_link(w->mesh, rank, hop)];
}

static void arrive(world *w, int from, const pod_step *sent, int64_t at_ps)
{
    int32_t n;
    const pod_step *step = steps_of(w, sent->peer, &n);
    for (int32_t i = 0; i < n; i++)
        if (receives(&step[i]) && step[i].peer == from && step[i].tag == sent->tag)
            w->state[sent->peer][i].came_ps = at_ps;
    w->is_news[sent->peer] = true;
}

/* The rank that lies from rank 0 as `at` from `from`, round the mesh. */
static int far_of(const pod_mesh *m, int from, int at)
{
    pod_coord a = pod_mesh_coord(m, at);
    const pod_coord b = pod_mesh_coord(m, from);
    for (int d = 0; d < m->n_dims; d++) a.at[d] = (a.at[d] - b.at[d] + m->extent[d]) % m->extent[d];
    return pod_mesh_rank(m, a);
}

/* A head takes the next link on its way; the first one is left when the send is complete. */
static void pass(world *w, const event *e)
{
    int32_t n;
    const pod_step *s = &steps_of(w, e->rank, &n)[e->step];
    const pod_coord here = pod_mesh_coord(w->mesh, e->at), end = pod_mesh_coord(w->mesh, s->peer);
    pod_hop hop;
    if (!pod_route_next(w->mesh, &here, &end, &hop)) return;
    int64_t *free_ps = link_of(w, e->at, hop);
    const int64_t latency_ps = ps(w->net->link_latency_s[hop.dim]);
    const int64_t start_ps = later(e->at_ps, *free_ps);
    w->report.wait_link_ps += start_ps - e->at_ps;
    *free_ps = start_ps + ps((double)bytes_of(w, s) * (1 / w->net->link_bytes_per_s[hop.dim]));
    const int64_t left_ps = later(e->tail_ps, *free_ps);
    if (e->at == e->rank) know(w, e->rank, &w->state[e->rank][e->step], left_ps);
    const int next = pod_mesh_neighbor(w->mesh, e->at, hop.dim, hop.dir);
    if (next == s->peer)
        arrive(w, e->rank, s, left_ps + latency_ps);
    else
        put(w, (event){.at_ps = start_ps + latency_ps,
                       .kind = HEAD,
                       .far = far_of(w->mesh, e->rank, next),
                       .step = e->step,
                       .rank = e->rank,
                       .at = next,
                       .tail_ps = left_ps + latency_ps});
}

static void send(world *w, event e)
{
    const int64_t start_ps = later(e.at_ps, w->sender_free_ps[e.rank]);
    w->report.wait_sender_ps += start_ps - e.at_ps;
    w->report.n_messages++;
    w->sender_free_ps[e.rank] = start_ps + ps(w->net->message_s);
    e.kind = HEAD;
    e.at = e.rank;
    e.at_ps = e.tail_ps = w->sender_free_ps[e.rank];
    /* Where it takes no time to prepare it, it leaves as it is sent: before all that passes. */
    if (w->net->message_s == 0)
        pass(w, &e);
    else
        put(w, e);
}

static void work(world *w, const event *e)
{
    int32_t n;
    const pod_step *s = &steps_of(w, e->rank, &n)[e->step];
    int64_t *free_ps = &w->unit_free_ps[e->rank];
    const int64_t start_ps = later(e->at_ps, *free_ps);
    w->report.wait_work_ps += start_ps - e->at_ps;
    *free_ps = start_ps + ps(work_seconds(w, e->rank, s));
    know(w, e->rank, &w->state[e->rank][e->step], *free_ps);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static bool end(const world *w, int64_t done_ps[])
{
    for (int rank = 0; rank < w->n_ranks; rank++) {
        int32_t n;
        steps_of(w, rank, &n);
        done_ps[rank] = w->start_ps[rank];
        for (int32_t i = 0; i < n; i++) {
            if (w->state[rank][i].done_ps == NO_TIME) return false;
            done_ps[rank] = later(done_ps[rank], w->state[rank][i].done_ps);
        }
    }
    return true;
}

static void *zeros(int n, size_t bytes)
{
    void *at = calloc((size_t)(n > 0 ? n : 1), bytes);
    if (!at) abort();
    return at;
}

bool plain_sim_run(const pod_net *net, const pod_mesh *m, const pod_sched *const all[], pod_dtype t,
                   const int64_t start_ps[], int64_t done_ps[], plain_report *out)
{
    const int n_ranks = pod_mesh_size(m);
    world w = {.net = net,
               .mesh = m,
               .all = all,
               .dtype = t,
               .start_ps = start_ps,
               .n_ranks = n_ranks,
               .state = zeros(n_ranks, sizeof *w.state),
               .is_news = zeros(n_ranks, sizeof *w.is_news),
               .sender_free_ps = zeros(n_ranks, sizeof *w.sender_free_ps),
               .unit_free_ps = zeros(n_ranks, sizeof *w.unit_free_ps),
               .link_free_ps = zeros(pod_route_n_links(m), sizeof *w.link_free_ps)};
    for (int rank = 0; rank < n_ranks; rank++) {
        int32_t n;
        steps_of(&w, rank, &n);
        w.state[rank] = zeros(n, sizeof *w.state[rank]);
        w.is_news[rank] = true;
        for (int32_t i = 0; i < n; i++)
            w.state[rank][i] = (state){.came_ps = NO_TIME, .done_ps = NO_TIME};
    }
    for (begin_all(&w); w.n_events > 0; begin_all(&w)) {
        const event e = take_first(&w);
        if (e.kind == SEND)
            send(&w, e);
        else if (e.kind == HEAD)
            pass(&w, &e);
        else
            work(&w, &e);
    }
    const bool is_done = end(&w, done_ps);
    *out = w.report;
    for (int rank = 0; rank < n_ranks; rank++) free(w.state[rank]);
    free(w.state);
    free(w.is_news);
    free(w.sender_free_ps);
    free(w.unit_free_ps);
    free(w.link_free_ps);
    free(w.event);
    return is_done;
}
