/* The run: events, and what becomes known at each. */
#include "collectives/exec/sim/sim.h"

#include <inttypes.h>

#include "collectives/exec/sim/core.h"
#include "kernels/base/assert.h"

/* ---- steps and ranks ------------------------------------------------------------------------ */

typedef struct site { /* a core, in a collective */
    pod_sim_coll *coll;
    const pod__sim_step *step; /* by place */
    pod__sim_state *state;     /* by word */
    int core;
} site;

static site site_of(const pod_sim *sim, pod_sim_coll *c, int core)
{
    const int64_t column = core >> sim->n_column_shift;
    return (site){c, &c->step[column * c->n_places], &c->state[(int64_t)core * c->n_words], core};
}

static const pod__sim_rest *rest_at(const pod_sim *sim, const site *at, int32_t place)
{
    return pod__sim_rest_at(at->coll->plan, place, at->core >> sim->n_column_shift);
}

static int32_t n_waits_of(const pod_sim *sim, const site *at, pod__sim_edge e)
{
    return e.n_waits < POD__SIM_MANY_WAITS ? (int32_t)e.n_waits
                                           : rest_at(sim, at, (int32_t)e.place)->n_waits;
}

static uint32_t id_at(const pod_sim *sim, int32_t place, int core)
{
    return (uint32_t)place << sim->n_slot_bits | (uint32_t)core;
}

static int core_at(const pod_sim *sim, uint32_t id) { return (int)(id & sim->slot_mask); }

static int32_t place_at(const pod_sim *sim, uint32_t id)
{
    return (int32_t)(id >> sim->n_slot_bits);
}

/* Whole bytes or picoseconds. */
static double cost_of(const pod_sim_coll *c, const pod__sim_step *s)
{
    const double cost = (double)s->cost;
    return c->scale == 1 ? cost : (double)(int64_t)(cost * c->scale + 0.5);
}

static int64_t time_of(pod__sim_state s) { return (int64_t)(s >> POD__SIM_TOLD_BITS); }

static int n_told(pod__sim_state s) { return (int)(s & ((1u << POD__SIM_TOLD_BITS) - 1)); }

static pod__sim_state state_of(int64_t at_ps, int n_told)
{
    return (uint64_t)at_ps << POD__SIM_TOLD_BITS | (uint64_t)n_told;
}

static void push(pod_sim *sim, const pod_sim_coll *c, pod__sim_event kind, uint32_t id,
                 int64_t at_ps)
{
    pod_engine_push(sim->engine, at_ps,
                    (uint64_t)kind << POD__SIM_KIND_SHIFT |
                        (uint64_t)c->number << POD__SIM_COLL_SHIFT | id);
}

static void push_head(pod_sim *sim, const pod_sim_coll *c, uint32_t id, int far, int64_t at_ps)
{
    pod_engine_push(sim->engine, at_ps,
                    (uint64_t)POD__SIM_HEAD << POD__SIM_KIND_SHIFT |
                        (uint64_t)c->number << POD__SIM_COLL_SHIFT |
                        (uint64_t)far << POD__SIM_FAR_SHIFT | id);
}

/* ---- what becomes known --------------------------------------------------------------------- */

/* The step is complete at this time; its dependents are told before the next event. */
static void is_known(pod_sim *sim, uint32_t id, int64_t at_ps)
{
    POD_DCHECK(sim->n_known < sim->known_capacity, "%d steps are known at once", (int)sim->n_known);
    sim->known[sim->n_known++] = (pod__sim_known){at_ps, id};
}

static void ready_sync(pod_sim *sim, const site *at, int32_t place, int64_t at_ps)
{
    const pod__sim_plan *plan = at->coll->plan;
    const int32_t number = rest_at(sim, at, place)->peer;
    const pod__sim_sync *all = &plan->sync[number];
    pod__sim_group *group = &at->coll->group[number];
    group->at_ps = pod_later(group->at_ps, at_ps);
    if (--group->n_waits > 0) return;
    const int64_t on_ps = pod_ps_add(group->at_ps, sim->sync_ps);
    for (int32_t k = all->first; k < all->first + all->n; k++)
        is_known(sim, id_at(sim, plan->sync_member[k].place, plan->sync_member[k].core), on_ps);
}

/* One of what a step waits for is complete, or comes, at this time. */
static void tell(pod_sim *sim, const site *at, pod__sim_edge e, int64_t at_ps)
{
    if (e.n_waits > 1) {
        pod__sim_state *state = &at->state[e.word];
        at_ps = pod_later(time_of(*state), at_ps);
        if (!pod__sim_is_wide(e.n_waits)) {
            const int n = n_told(*state) + 1;
            *state = state_of(at_ps, n);
            if (n < (int)e.n_waits) return;
        } else {
            *state = state_of(at_ps, 0);
            if ((int64_t)++state[1] < n_waits_of(sim, at, e)) return;
        }
    }
    const uint32_t id = id_at(sim, (int32_t)e.place, at->core);
    if (e.then == POD__SIM_KNOWN)
        is_known(sim, id, at_ps);
    else if (e.then == POD__SIM_SYNC)
        ready_sync(sim, at, (int32_t)e.place, at_ps);
    else
        push(sim, at->coll, (pod__sim_event)e.then, id, at_ps);
}

/* The step is complete at this time. No step ends later than all that come after it. */
static void tell_dependents(pod_sim *sim, const site *at, const pod__sim_step *s, int64_t at_ps)
{
    if (s->n_edges == 0) {
        if (s->is_silent) return;
        pod__sim_part *part = &at->coll->part[at->core];
        part->end_ps = pod_later(part->end_ps, at_ps);
        if (--part->n_left == 0)
            push(sim, at->coll, POD__SIM_DONE, (uint32_t)at->core, part->end_ps);
        return;
    }
    const int first = s->is_send, n = first + (int)s->n_edges;
    for (int e = first; e < POD__SIM_NEAR_EDGES && e < n; e++) tell(sim, at, s->edge[e], at_ps);
    for (int e = POD__SIM_NEAR_EDGES; e < n; e++)
        tell(sim, at, at->coll->plan->more[s->more + e - POD__SIM_NEAR_EDGES], at_ps);
}

static void tell_known(pod_sim *sim, pod_sim_coll *c)
{
    while (sim->n_known > 0) {
        const pod__sim_known known = sim->known[--sim->n_known];
        const site at = site_of(sim, c, core_at(sim, known.id));
        tell_dependents(sim, &at, &at.step[place_at(sim, known.id)], known.at_ps);
    }
}

/* ---- events --------------------------------------------------------------------------------- */

static void work(pod_sim *sim, const site *at, int32_t place)
{
    const pod__sim_step *s = &at->step[place];
    const int64_t cost_ps = (int64_t)cost_of(at->coll, s);
    const int64_t start_ps =
        pod_busy_take(&sim->unit[at->core], sim->now_ps, cost_ps, at->coll->is_preferred);
    sim->wait_work_ps = pod_ps_add(sim->wait_work_ps, start_ps - sim->now_ps);
    tell_dependents(sim, at, s, pod_ps_add(start_ps, cost_ps));
}

static pod_hop next_hop(const pod_sim *sim, const pod__sim_step *send, int rank, int to)
{
    pod_hop hop = {0};
    if (send->is_rerouted && pod_detours_has(sim->detours, to))
        return pod_detours_next(sim->detours, rank, to);
    (void)pod_route_next(&sim->classes.mesh, &sim->coord[rank], &sim->coord[to], &hop);
    return hop;
}

static const pod__sim_next *next_of(const pod_sim *sim, int core, unsigned dim, bool is_down)
{
    return &sim->next[(int)(2 * dim + is_down) * sim->n_slots + core];
}

/* The head of a message will come to the next node on its way, its tail some time behind. */
static void go_on(pod_sim *sim, const site *at, int32_t place, pod_coord far, pod_hop hop,
                  const pod_transit *t)
{
    pod__sim_state *state = &at->state[rest_at(sim, at, place)->word];
    pod_coord hop_far = {{0}};
    hop_far.at[hop.dim] = hop.dir > 0 ? 1 : sim->classes.mesh.extent[hop.dim] - 1;
    *state = state_of(t->tail_ps, n_told(*state));
    push_head(sim, at->coll, id_at(sim, place, at->core), pod__sim_moved(sim, far, hop_far),
              t->head_ps);
}

/* The head of a message leaves its rank, now; the source is free when the tail has left. */
static void pass_first(pod_sim *sim, const site *at, int32_t place)
{
    const pod__sim_step *send = &at->step[place];
    pod_hop hop = {send->dim, send->is_down ? -1 : 1};
    bool is_near = send->is_near;
    if (send->is_rerouted) {
        const int rank = sim->rank[at->core],
                  to = pod__sim_peer_of(sim, rest_at(sim, at, place)->peer, at->core);
        hop = next_hop(sim, send, rank, to);
        is_near = pod_mesh_neighbor(&sim->classes.mesh, rank, hop.dim, hop.dir) == to;
    }
    const pod__sim_next *next = next_of(sim, at->core, (unsigned)hop.dim, hop.dir < 0);
    pod_transit t = {.head_ps = sim->now_ps, .tail_ps = sim->now_ps};
    pod_links_pass(sim->links, next->link, hop.dim, cost_of(at->coll, send), at->coll->is_preferred,
                   &t);
    tell_dependents(sim, at, send, t.left_ps);
    if (!is_near) {
        go_on(sim, at, place, (pod_coord){{0}}, hop, &t);
        return;
    }
    const site to = site_of(sim, at->coll, next->core);
    tell(sim, &to, send->edge[0], t.tail_ps);
}

/* The head has come to a node on its way, now. */
static void pass_on(pod_sim *sim, const site *at, int32_t place, int far)
{
    const pod__sim_step *send = &at->step[place];
    const pod__sim_rest *rest = rest_at(sim, at, place);
    const int peer = pod__sim_peer_of(sim, rest->peer, at->core);
    const int rank = pod__sim_moved(sim, sim->coord[sim->rank[at->core]], sim->coord[far]);
    pod_transit t = {.head_ps = sim->now_ps, .tail_ps = time_of(at->state[rest->word])};
    const pod_hop hop = next_hop(sim, send, rank, peer);
    pod_links_pass(sim->links, pod_links_kept(sim->links, rank, hop), hop.dim,
                   cost_of(at->coll, send), at->coll->is_preferred, &t);
    if (pod_mesh_neighbor(&sim->classes.mesh, rank, hop.dim, hop.dir) != peer) {
        go_on(sim, at, place, sim->coord[far], hop, &t);
        return;
    }
    const site to = site_of(sim, at->coll, sim->core_of[peer]);
    tell(sim, &to, send->edge[0], t.tail_ps);
}

static void begin_send(pod_sim *sim, const site *at, int32_t place)
{
    if (sim->message_ps == 0) { /* then no sender is ever busy */
        pass_first(sim, at, place);
        return;
    }
    const int64_t start_ps =
        pod_busy_take(&sim->sender[at->core], sim->now_ps, sim->message_ps, at->coll->is_preferred);
    sim->wait_sender_ps = pod_ps_add(sim->wait_sender_ps, start_ps - sim->now_ps);
    push_head(sim, at->coll, id_at(sim, place, at->core), 0, pod_ps_add(start_ps, sim->message_ps));
}

/* ---- ranks ---------------------------------------------------------------------------------- */

static size_t state_bytes(const pod_sim *sim, const pod_sim_coll *c)
{
    return (size_t)c->n_words * (size_t)sim->n_slots * sizeof *c->state;
}

void pod__sim_put_state(const pod_sim *sim, pod_sim_coll *c)
{
    pod__sim_put_pages(c->state, state_bytes(sim, c));
    c->state = NULL;
}

static pod_status begin_run(pod_sim *sim, pod_sim_coll *c)
{
    const pod__sim_plan *p = c->plan;
    c->state = pod__sim_take_pages(state_bytes(sim, c));
    if (!c->state)
        return pod_fail(POD_E_NOMEM,
                        "simulation: no memory for what is kept of a collective, %zu bytes",
                        state_bytes(sim, c));
    for (int k = 0; k < sim->n_slots; k++)
        c->part[k] = (pod__sim_part){.n_left = p->n_last[k >> sim->n_column_shift]};
    for (int32_t g = 0; g < p->n_syncs; g++)
        c->group[g] = (pod__sim_group){.n_waits = p->sync[g].n};
    c->n_not_done = sim->n_cores;
    sim->n_messages += c->n_messages;
    sim->message_bytes += c->message_bytes;
    sim->n_rerouted += c->plan->n_rerouted;
    return POD_OK;
}

pod_status pod_sim_start(pod_sim *sim, pod_sim_coll *c, int rank, int64_t at_ps)
{
    POD_ASSERT(rank >= 0 && rank < sim->n_cores, "rank %d of %d", rank, sim->n_cores);
    const int core = sim->core_named[rank];
    POD_ASSERT(pod_engine_may_push(sim->engine, at_ps, (uint64_t)core),
               "rank %d starts at %" PRId64 " ps, now is %" PRId64, rank, at_ps, sim->now_ps);
    if (c->n_not_done == 0) POD_TRY(begin_run(sim, c));
    POD_ASSERT(!c->part[core].is_started, "rank %d starts again while others are not done", rank);
    const int k = core >> sim->n_column_shift;
    c->part[core].is_started = true;
    if (c->part[core].n_left == 0) push(sim, c, POD__SIM_DONE, (uint32_t)core, at_ps);
    const site at = site_of(sim, c, core);
    for (int32_t i = c->plan->first_root[k]; i < c->plan->first_root[k + 1]; i++)
        tell(sim, &at, c->plan->root[i], at_ps);
    tell_known(sim, c);
    return POD_OK;
}

void pod_sim_prefer(pod_sim_coll *c) { c->is_preferred = true; }

int pod_sim_coll_number(const pod_sim_coll *c) { return (int)c->number; }

/* ---- what will be needed -------------------------------------------------------------------- */

/* Thousands of cores are more than a cache holds, and memory takes as long as several events. So
 * what an event will need is asked for some events before: first its step, and when that has come
 * what it names. */
enum { STEP_AHEAD = 32, STATE_AHEAD = 20, NEXT_AHEAD = 8 };

static pod_sim_coll *coll_of(const pod_sim *sim, uint64_t key)
{
    return sim->coll[key >> POD__SIM_COLL_SHIFT & (POD__SIM_MAX_COLLS - 1)];
}

static void fetch_step(const pod_sim *sim, uint64_t key)
{
    const uint32_t id = (uint32_t)key;
    const pod_sim_coll *c = coll_of(sim, key);
    const int64_t column = core_at(sim, id) >> sim->n_column_shift;
    __builtin_prefetch(&c->step[column * c->n_places + place_at(sim, id)]);
}

static void fetch_word(const site *at, pod__sim_edge e)
{
    if (e.n_waits > 1) __builtin_prefetch(&at->state[e.word], 1);
}

static void fetch_state(const pod_sim *sim, uint64_t key)
{
    const uint32_t id = (uint32_t)key;
    if (key >> POD__SIM_KIND_SHIFT == POD__SIM_DONE) return;
    const site at = site_of(sim, coll_of(sim, key), core_at(sim, id));
    const pod__sim_step *s = &at.step[place_at(sim, id)];
    fetch_word(&at, s->edge[1]);
    if (!s->is_send) {
        fetch_word(&at, s->edge[0]);
    } else if (s->is_near) {
        const pod__sim_next *next = next_of(sim, at.core, s->dim, s->is_down);
        const site to = site_of(sim, at.coll, next->core);
        pod_links_fetch(sim->links, next->link);
        fetch_word(&to, s->edge[0]);
        __builtin_prefetch(&to.step[s->edge[0].place]);
    }
}

/* What a receive tells when its message comes. */
static void fetch_next(const pod_sim *sim, uint64_t key)
{
    const uint32_t id = (uint32_t)key;
    if (key >> POD__SIM_KIND_SHIFT != POD__SIM_SEND) return;
    const site at = site_of(sim, coll_of(sim, key), core_at(sim, id));
    const pod__sim_step *s = &at.step[place_at(sim, id)];
    if (!s->is_near || s->edge[0].then != POD__SIM_KNOWN) return;
    const site to = site_of(sim, at.coll, next_of(sim, at.core, s->dim, s->is_down)->core);
    const pod__sim_step *recv = &to.step[s->edge[0].place];
    fetch_word(&to, recv->edge[0]);
    fetch_word(&to, recv->edge[1]);
}

static void fetch(const pod_sim *sim)
{
    int64_t n;
    const pod_engine_entry *soon = pod_engine_soon(sim->engine, &n);
    if (n > STEP_AHEAD) fetch_step(sim, soon[STEP_AHEAD].key);
    if (n > STATE_AHEAD) fetch_state(sim, soon[STATE_AHEAD].key);
    if (n > NEXT_AHEAD) fetch_next(sim, soon[NEXT_AHEAD].key);
}

/* ---- the run -------------------------------------------------------------------------------- */

bool pod_sim_next(pod_sim *sim, pod_sim_done *out)
{
    pod_engine_event event;
    while (pod_engine_pop(sim->engine, &event)) {
        fetch(sim);
        sim->now_ps = event.at_ps;
        pod_sim_coll *c = coll_of(sim, event.key);
        const uint32_t id = (uint32_t)event.key;
        const pod__sim_event kind = (pod__sim_event)(event.key >> POD__SIM_KIND_SHIFT);
        if (kind == POD__SIM_DONE) {
            if (--c->n_not_done == 0) pod__sim_put_state(sim, c);
            *out = (pod_sim_done){c, sim->name[id], event.at_ps};
            return true;
        }
        const site at = site_of(sim, c, core_at(sim, id));
        const int32_t place = place_at(sim, id);
        const int far = (int)(event.key >> POD__SIM_FAR_SHIFT & (POD__SIM_MAX_RANKS - 1));
        if (kind == POD__SIM_WORK)
            work(sim, &at, place);
        else if (kind == POD__SIM_SEND)
            begin_send(sim, &at, place);
        else if (far == 0)
            pass_first(sim, &at, place);
        else
            pass_on(sim, &at, place, far);
        tell_known(sim, c);
    }
    sim->now_ps = pod_engine_now(sim->engine);
    return false;
}

/* ---- what came of it ------------------------------------------------------------------------ */

/* Without an event to come: the place of a step that waits for what will not be. It is no step that
 * waits for an earlier one alone: that one waits too, or has told. Negative: one that waits for its
 * message alone. */
static int32_t find_stuck(const pod_sim *sim, pod_sim_coll *c, int core)
{
    const site at = site_of(sim, c, core);
    for (int32_t place = 0; place < c->plan->n_steps[core >> sim->n_column_shift]; place++) {
        const pod__sim_rest *s = rest_at(sim, &at, place);
        const pod__sim_state *state = &at.state[s->word];
        const int64_t n = pod__sim_is_wide(s->n_waits) ? (int64_t)state[1] : n_told(state[0]);
        if (s->n_waits > 1 && n < s->n_waits) return place;
        if (s->kind == POD_STEP_SYNC && c->group[s->peer].n_waits > 0) return place;
    }
    return -1;
}

pod_status pod_sim_check_done(const pod_sim *sim, const pod_sim_coll *c)
{
    POD_TRY(pod_engine_check(sim->engine));
    for (int rank = 0; rank < sim->n_cores && c->state; rank++) {
        const int k = sim->core_named[rank];
        if (!c->part[k].is_started || c->part[k].n_left == 0) continue;
        const int32_t place = find_stuck(sim, sim->coll[c->number], k);
        if (place < 0)
            return pod_fail(POD_E_INVALID,
                            "simulation: rank %d waits for ever for a message from %.9f s on",
                            sim->rank[k], pod_ps_seconds(sim->now_ps));
        const pod__sim_rest *s = pod__sim_rest_at(c->plan, place, k >> sim->n_column_shift);
        return pod_fail(
            POD_E_INVALID, "simulation: rank %d waits for ever in step %d (%s) from %.9f s on",
            sim->rank[k], (int)place, pod_step_kind_name(s->kind), pod_ps_seconds(sim->now_ps));
    }
    return POD_OK;
}

int64_t pod_sim_now(const pod_sim *sim) { return sim->now_ps; }

pod_sim_use pod_sim_used(const pod_sim *sim)
{
    const pod_links_use links = pod_links_used(sim->links);
    const double n = sim->n_meant;
    return (pod_sim_use){.n_events = pod_engine_n_events(sim->engine),
                         .n_messages = sim->n_messages,
                         .n_rerouted = sim->n_rerouted,
                         .message_bytes = sim->message_bytes,
                         .busiest_link = links.busiest,
                         .busiest_s = pod_ps_seconds(links.busy_ps),
                         .link_s = n * pod_ps_seconds(links.total_ps),
                         .link_bytes = n * links.bytes,
                         .wait_link_s = n * pod_ps_seconds(links.wait_ps),
                         .wait_sender_s = n * pod_ps_seconds(sim->wait_sender_ps),
                         .wait_work_s = n * pod_ps_seconds(sim->wait_work_ps)};
}

double pod_sim_link_busy_s(const pod_sim *sim, int link)
{
    return pod_ps_seconds(pod_links_busy_ps(sim->links, link));
}

double pod_sim_link_bytes(const pod_sim *sim, int link)
{
    return pod_links_bytes(sim->links, link);
}
