/* The run: events, and what becomes known at each. */
#include "collectives/exec/sim/sim.h"

#include <inttypes.h>

#include "collectives/exec/sim/core.h"
#include "collectives/exec/sim/pages.h"
#include "kernels/base/assert.h"

/* ---- steps and cores ------------------------------------------------------------------------ */

typedef struct site { /* a core, in a collective */
    pod_sim_coll *coll;
    const pod__sim_step *step; /* by place */
    pod__sim_state *state;
    int core;
} site;

static site site_of(const pod_sim *sim, pod_sim_coll *c, int core)
{
    return (site){c, pod__sim_step_at(c->plan, 0, sim->column[core]),
                  &c->state[(int64_t)core * c->plan->n_states], core};
}

static const int32_t *dependents_of(const pod__sim_plan *p, const pod__sim_step *s)
{
    return s->n_dependents == 1 ? &s->dependent : &p->dependent[s->dependent];
}

/* Whole bytes or picoseconds. */
static double cost_of(const pod_sim_coll *c, const pod__sim_step *s)
{
    const double cost = (double)s->cost;
    return c->scale == 1 ? cost : (double)(int64_t)(cost * c->scale + 0.5);
}

typedef struct event_name { /* what a key says */
    pod__sim_event kind;
    int coll, far, core;
    int32_t place;
} event_name;

static event_name name_of(const pod_sim *sim, uint64_t key)
{
    const uint32_t low = (uint32_t)key;
    return (event_name){.kind = (pod__sim_event)(key >> POD__SIM_KIND_SHIFT),
                        .coll = (int)(key >> POD__SIM_COLL_SHIFT) & (POD__SIM_MAX_COLLS - 1),
                        .far = (int)(key >> POD__SIM_FAR_SHIFT) & (POD__SIM_MAX_RANKS - 1),
                        .core = (int)(low & ((1u << sim->n_core_bits) - 1)),
                        .place = (int32_t)(low >> sim->n_core_bits)};
}

static void push(pod_sim *sim, const site *at, pod__sim_event kind, int far, int32_t place,
                 int64_t at_ps)
{
    pod_engine_push(sim->engine, at_ps,
                    (uint64_t)kind << POD__SIM_KIND_SHIFT |
                        (uint64_t)at->coll->number << POD__SIM_COLL_SHIFT |
                        (uint64_t)far << POD__SIM_FAR_SHIFT | (uint64_t)place << sim->n_core_bits |
                        (uint64_t)at->core);
}

/* ---- what becomes known --------------------------------------------------------------------- */

/* The step is complete at this time; its dependents learn it before the next event. */
static void is_known(pod_sim *sim, int32_t place, int core, int64_t at_ps)
{
    POD_DCHECK(sim->n_known < sim->known_capacity, "%d steps are known at once", (int)sim->n_known);
    sim->known[sim->n_known++] = (pod__sim_known){at_ps, place, core};
}

static void ready_sync(pod_sim *sim, const site *at, int32_t number, int64_t at_ps)
{
    const pod__sim_plan *plan = at->coll->plan;
    const pod__sim_sync *all = &plan->sync[number];
    pod__sim_group *group = &at->coll->group[number];
    group->at_ps = pod_later(group->at_ps, at_ps);
    if (--group->n_waits > 0) return;
    const int64_t on_ps = pod_ps_add(group->at_ps, sim->sync_ps);
    for (int32_t k = all->first; k < all->first + all->n; k++)
        is_known(sim, plan->sync_member[k].place, plan->sync_member[k].core, on_ps);
}

/* One of what a step waits for is complete, or comes, at this time. */
static void tell(pod_sim *sim, const site *at, int32_t place, int64_t at_ps)
{
    const pod__sim_step *s = &at->step[place];
    if (s->n_waits > 1) {
        pod__sim_state *state = &at->state[s->state];
        at_ps = pod_later((int64_t)state->at_ps, at_ps);
        const unsigned n_known = state->n_known + 1u;
        *state = (pod__sim_state){(uint64_t)at_ps & (UINT64_MAX >> 2), n_known & 3u};
        if (n_known < s->n_waits) return;
    }
    switch ((pod_step_kind)s->kind) {
    case POD_STEP_SEND: push(sim, at, POD__SIM_SEND, 0, place, at_ps); break;
    case POD_STEP_RECV:
    case POD_STEP_JOIN: is_known(sim, place, at->core, at_ps); break;
    case POD_STEP_SYNC: ready_sync(sim, at, s->peer, at_ps); break;
    default: push(sim, at, POD__SIM_WORK, 0, place, at_ps); break;
    }
}

/* The step is complete at this time. No step ends later than all that come after it. */
static void tell_dependents(pod_sim *sim, const site *at, const pod__sim_step *s, int64_t at_ps)
{
    const int32_t *dependent = dependents_of(at->coll->plan, s);
    for (int32_t i = 0; i < s->n_dependents; i++) tell(sim, at, dependent[i], at_ps);
    if (s->n_dependents > 0) return;
    pod__sim_part *part = &at->coll->part[at->core];
    part->end_ps = pod_later(part->end_ps, at_ps);
    if (--part->n_left == 0) push(sim, at, POD__SIM_DONE, 0, 0, part->end_ps);
}

static void tell_known(pod_sim *sim, pod_sim_coll *c)
{
    while (sim->n_known > 0) {
        const pod__sim_known known = sim->known[--sim->n_known];
        const site at = site_of(sim, c, known.core);
        tell_dependents(sim, &at, &at.step[known.place], known.at_ps);
    }
}

/* ---- events --------------------------------------------------------------------------------- */

static void work(pod_sim *sim, const site *at, int32_t place)
{
    const pod__sim_step *s = &at->step[place];
    const int64_t now_ps = pod_engine_now(sim->engine), cost_ps = (int64_t)cost_of(at->coll, s);
    const int64_t start_ps =
        pod_busy_take(&sim->unit[at->core], now_ps, cost_ps, at->coll->is_preferred);
    sim->wait_work_ps = pod_ps_add(sim->wait_work_ps, start_ps - now_ps);
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

/* The head of a message leaves its rank (far is 0) or one on its way, now. The source is free when
 * the tail has left the first. */
static void pass(pod_sim *sim, const site *at, int32_t place, int far)
{
    const pod_mesh *m = &sim->classes.mesh;
    const pod__sim_step *send = &at->step[place];
    const int64_t now_ps = pod_engine_now(sim->engine);
    const int peer = pod__sim_peer_of(sim, send->peer, at->core), own = sim->rank[at->core];
    const int rank = far == 0 ? own : pod__sim_moved(sim, sim->coord[own], sim->coord[far]);
    const pod_hop hop = next_hop(sim, send, rank, peer);
    pod_transit t = {.head_ps = now_ps,
                     .tail_ps = far == 0 ? now_ps : (int64_t)at->state[send->state].at_ps};
    pod_links_pass(sim->links, rank, hop, cost_of(at->coll, send), at->coll->is_preferred, &t);
    if (far == 0) tell_dependents(sim, at, send, t.left_ps);
    if (pod_mesh_neighbor(m, rank, hop.dim, hop.dir) == peer) {
        const site to = site_of(sim, at->coll, sim->core_of[peer]);
        tell(sim, &to, send->receive, t.tail_ps);
        return;
    }
    pod_coord on = {{0}};
    on.at[hop.dim] = hop.dir > 0 ? 1 : m->extent[hop.dim] - 1;
    at->state[send->state].at_ps = (uint64_t)t.tail_ps & (UINT64_MAX >> 2);
    push(sim, at, POD__SIM_HEAD, pod__sim_moved(sim, sim->coord[far], on), place, t.head_ps);
}

static void begin_send(pod_sim *sim, const site *at, int32_t place)
{
    if (sim->message_ps == 0) { /* then no sender is ever busy */
        pass(sim, at, place, 0);
        return;
    }
    const int64_t now_ps = pod_engine_now(sim->engine);
    const int64_t start_ps =
        pod_busy_take(&sim->sender[at->core], now_ps, sim->message_ps, at->coll->is_preferred);
    sim->wait_sender_ps = pod_ps_add(sim->wait_sender_ps, start_ps - now_ps);
    push(sim, at, POD__SIM_HEAD, 0, place, pod_ps_add(start_ps, sim->message_ps));
}

/* ---- ranks ---------------------------------------------------------------------------------- */

static size_t state_bytes(const pod_sim *sim, const pod_sim_coll *c)
{
    return (size_t)c->plan->n_states * (size_t)sim->n_cores * sizeof *c->state;
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
    for (int k = 0; k < sim->n_cores; k++)
        c->part[k] = (pod__sim_part){.n_left = p->n_last[sim->column[k]]};
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
    POD_ASSERT(at_ps >= pod_sim_now(sim), "rank %d starts at %" PRId64 " ps, now is %" PRId64, rank,
               at_ps, pod_sim_now(sim));
    if (c->n_not_done == 0) POD_TRY(begin_run(sim, c));
    POD_ASSERT(!c->part[rank].is_started, "rank %d starts again while others are not done", rank);
    c->part[rank].is_started = true;
    const int k = sim->column[rank];
    const site at = site_of(sim, c, rank);
    if (c->part[rank].n_left == 0) push(sim, &at, POD__SIM_DONE, 0, 0, at_ps);
    for (int32_t i = c->plan->first_root[k]; i < c->plan->first_root[k + 1]; i++)
        tell(sim, &at, c->plan->root[i], at_ps);
    tell_known(sim, c);
    return POD_OK;
}

void pod_sim_prefer(pod_sim_coll *c) { c->is_preferred = true; }

int pod_sim_coll_number(const pod_sim_coll *c) { return (int)c->number; }

/* ---- the run -------------------------------------------------------------------------------- */

bool pod_sim_next(pod_sim *sim, pod_sim_done *out)
{
    pod_engine_event event;
    while (pod_engine_pop(sim->engine, &event)) {
        const event_name e = name_of(sim, event.key);
        pod_sim_coll *c = sim->coll[e.coll];
        const site at = site_of(sim, c, e.core);
        switch (e.kind) {
        case POD__SIM_SEND: begin_send(sim, &at, e.place); break;
        case POD__SIM_HEAD: pass(sim, &at, e.place, e.far); break;
        case POD__SIM_WORK: work(sim, &at, e.place); break;
        case POD__SIM_DONE:
            if (--c->n_not_done == 0) pod__sim_put_state(sim, c);
            *out = (pod_sim_done){c, e.core, event.at_ps};
            return true;
        }
        tell_known(sim, c);
    }
    return false;
}

/* ---- what came of it ------------------------------------------------------------------------ */

/* Without an event to come: the place of a step that waits for what will not be. It is no step that
 * waits for an earlier one alone: that one waits too, or is complete. Negative: one that waits for
 * its message alone. */
static int32_t find_stuck(const pod_sim *sim, pod_sim_coll *c, int core)
{
    const site at = site_of(sim, c, core);
    for (int32_t place = 0; place < c->plan->n_steps[sim->column[core]]; place++) {
        const pod__sim_step *s = &at.step[place];
        if (s->n_waits > 1 && at.state[s->state].n_known < s->n_waits) return place;
        if (s->kind == POD_STEP_SYNC && c->group[s->peer].n_waits > 0) return place;
    }
    return -1;
}

pod_status pod_sim_check_done(const pod_sim *sim, const pod_sim_coll *c)
{
    POD_TRY(pod_engine_check(sim->engine));
    for (int k = 0; k < sim->n_cores && c->state; k++) {
        if (!c->part[k].is_started || c->part[k].n_left == 0) continue;
        const int32_t place = find_stuck(sim, sim->coll[c->number], k);
        const double from_s = pod_ps_seconds(pod_sim_now(sim));
        if (place < 0)
            return pod_fail(POD_E_INVALID,
                            "simulation: rank %d waits for ever for a message from %.9f s on",
                            sim->rank[k], from_s);
        return pod_fail(POD_E_INVALID,
                        "simulation: rank %d waits for ever in step %d (%s) from %.9f s on",
                        sim->rank[k], (int)place,
                        pod_step_kind_name(
                            (pod_step_kind)pod__sim_step_at(c->plan, place, sim->column[k])->kind),
                        from_s);
    }
    return POD_OK;
}

int64_t pod_sim_now(const pod_sim *sim) { return pod_engine_now(sim->engine); }

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
