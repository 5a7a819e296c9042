/* The run: events, and what becomes known at each. */
#include "collectives/exec/exec_sim.h"

#include <inttypes.h>
#include <stdlib.h>

#include "collectives/exec/sim.h"
#include "kernels/base/assert.h"

typedef enum event_kind {
    EVENT_SEND, /* a SEND begins */
    EVENT_HEAD, /* the head of its message comes to a link */
    EVENT_WORK, /* a step has all that it works on */
    EVENT_DONE  /* a rank, with all of its steps */
} event_kind;

static void push(pod_sim *sim, const pod_sim_coll *c, event_kind kind, uint32_t id, int64_t at_ps)
{
    pod_engine_push(sim->engine, at_ps,
                    (uint64_t)kind << POD__SIM_KIND_SHIFT |
                        (uint64_t)c->number << POD__SIM_COLL_SHIFT | id);
}

static void push_head(pod_sim *sim, const pod_sim_coll *c, uint32_t id, int far, int64_t at_ps)
{
    pod_engine_push(sim->engine, at_ps,
                    (uint64_t)EVENT_HEAD << POD__SIM_KIND_SHIFT |
                        (uint64_t)c->number << POD__SIM_COLL_SHIFT |
                        (uint64_t)far << POD__SIM_FAR_SHIFT | id);
}

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

/* ---- steps and ranks ------------------------------------------------------------------------ */

static uint32_t id_at(const pod_sim *sim, int32_t place, int core)
{
    return (uint32_t)place << sim->n_slot_bits | (uint32_t)core;
}

static int core_at(const pod_sim *sim, uint32_t id) { return (int)(id & sim->slot_mask); }

/* Where the state of this step is; where plan and costs have it. */
static int64_t state_at(const pod_sim *sim, const pod_sim_coll *c, uint32_t id)
{
    return pod__sim_at((int32_t)(id >> sim->n_slot_bits), core_at(sim, id), c->plan->n_places,
                       sim->n_member_bits);
}

static int64_t column_at(const pod_sim *sim, int64_t state) { return state >> sim->n_column_shift; }

/* Whole bytes or picoseconds. */
static double cost_at(const pod_sim_coll *c, int64_t at)
{
    const double cost = (double)c->cost[at];
    return c->scale == 1 ? cost : (double)(int64_t)(cost * c->scale + 0.5);
}

static int64_t time_of(pod__sim_state s) { return (int64_t)(s >> POD__SIM_TOLD_BITS); }

static unsigned n_told(pod__sim_state s) { return s & ((1u << POD__SIM_TOLD_BITS) - 1); }

static pod__sim_state state_of(int64_t at_ps, unsigned n_told)
{
    return (uint64_t)at_ps << POD__SIM_TOLD_BITS | n_told;
}

/* ---- what becomes known --------------------------------------------------------------------- */

/* The step is complete at the time of its state; its dependents are told before the next event. */
static void is_known(pod_sim *sim, uint32_t id)
{
    POD_DCHECK(sim->n_known < sim->known_capacity, "%d steps are known at once", (int)sim->n_known);
    sim->known[sim->n_known++] = id;
}

static void ready_sync(pod_sim *sim, pod_sim_coll *c, const pod__sim_step *s, int64_t at_ps)
{
    const pod__sim_sync *all = &c->plan->sync[s->partner];
    pod__sim_group *group = &c->group[s->partner];
    group->at_ps = later(group->at_ps, at_ps);
    if (--group->n_waits > 0) return;
    const int64_t on_ps = pod_ps_add(group->at_ps, sim->sync_ps);
    for (int32_t k = all->first; k < all->first + all->n; k++) {
        const uint32_t id = id_at(sim, c->plan->sync_member[k].place, c->plan->sync_member[k].core);
        pod__sim_state *state = &c->state[state_at(sim, c, id)];
        *state = state_of(on_ps, n_told(*state));
        is_known(sim, id);
    }
}

/* One of what a step waits for is complete, or comes, at this time. */
static void tell(pod_sim *sim, pod_sim_coll *c, uint32_t id, int64_t at_ps)
{
    const int64_t at = state_at(sim, c, id);
    const pod__sim_step *s = &c->plan->step[column_at(sim, at)];
    const int64_t latest_ps = later(time_of(c->state[at]), at_ps);
    const unsigned n = n_told(c->state[at]) + 1;
    c->state[at] = state_of(latest_ps, n);
    if (n < s->n_waits) return;
    switch ((pod_step_kind)s->kind) {
    case POD_STEP_SEND: push(sim, c, EVENT_SEND, id, latest_ps); break;
    case POD_STEP_RECV:
    case POD_STEP_JOIN: is_known(sim, id); break;
    case POD_STEP_SYNC: ready_sync(sim, c, s, latest_ps); break;
    default: push(sim, c, EVENT_WORK, id, latest_ps); break;
    }
}

/* The step is complete at this time. */
static void tell_dependents(pod_sim *sim, pod_sim_coll *c, const pod__sim_step *s, int core,
                            int64_t at_ps)
{
    pod__sim_part *part = &c->part[core];
    part->end_ps = later(part->end_ps, at_ps);
    if (--part->n_left == 0) push(sim, c, EVENT_DONE, (uint32_t)core, part->end_ps);
    for (int32_t e = s->edge; e < s->edge + (int32_t)s->n_edges; e++)
        tell(sim, c, id_at(sim, c->plan->dependent[e], core), at_ps);
}

static void tell_known(pod_sim *sim, pod_sim_coll *c)
{
    while (sim->n_known > 0) {
        const uint32_t id = sim->known[--sim->n_known];
        const int64_t at = state_at(sim, c, id);
        tell_dependents(sim, c, &c->plan->step[column_at(sim, at)], core_at(sim, id),
                        time_of(c->state[at]));
    }
}

/* ---- events --------------------------------------------------------------------------------- */

static void work(pod_sim *sim, pod_sim_coll *c, uint32_t id)
{
    const int64_t at = column_at(sim, state_at(sim, c, id));
    pod__sim_core *own = &sim->core[core_at(sim, id)];
    const int64_t start_ps = later(own->unit_free_ps, sim->now_ps);
    sim->wait_work_ps = pod_ps_add(sim->wait_work_ps, start_ps - sim->now_ps);
    own->unit_free_ps = pod_ps_add(start_ps, (int64_t)cost_at(c, at));
    tell_dependents(sim, c, &c->plan->step[at], core_at(sim, id), own->unit_free_ps);
}

static void arrive(pod_sim *sim, pod_sim_coll *c, const pod__sim_step *send, int to, int64_t at_ps)
{
    tell(sim, c, id_at(sim, send->partner, sim->core_of[to]), at_ps);
}

static pod_hop next_hop(const pod_sim *sim, const pod__sim_step *send, int rank, int to)
{
    pod_hop hop = {0};
    if (send->is_rerouted && pod_detours_has(sim->detours, to))
        return pod_detours_next(sim->detours, rank, to);
    (void)pod_route_next(&sim->classes.mesh, &sim->coord[rank], &sim->coord[to], &hop);
    return hop;
}

/* The head of a message leaves its rank, now; the source is free when the tail has left. */
static void pass_first(pod_sim *sim, pod_sim_coll *c, uint32_t id)
{
    const int64_t own_at = state_at(sim, c, id), at = column_at(sim, own_at);
    const pod__sim_step *send = &c->plan->step[at];
    const int core = core_at(sim, id), rank = sim->rank[core];
    pod_hop hop = {send->dim, send->is_down ? -1 : 1};
    bool is_near = send->is_near;
    if (send->is_rerouted) {
        const int to = pod__sim_peer_of(sim, send, core);
        hop = next_hop(sim, send, rank, to);
        is_near = pod_mesh_neighbor(&sim->classes.mesh, rank, hop.dim, hop.dir) == to;
    }
    pod_transit t = {.head_ps = sim->now_ps, .tail_ps = sim->now_ps};
    pod_links_pass(sim->links, rank, hop, cost_at(c, at), &t);
    tell_dependents(sim, c, send, core, t.left_ps);
    if (is_near) {
        arrive(sim, c, send, pod__sim_peer_of(sim, send, core), t.tail_ps);
        return;
    }
    c->state[own_at] = state_of(t.tail_ps, n_told(c->state[own_at]));
    pod_coord far = {{0}};
    far.at[hop.dim] = hop.dir > 0 ? 1 : sim->classes.mesh.extent[hop.dim] - 1;
    push_head(sim, c, id, pod_mesh_rank(&sim->classes.mesh, far), t.head_ps);
}

/* The head has come to a node on its way, now. */
static void pass_on(pod_sim *sim, pod_sim_coll *c, uint32_t id, int far)
{
    const pod_mesh *m = &sim->classes.mesh;
    const int64_t own_at = state_at(sim, c, id), at = column_at(sim, own_at);
    const pod__sim_step *send = &c->plan->step[at];
    const int core = core_at(sim, id), to = pod__sim_peer_of(sim, send, core);
    const int rank = pod__sim_moved(sim, sim->coord[sim->rank[core]], sim->coord[far]);
    pod_transit t = {.head_ps = sim->now_ps, .tail_ps = time_of(c->state[own_at])};
    const pod_hop hop = next_hop(sim, send, rank, to);
    pod_links_pass(sim->links, rank, hop, cost_at(c, at), &t);
    pod_coord step = {{0}};
    step.at[hop.dim] = hop.dir > 0 ? 1 : m->extent[hop.dim] - 1;
    if (pod__sim_moved(sim, sim->coord[rank], step) == to) {
        arrive(sim, c, send, to, t.tail_ps);
        return;
    }
    c->state[own_at] = state_of(t.tail_ps, n_told(c->state[own_at]));
    push_head(sim, c, id, pod__sim_moved(sim, sim->coord[far], step), t.head_ps);
}

static void begin_send(pod_sim *sim, pod_sim_coll *c, uint32_t id)
{
    pod__sim_core *own = &sim->core[core_at(sim, id)];
    const int64_t start_ps = later(own->sender_free_ps, sim->now_ps);
    sim->wait_sender_ps = pod_ps_add(sim->wait_sender_ps, start_ps - sim->now_ps);
    own->sender_free_ps = pod_ps_add(start_ps, sim->message_ps);
    if (own->sender_free_ps == sim->now_ps)
        pass_first(sim, c, id);
    else
        push_head(sim, c, id, 0, own->sender_free_ps);
}

/* ---- ranks ---------------------------------------------------------------------------------- */

static pod_status begin_run(pod_sim *sim, pod_sim_coll *c)
{
    const pod__sim_plan *p = c->plan;
    const size_t n = (size_t)p->n_places * (size_t)sim->n_slots + 1;
    /* Not from an arena, which would write to all of it: what is not touched is not taken. */
    c->state = calloc(n, sizeof *c->state);
    if (!c->state)
        return pod_fail(POD_E_NOMEM, "simulation: no memory for %zu steps of a collective", n);
    for (int k = 0; k < sim->n_slots; k++)
        c->part[k] = (pod__sim_part){.n_left = p->n_steps[k >> sim->n_column_shift]};
    for (int32_t g = 0; g < p->n_syncs; g++)
        c->group[g] = (pod__sim_group){.n_waits = p->sync[g].n};
    c->n_not_done = sim->n_cores;
    sim->n_messages += c->n_messages;
    sim->message_bytes += c->message_bytes;
    sim->n_rerouted += c->plan->n_rerouted;
    return POD_OK;
}

static void end_run(pod_sim_coll *c)
{
    free(c->state);
    c->state = NULL;
}

pod_status pod_sim_start(pod_sim *sim, pod_sim_coll *c, int rank, int64_t at_ps)
{
    POD_ASSERT(rank >= 0 && rank < sim->n_cores, "rank %d of %d", rank, sim->n_cores);
    POD_ASSERT(at_ps >= sim->now_ps, "a start at %" PRId64 " ps, now is %" PRId64, at_ps,
               sim->now_ps);
    if (c->n_not_done == 0) POD_TRY(begin_run(sim, c));
    const int core = sim->core_named[rank];
    POD_ASSERT(!c->part[core].is_started, "rank %d starts again while others are not done", rank);
    const int k = core >> sim->n_column_shift;
    c->part[core].is_started = true;
    if (c->part[core].n_left == 0) push(sim, c, EVENT_DONE, (uint32_t)core, at_ps);
    for (int32_t i = c->plan->first_root[k]; i < c->plan->first_root[k + 1]; i++)
        tell(sim, c, id_at(sim, c->plan->root[i], core), at_ps);
    tell_known(sim, c);
    return POD_OK;
}

int pod_sim_coll_number(const pod_sim_coll *c) { return (int)c->number; }

bool pod_sim_next(pod_sim *sim, pod_sim_done *out)
{
    enum { MAX_COLLS = 1 << (POD__SIM_KIND_SHIFT - POD__SIM_COLL_SHIFT) };
    enum { MAX_RANKS = 1 << (POD__SIM_COLL_SHIFT - POD__SIM_FAR_SHIFT) };
    pod_engine_event event;
    while (pod_engine_pop(sim->engine, &event)) {
        sim->now_ps = event.at_ps;
        pod_sim_coll *c = sim->coll[event.key >> POD__SIM_COLL_SHIFT & (MAX_COLLS - 1)];
        const uint32_t id = (uint32_t)event.key;
        const int far = (int)(event.key >> POD__SIM_FAR_SHIFT & (MAX_RANKS - 1));
        switch ((event_kind)(event.key >> POD__SIM_KIND_SHIFT)) {
        case EVENT_SEND: begin_send(sim, c, id); break;
        case EVENT_HEAD:
            if (far == 0)
                pass_first(sim, c, id);
            else
                pass_on(sim, c, id, far);
            break;
        case EVENT_WORK: work(sim, c, id); break;
        case EVENT_DONE:
            if (--c->n_not_done == 0) end_run(c);
            *out = (pod_sim_done){c, sim->name[id], event.at_ps};
            return true;
        }
        tell_known(sim, c);
    }
    return false;
}

/* ---- what came of it ------------------------------------------------------------------------ */

/* Without an event to come: the place of a step that waits for what will not be. */
static int32_t find_stuck(const pod_sim *sim, const pod_sim_coll *c, int core)
{
    for (int32_t place = 0; place < c->plan->n_steps[core >> sim->n_column_shift]; place++) {
        const uint32_t id = id_at(sim, place, core);
        const int64_t at = state_at(sim, c, id);
        const pod__sim_step *s = &c->plan->step[column_at(sim, at)];
        const bool waits_in_sync = s->kind == POD_STEP_SYNC && c->group[s->partner].n_waits > 0;
        if (n_told(c->state[at]) < s->n_waits || waits_in_sync) return place;
    }
    return -1;
}

pod_status pod_sim_check_done(const pod_sim *sim, const pod_sim_coll *c)
{
    POD_TRY(pod_engine_check(sim->engine));
    for (int rank = 0; rank < sim->n_cores && c->state; rank++) {
        const int k = sim->core_named[rank];
        if (!c->part[k].is_started || c->part[k].n_left == 0) continue;
        const int32_t place = find_stuck(sim, c, k);
        POD_ASSERT(place >= 0, "rank %d has %d steps left, none waits", k, (int)c->part[k].n_left);
        const pod__sim_step *s =
            &c->plan->step[column_at(sim, state_at(sim, c, id_at(sim, place, k)))];
        return pod_fail(POD_E_INVALID,
                        "simulation: rank %d waits for ever in step %d (%s) from %.9f s on",
                        sim->rank[k], (int)place, pod_step_kind_name((pod_step_kind)s->kind),
                        pod_ps_seconds(sim->now_ps));
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
