#include "collectives/exec/exec_sim.h"

#include <inttypes.h>
#include <time.h>

#include "collectives/exec/sim.h"
#include "collectives/net/links.h"
#include "kernels/base/assert.h"

typedef enum event_kind {
    EVENT_SEND, /* a SEND begins */
    EVENT_HEAD, /* the head of its message comes to a link */
    EVENT_WORK, /* a step has all that it works on */
    EVENT_DONE  /* a rank, with all of its steps */
} event_kind;

enum { KIND_SHIFT = 61, COLL_SHIFT = 32, MAX_COLLS = 1 << 16 };

typedef struct core { /* what a rank does one thing at a time with */
    int64_t sender_free_ps, unit_free_ps;
} core;

struct pod_sim {
    pod_arena *arena;
    pod_engine *engine;
    pod_net net;
    pod_mesh mesh;
    pod_links *links;
    core *core; /* (n_ranks) */
    pod_sim_coll **coll;
    int n_colls, coll_capacity;
    int64_t message_ps, sync_ps, now_ps;
    int32_t known_first, known_last; /* steps of the collective that the event is of, whose
                                        dependents are to be told of their time */
    int64_t n_messages, wait_sender_ps, wait_work_ps;
    double message_bytes;
};

pod_status pod_sim_create(const pod_net *net, const pod_mesh *m, pod_sim **out)
{
    pod_arena *a;
    POD_TRY(pod_arena_create(NULL, &a));
    pod_status status = POD_E_NOMEM;
    pod_sim *sim = POD_ARENA_NEW(a, pod_sim, 1);
    if (!sim) goto failed;
    *sim = (pod_sim){.arena = a, .net = *net, .mesh = *m, .known_first = POD__SIM_NONE};
    sim->core = POD_ARENA_NEW(a, core, pod_mesh_size(m));
    if (!sim->core) goto failed;
    POD_TRY_GOTO(status, pod_links_create(a, net, m, &sim->links), failed);
    POD_TRY_GOTO(status, pod_engine_create(NULL, &sim->engine), failed);
    sim->message_ps = pod_ps(net->message_s);
    sim->sync_ps = pod_ps(net->sync_s);
    *out = sim;
    return POD_OK;
failed:
    pod_arena_destroy(a);
    return status;
}

void pod_sim_destroy(pod_sim *sim)
{
    if (!sim) return;
    pod_engine_destroy(sim->engine);
    pod_arena_destroy(sim->arena);
}

static pod_status make_room(pod_sim *sim)
{
    if (sim->n_colls < sim->coll_capacity) return POD_OK;
    if (sim->n_colls == MAX_COLLS)
        return pod_fail(POD_E_UNSUPPORTED, "simulation: more than %d collectives", MAX_COLLS);
    const int capacity = sim->coll_capacity ? 2 * sim->coll_capacity : 4;
    pod_sim_coll **coll = POD_ARENA_NEW(sim->arena, pod_sim_coll *, capacity);
    if (!coll) return POD_E_NOMEM;
    for (int i = 0; i < sim->n_colls; i++) coll[i] = sim->coll[i];
    sim->coll = coll;
    sim->coll_capacity = capacity;
    return POD_OK;
}

pod_status pod_sim_add(pod_sim *sim, const pod_sched *const all[], pod_dtype t, pod_sim_coll **out)
{
    pod_sim_coll *c;
    POD_TRY(make_room(sim));
    POD_TRY(pod__sim_coll_build(sim->arena, &sim->net, &sim->mesh, all, t, &c));
    POD_TRY(pod_engine_reserve(sim->engine, (int64_t)c->n_steps + c->n_ranks));
    c->number = (uint32_t)sim->n_colls;
    sim->coll[sim->n_colls++] = c;
    *out = c;
    return POD_OK;
}

int pod_sim_coll_number(const pod_sim_coll *c) { return (int)c->number; }

static void push(pod_sim *sim, const pod_sim_coll *c, event_kind kind, int32_t id, int64_t at_ps)
{
    pod_engine_push(sim->engine, at_ps,
                    (uint64_t)kind << KIND_SHIFT | (uint64_t)c->number << COLL_SHIFT |
                        (uint32_t)id);
}

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

/* ---- steps ---------------------------------------------------------------------------------- */

/* The step is complete at step[i].at_ps; its dependents are told before the next event. */
static void is_known(pod_sim *sim, pod_sim_coll *c, int32_t i)
{
    c->step[i].link = POD__SIM_NONE;
    if (sim->known_first == POD__SIM_NONE)
        sim->known_first = i;
    else
        c->step[sim->known_last].link = i;
    sim->known_last = i;
}

static void ready_send(pod_sim *sim, pod_sim_coll *c, int32_t i)
{
    push(sim, c, EVENT_SEND, i, c->step[i].at_ps);
}

static void ready_work(pod_sim *sim, pod_sim_coll *c, int32_t i)
{
    push(sim, c, EVENT_WORK, i, c->step[i].at_ps);
}

static void ready_sync(pod_sim *sim, pod_sim_coll *c, int32_t i)
{
    pod__sim_sync *group = &c->sync[c->step[i].partner];
    group->at_ps = later(group->at_ps, c->step[i].at_ps);
    if (--group->n_waits > 0) return;
    for (int32_t k = group->first; k < group->first + group->n; k++) {
        c->step[c->sync_member[k]].at_ps = pod_ps_add(group->at_ps, sim->sync_ps);
        is_known(sim, c, c->sync_member[k]);
    }
}

typedef void ready_fn(pod_sim *sim, pod_sim_coll *c, int32_t i);

/* What becomes of a step that waits for nothing more. */
static ready_fn *const ready_step[POD_N_STEP_KINDS] = {
    [POD_STEP_SEND] = ready_send,        [POD_STEP_RECV] = is_known,
    [POD_STEP_RECV_REDUCE] = ready_work, [POD_STEP_COPY] = ready_work,
    [POD_STEP_JOIN] = is_known,          [POD_STEP_SYNC] = ready_sync,
    [POD_STEP_REDUCE_FROM] = ready_work, [POD_STEP_REDUCE_ALL] = ready_work};

/* One of what step i waits for is complete, or comes, at this time. */
static void tell(pod_sim *sim, pod_sim_coll *c, int32_t i, int64_t at_ps)
{
    pod__sim_step *s = &c->step[i];
    s->at_ps = later(s->at_ps, at_ps);
    if (--s->n_waits == 0) ready_step[s->kind](sim, c, i);
}

static void tell_dependents(pod_sim *sim, pod_sim_coll *c, const pod__sim_step *s, int64_t at_ps)
{
    pod__sim_rank *rank = &c->rank[s->rank];
    rank->end_ps = later(rank->end_ps, at_ps);
    if (--rank->n_left == 0) push(sim, c, EVENT_DONE, s->rank, rank->end_ps);
    for (int32_t e = s[0].edge; e < s[1].edge; e++) tell(sim, c, c->dependent[e], at_ps);
}

static void tell_known(pod_sim *sim, pod_sim_coll *c)
{
    while (sim->known_first != POD__SIM_NONE) {
        const pod__sim_step *s = &c->step[sim->known_first];
        sim->known_first = s->link;
        tell_dependents(sim, c, s, s->at_ps);
    }
}

/* ---- events --------------------------------------------------------------------------------- */

static void work(pod_sim *sim, pod_sim_coll *c, int32_t i)
{
    const pod__sim_step *s = &c->step[i];
    core *own = &sim->core[s->rank];
    const int64_t start_ps = later(own->unit_free_ps, sim->now_ps);
    sim->wait_work_ps = pod_ps_add(sim->wait_work_ps, start_ps - sim->now_ps);
    own->unit_free_ps = pod_ps_add(start_ps, s->cost);
    tell_dependents(sim, c, s, own->unit_free_ps);
}

/* The head of a message has come to a node on its way, now; at its own rank the source is free when
 * the tail has left. */
static void pass_head(pod_sim *sim, pod_sim_coll *c, int32_t i)
{
    pod__sim_step *send = &c->step[i];
    const int to = c->step[send->partner].rank;
    const bool is_first = send->link == send->rank;
    pod_transit t = {.at = send->link, .head_ps = sim->now_ps, .tail_ps = send->at_ps};
    (void)pod_links_pass(sim->links, &t, to, (double)send->cost);
    send->link = t.at;
    send->at_ps = t.tail_ps;
    if (is_first) tell_dependents(sim, c, send, t.left_ps);
    if (t.at == to)
        tell(sim, c, send->partner, t.tail_ps);
    else
        push(sim, c, EVENT_HEAD, i, t.head_ps);
}

static void begin_send(pod_sim *sim, pod_sim_coll *c, int32_t i)
{
    pod__sim_step *send = &c->step[i];
    core *own = &sim->core[send->rank];
    const int64_t start_ps = later(own->sender_free_ps, sim->now_ps);
    sim->wait_sender_ps = pod_ps_add(sim->wait_sender_ps, start_ps - sim->now_ps);
    own->sender_free_ps = pod_ps_add(start_ps, sim->message_ps);
    sim->n_messages++;
    sim->message_bytes += (double)send->cost;
    send->link = send->rank;
    send->at_ps = own->sender_free_ps;
    if (own->sender_free_ps == sim->now_ps)
        pass_head(sim, c, i);
    else
        push(sim, c, EVENT_HEAD, i, own->sender_free_ps);
}

/* ---- ranks ---------------------------------------------------------------------------------- */

static void reset(pod_sim_coll *c)
{
    for (int32_t i = 0; i < c->n_steps; i++) {
        pod__sim_step *s = &c->step[i];
        const unsigned is_root = s->n_after == 0;
        const unsigned receives = s->kind == POD_STEP_RECV || s->kind == POD_STEP_RECV_REDUCE;
        s->n_waits = (s->n_after + is_root + receives) & 3u;
        s->at_ps = 0;
    }
    for (int32_t g = 0; g < c->n_syncs; g++) {
        c->sync[g].n_waits = c->sync[g].n;
        c->sync[g].at_ps = 0;
    }
    for (int r = 0; r < c->n_ranks; r++) {
        c->rank[r].n_left = c->rank[r].n_steps;
        c->rank[r].end_ps = 0;
        c->rank[r].is_started = false;
    }
    c->n_not_done = c->n_ranks;
}

void pod_sim_start(pod_sim *sim, pod_sim_coll *c, int rank, int64_t at_ps)
{
    POD_ASSERT(rank >= 0 && rank < c->n_ranks, "rank %d of %d", rank, c->n_ranks);
    POD_ASSERT(at_ps >= sim->now_ps, "a start at %" PRId64 " ps, now is %" PRId64, at_ps,
               sim->now_ps);
    if (c->n_not_done == 0) reset(c);
    POD_ASSERT(!c->rank[rank].is_started, "rank %d starts again while others are not done", rank);
    pod__sim_rank *r = &c->rank[rank];
    r->is_started = true;
    if (r->n_left == 0) push(sim, c, EVENT_DONE, rank, at_ps);
    for (int32_t k = r[0].root; k < r[1].root; k++) tell(sim, c, c->root[k], at_ps);
    tell_known(sim, c);
}

static pod_sim_coll *coll_of(const pod_sim *sim, pod_engine_event event)
{
    return sim->coll[event.key >> COLL_SHIFT & (MAX_COLLS - 1)];
}

static event_kind kind_of(pod_engine_event event) { return (event_kind)(event.key >> KIND_SHIFT); }

static int32_t id_of(pod_engine_event event) { return (int32_t)(event.key & UINT32_MAX); }

/* With many ranks the steps are in no cache when their turn comes. What the next event is about is
 * fetched meanwhile with all that it will touch, and what may follow it so that this can be
 * done. */
static void fetch_soon(const pod_sim *sim)
{
    int n;
    const pod_engine_event *soon = pod_engine_soon(sim->engine, &n);
    for (int k = 0; k < n; k++)
        if (kind_of(soon[k]) != EVENT_DONE)
            __builtin_prefetch(&coll_of(sim, soon[k])->step[id_of(soon[k])], 1);
    if (n == 0 || kind_of(soon[0]) == EVENT_DONE) return;
    const pod_sim_coll *c = coll_of(sim, soon[0]);
    const pod__sim_step *s = &c->step[id_of(soon[0])];
    if (s->partner != POD__SIM_NONE) __builtin_prefetch(&c->step[s->partner], 1);
    for (int32_t e = s[0].edge; e < s[1].edge; e++)
        __builtin_prefetch(&c->step[c->dependent[e]], 1);
}

bool pod_sim_next(pod_sim *sim, pod_sim_done *out)
{
    pod_engine_event event;
    while (pod_engine_pop(sim->engine, &event)) {
        sim->now_ps = event.at_ps;
        pod_sim_coll *c = coll_of(sim, event);
        const int32_t id = id_of(event);
        fetch_soon(sim);
        switch (kind_of(event)) {
        case EVENT_SEND: begin_send(sim, c, id); break;
        case EVENT_HEAD: pass_head(sim, c, id); break;
        case EVENT_WORK: work(sim, c, id); break;
        case EVENT_DONE:
            c->n_not_done--;
            *out = (pod_sim_done){c, id, event.at_ps};
            return true;
        }
        tell_known(sim, c);
    }
    return false;
}

/* ---- what came of it ------------------------------------------------------------------------ */

/* Without an event to come: a step of the rank that waits for what will not be; *place is its
 * number in the rank's own schedule. */
static int32_t find_stuck(const pod_sim_coll *c, int rank, int *place)
{
    *place = 0;
    for (int32_t i = 0; i < c->n_steps; i++) {
        const pod__sim_step *s = &c->step[i];
        if (s->rank != rank) continue;
        const bool waits_in_sync = s->kind == POD_STEP_SYNC && c->sync[s->partner].n_waits > 0;
        if (s->n_waits > 0 || waits_in_sync) return i;
        (*place)++;
    }
    return POD__SIM_NONE;
}

pod_status pod_sim_check_done(const pod_sim *sim, const pod_sim_coll *c)
{
    for (int r = 0; r < c->n_ranks; r++) {
        if (!c->rank[r].is_started || c->rank[r].n_left == 0) continue;
        int place;
        const int32_t i = find_stuck(c, r, &place);
        POD_ASSERT(i != POD__SIM_NONE, "rank %d has %d steps left, none waits", r,
                   (int)c->rank[r].n_left);
        return pod_fail(
            POD_E_INVALID, "simulation: rank %d waits for ever in step %d (%s) from %.9f s on", r,
            place, pod_step_kind_name((pod_step_kind)c->step[i].kind), pod_ps_seconds(sim->now_ps));
    }
    return POD_OK;
}

int64_t pod_sim_now(const pod_sim *sim) { return sim->now_ps; }

pod_sim_use pod_sim_used(const pod_sim *sim)
{
    const pod_links_use links = pod_links_used(sim->links);
    return (pod_sim_use){.n_events = pod_engine_n_events(sim->engine),
                         .n_messages = sim->n_messages,
                         .message_bytes = sim->message_bytes,
                         .busiest_link = links.busiest,
                         .busiest_s = pod_ps_seconds(links.busy_ps),
                         .link_s = pod_ps_seconds(links.total_ps),
                         .wait_link_s = pod_ps_seconds(links.wait_ps),
                         .wait_sender_s = pod_ps_seconds(sim->wait_sender_ps),
                         .wait_work_s = pod_ps_seconds(sim->wait_work_ps)};
}

/* ---- one collective on its own -------------------------------------------------------------- */

static pod_status add_algo(pod_sim *sim, const pod_coll_algo *algo, const pod_coll_args *args,
                           pod_sim_coll **out)
{
    const pod_sched *const *all;
    pod_arena *work;
    pod_status status;
    POD_TRY(pod_arena_create(NULL, &work));
    POD_TRY_GOTO(status, pod_coll_build_all(work, algo, &sim->mesh, args, &all), done);
    POD_TRY_GOTO(status, pod_sim_add(sim, all, args->dtype, out), done);
done:
    pod_arena_destroy(work);
    return status;
}

/* Answers when the last rank is done, counted from when the first one starts. */
static double run_once(pod_sim *sim, pod_sim_coll *c, const double start_s[], double done_s[])
{
    const int n_ranks = pod_mesh_size(&sim->mesh);
    int64_t first_ps = POD_PS_NEVER, last_ps = 0;
    for (int r = 0; r < n_ranks; r++) {
        const int64_t at_ps = start_s ? pod_ps(start_s[r]) : 0;
        if (at_ps < first_ps) first_ps = at_ps;
        pod_sim_start(sim, c, r, at_ps);
    }
    pod_sim_done done;
    while (pod_sim_next(sim, &done)) {
        if (done_s) done_s[done.rank] = pod_ps_seconds(done.at_ps);
        last_ps = done.at_ps;
    }
    return pod_ps_seconds(last_ps - first_ps);
}

static double wall_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

pod_status pod_sim_collective(const pod_net *net, const pod_mesh *m, const pod_coll_algo *algo,
                              const pod_coll_args *args, const double start_s[], double done_s[],
                              pod_sim_report *out)
{
    const double began_s = wall_s();
    pod_sim *sim;
    pod_sim_coll *c;
    pod_status status;
    POD_TRY(pod_sim_create(net, m, &sim));
    POD_TRY_GOTO(status, add_algo(sim, algo, args, &c), done);
    const double built_s = wall_s();
    pod_sim_report r = {.seconds = run_once(sim, c, start_s, done_s)};
    POD_TRY_GOTO(status, pod_sim_check_done(sim, c), done);
    r.use = pod_sim_used(sim);
    r.busiest_share = r.seconds > 0 ? r.use.busiest_s / r.seconds : 0;
    pod_route_link_print(m, r.use.busiest_link, r.busiest_link, sizeof r.busiest_link);
    r.build_wall_s = built_s - began_s;
    r.run_wall_s = wall_s() - built_s;
    *out = r;
done:
    pod_sim_destroy(sim);
    return status;
}
