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
    int part;        /* whose step */
    int at;          /* HEAD: the rank that it is at */
    int64_t tail_ps; /* HEAD: when the whole message will be there */
} event;

typedef struct state {                  /* of a step */
    int64_t begun_ps, came_ps, done_ps; /* came: the message that it receives */
    bool is_begun;
} state;

typedef struct server { /* of one after the other */
    int64_t free_ps, preferred_free_ps;
} server;

typedef struct world {
    const pod_net *net;
    const pod_mesh *mesh;
    const plain_coll *coll;
    int n_ranks, n_parts;  /* a rank has a part in each collective: collective n_ranks + rank */
    state **state;         /* (n_parts, steps of each) */
    bool *is_news;         /* (n_parts) something of its steps has become known */
    int32_t *n_begun;      /* (n_parts) so many of its first steps have begun */
    server *sender, *unit; /* (n_ranks) */
    server *link;          /* (links) */
    event *event;
    int n_events, capacity;
    plain_report report;
} world;

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

static int64_t ps(double seconds) { return (int64_t)floor(seconds * 1e12 + 0.5); }

static int rank_of(const world *w, int part) { return part % w->n_ranks; }

static const plain_coll *coll_of(const world *w, int part) { return &w->coll[part / w->n_ranks]; }

/* The part of another rank in the same collective. */
static int part_of(const world *w, int part, int rank) { return part - rank_of(w, part) + rank; }

static const pod_sched *sched_of(const world *w, int part)
{
    return coll_of(w, part)->all[rank_of(w, part)];
}

static const pod_step *steps_of(const world *w, int part, int32_t *n)
{
    return pod_sched_steps(sched_of(w, part), n);
}

/* Its turn, from when. What is preferred waits for its like; the others for it, too. */
static int64_t take_turn(const world *w, server *l, int part, int64_t at_ps, int64_t held_ps)
{
    const bool is_preferred = coll_of(w, part)->is_preferred;
    const int64_t start_ps = later(at_ps, is_preferred ? l->preferred_free_ps : l->free_ps);
    if (is_preferred) l->preferred_free_ps = start_ps + held_ps;
    l->free_ps = later(l->free_ps, start_ps) + held_ps;
    return start_ps;
}

static bool receives(const pod_step *s)
{
    return s->kind == POD_STEP_RECV || s->kind == POD_STEP_RECV_REDUCE;
}

static int64_t bytes_of(const world *w, int part, const pod_step *s)
{
    return s->count * (int64_t)pod_dtype_bytes(coll_of(w, part)->dtype);
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

static bool is_before(const world *w, const event *a, const event *b)
{
    if (a->at_ps != b->at_ps) return a->at_ps < b->at_ps;
    if (a->kind != b->kind) return a->kind < b->kind;
    if (coll_of(w, a->part) != coll_of(w, b->part)) return a->part < b->part;
    if (a->far != b->far) return a->far < b->far;
    if (a->step != b->step) return a->step < b->step;
    return a->part < b->part;
}

static event take_first(world *w)
{
    int first = 0;
    for (int i = 1; i < w->n_events; i++)
        if (is_before(w, &w->event[i], &w->event[first])) first = i;
    const event e = w->event[first];
    w->event[first] = w->event[--w->n_events];
    return e;
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* When the step may begin; NO_TIME: not yet known. */
static int64_t may_begin_ps(const world *w, int part, const pod_step *s)
{
    int64_t at_ps = coll_of(w, part)->start_ps[rank_of(w, part)];
    for (int k = 0; k < 2; k++) {
        if (s->after[k] == POD_NO_STEP) continue;
        const int64_t done_ps = w->state[part][s->after[k]].done_ps;
        if (done_ps == NO_TIME) return NO_TIME;
        at_ps = later(at_ps, done_ps);
    }
    return at_ps;
}

static double work_seconds(const world *w, int part, const pod_step *s)
{
    const pod_dtype t = coll_of(w, part)->dtype;
    const double count = (double)s->count;
    const double from = count * (double)pod_dtype_bytes(pod_sched_dtype(s->src.buf, t));
    const double to = count * (double)pod_dtype_bytes(pod_sched_dtype(s->dst.buf, t));
    int n_shared;
    pod_sched_shared(sched_of(w, part), &n_shared);
    switch (s->kind) {
    case POD_STEP_RECV_REDUCE: return (double)bytes_of(w, part, s) / w->net->reduce_bytes_per_s;
    case POD_STEP_DIVIDE:
    case POD_STEP_COPY: return (from + to) / w->net->memory_bytes_per_s;
    case POD_STEP_REDUCE_FROM: return (n_shared * from + to) / w->net->memory_bytes_per_s;
    case POD_STEP_REDUCE_ALL: return n_shared * (from + to) / w->net->memory_bytes_per_s;
    default: return 0;
    }
}

static void know(world *w, int part, state *s, int64_t done_ps)
{
    s->done_ps = done_ps;
    w->is_news[part] = true;
}

static state *find_sync(const world *w, int part, int tag)
{
    int32_t n;
    const pod_step *step = steps_of(w, part, &n);
    for (int32_t i = 0; i < n; i++)
        if (step[i].kind == POD_STEP_SYNC && step[i].tag == tag) return &w->state[part][i];
    return NULL;
}

/* Complete when the last of those that share has begun its own. */
static void begin_sync(world *w, int part, const pod_step *s)
{
    int n;
    const int *shared = pod_sched_shared(sched_of(w, part), &n);
    POD_ASSERT(n <= MAX_SHARED, "%d ranks share", n);
    int64_t last_ps = 0;
    state *found[MAX_SHARED];
    for (int i = 0; i < n; i++) {
        found[i] = find_sync(w, part_of(w, part, shared[i]), s->tag);
        if (!found[i] || !found[i]->is_begun) return;
        last_ps = later(last_ps, found[i]->begun_ps);
    }
    for (int i = 0; i < n; i++)
        know(w, part_of(w, part, shared[i]), found[i], last_ps + ps(w->net->sync_s));
}

static void begin(world *w, int part, int32_t i, const pod_step *step, int64_t at_ps)
{
    state *s = &w->state[part][i];
    s->is_begun = true;
    s->begun_ps = at_ps;
    if (step->kind == POD_STEP_SEND)
        put(w, (event){.at_ps = at_ps, .kind = SEND, .step = i, .part = part});
    else if (step->kind == POD_STEP_SYNC)
        begin_sync(w, part, step);
    else if (step->kind == POD_STEP_RECV || step->kind == POD_STEP_JOIN)
        know(w, part, s, at_ps);
    else
        put(w, (event){.at_ps = at_ps, .kind = WORK, .step = i, .part = part});
}

/* Begins what may begin: a receive when its message comes. */
static void begin_of_part(world *w, int part)
{
    int32_t n;
    const pod_step *step = steps_of(w, part, &n);
    w->is_news[part] = false;
    int32_t *first = &w->n_begun[part];
    while (*first < n && w->state[part][*first].is_begun) ++*first;
    for (int32_t i = *first; i < n; i++) {
        const state *s = &w->state[part][i];
        const int64_t at_ps = may_begin_ps(w, part, &step[i]);
        if (s->is_begun || at_ps == NO_TIME || (receives(&step[i]) && s->came_ps == NO_TIME))
            continue;
        begin(w, part, i, &step[i], receives(&step[i]) ? later(at_ps, s->came_ps) : at_ps);
    }
}

static void begin_all(world *w)
{
    for (int n_news = 1; n_news > 0;) {
        n_news = 0;
        for (int part = 0; part < w->n_parts; part++) {
            if (!w->is_news[part]) continue;
            begin_of_part(w, part);
            n_news++;
        }
    }
}

/* ---- messages ------------------------------------------------------------------------------- */

/* The links of a chip's cores are those of its first one, where they share. */
static server *link_of(const world *w, int rank, pod_hop hop)
{
    if (w->net->is_chip_shared && w->mesh->n_dims == 3 && hop.dim > 0)
        rank -= rank % w->mesh->extent[0];
    return &w->link[pod_route_link(w->mesh, rank, hop)];
}

static void arrive(world *w, int from, const pod_step *sent, int64_t at_ps)
{
    int32_t n;
    const int to = part_of(w, from, sent->peer);
    const pod_step *step = steps_of(w, to, &n);
    for (int32_t i = 0; i < n; i++)
        if (receives(&step[i]) && step[i].peer == rank_of(w, from) && step[i].tag == sent->tag)
            w->state[to][i].came_ps = at_ps;
    w->is_news[to] = true;
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
    const pod_step *s = &steps_of(w, e->part, &n)[e->step];
    const int source = rank_of(w, e->part);
    const pod_coord here = pod_mesh_coord(w->mesh, e->at), end = pod_mesh_coord(w->mesh, s->peer);
    pod_hop hop;
    if (!pod_route_next(w->mesh, &here, &end, &hop)) return;
    const int64_t latency_ps = ps(w->net->link_latency_s[hop.dim]);
    const int64_t held_ps =
        ps((double)bytes_of(w, e->part, s) * (1 / w->net->link_bytes_per_s[hop.dim]));
    const int64_t start_ps = take_turn(w, link_of(w, e->at, hop), e->part, e->at_ps, held_ps);
    w->report.wait_link_ps += start_ps - e->at_ps;
    const int64_t left_ps = later(e->tail_ps, start_ps + held_ps);
    if (e->at == source) know(w, e->part, &w->state[e->part][e->step], left_ps);
    const int next = pod_mesh_neighbor(w->mesh, e->at, hop.dim, hop.dir);
    if (next == s->peer)
        arrive(w, e->part, s, left_ps + latency_ps);
    else
        put(w, (event){.at_ps = start_ps + latency_ps,
                       .kind = HEAD,
                       .far = far_of(w->mesh, source, next),
                       .step = e->step,
                       .part = e->part,
                       .at = next,
                       .tail_ps = left_ps + latency_ps});
}

static void send(world *w, event e)
{
    const int64_t message_ps = ps(w->net->message_s);
    e.at = rank_of(w, e.part);
    const int64_t start_ps = take_turn(w, &w->sender[e.at], e.part, e.at_ps, message_ps);
    w->report.wait_sender_ps += start_ps - e.at_ps;
    w->report.n_messages++;
    e.kind = HEAD;
    e.at_ps = e.tail_ps = start_ps + message_ps;
    /* Where it takes no time to prepare it, it leaves as it is sent: before all that passes. */
    if (message_ps == 0)
        pass(w, &e);
    else
        put(w, e);
}

static void work(world *w, const event *e)
{
    int32_t n;
    const pod_step *s = &steps_of(w, e->part, &n)[e->step];
    const int64_t held_ps = ps(work_seconds(w, e->part, s));
    const int64_t start_ps =
        take_turn(w, &w->unit[rank_of(w, e->part)], e->part, e->at_ps, held_ps);
    w->report.wait_work_ps += start_ps - e->at_ps;
    know(w, e->part, &w->state[e->part][e->step], start_ps + held_ps);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static bool end(const world *w)
{
    for (int part = 0; part < w->n_parts; part++) {
        int32_t n;
        steps_of(w, part, &n);
        const int rank = rank_of(w, part);
        int64_t last_ps = coll_of(w, part)->start_ps[rank];
        for (int32_t i = 0; i < n; i++) {
            if (w->state[part][i].done_ps == NO_TIME) return false;
            last_ps = later(last_ps, w->state[part][i].done_ps);
        }
        coll_of(w, part)->done_ps[rank] = last_ps;
    }
    return true;
}

static void *zeros(int n, size_t bytes)
{
    void *at = calloc((size_t)(n > 0 ? n : 1), bytes);
    if (!at) abort();
    return at;
}

bool plain_sim_run(const pod_net *net, const pod_mesh *m, const plain_coll coll[], int n_colls,
                   plain_report *out)
{
    const int n_ranks = pod_mesh_size(m);
    world w = {.net = net,
               .mesh = m,
               .coll = coll,
               .n_ranks = n_ranks,
               .n_parts = n_colls * n_ranks,
               .state = zeros(n_colls * n_ranks, sizeof *w.state),
               .is_news = zeros(n_colls * n_ranks, sizeof *w.is_news),
               .n_begun = zeros(n_colls * n_ranks, sizeof *w.n_begun),
               .sender = zeros(n_ranks, sizeof *w.sender),
               .unit = zeros(n_ranks, sizeof *w.unit),
               .link = zeros(pod_route_n_links(m), sizeof *w.link)};
    for (int part = 0; part < w.n_parts; part++) {
        int32_t n;
        steps_of(&w, part, &n);
        w.state[part] = zeros(n, sizeof *w.state[part]);
        w.is_news[part] = true;
        for (int32_t i = 0; i < n; i++)
            w.state[part][i] = (state){.came_ps = NO_TIME, .done_ps = NO_TIME};
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
    const bool is_done = end(&w);
    *out = w.report;
    for (int part = 0; part < w.n_parts; part++) free(w.state[part]);
    free(w.state);
    free(w.is_news);
    free(w.n_begun);
    free(w.sender);
    free(w.unit);
    free(w.link);
    free(w.event);
    return is_done;
}
