/* Failures of hosts as a cluster recorded them. Each host of the pods plays a node of the trace, drawn for
 * the seed; where there are more hosts than nodes, several play the same node, each from another time of
 * the trace on, which begins again when it ends. */
#include "kernels/base/arith.h"
#include "runtime/fleet/fleet_state.h"

typedef struct outage {
    pod_stamp from, until; /* of the trace */
} outage;

struct pod__fault_replay {
    pod_stamp end;
    const outage *outage;
    const int *first; /* (n_nodes + 1): of a node's outages */
    struct player {   /* (cells) */
        int node, next;
        pod_stamp shift; /* its time 0 is that of the trace, plus a whole number of its lengths */
    } * player;
};

/* Overlapping faults of a node are one outage. */
static int list_outages(const pod_fault_trace *t, int node, outage out[])
{
    int n = 0, n_faults = 0;
    for (int i = 0; i < t->n_events; i++) {
        const pod_node_event *e = &t->event[i];
        if (e->node != node) continue;
        n_faults += e->is_down ? 1 : -1;
        if (e->is_down && n_faults == 1) out[n].from = e->at;
        if (!e->is_down && n_faults == 0 && e->at > out[n].from) out[n++].until = e->at;
    }
    return n;
}

static pod_status read_outages(pod__fault_replay *r, const pod_fault_trace *t, int n_nodes,
                               pod_arena *a)
{
    outage *all = POD_ARENA_NEW(a, outage, t->n_faults + 1);
    int *first = POD_ARENA_NEW(a, int, n_nodes + 1);
    if (!all || !first) return POD_E_NOMEM;
    for (int i = 0; i < n_nodes; i++)
        first[i + 1] = first[i] + (i < t->n_nodes ? list_outages(t, i, &all[first[i]]) : 0);
    r->outage = all;
    r->first = first;
    return POD_OK;
}

static pod_status deal_nodes(pod__fault_replay *r, const pod__fleet *f, int n_nodes)
{
    const int n_cells = pod_occupancy_cells(&f->occupancy),
              n_rounds = (int)pod_div_up(n_cells, n_nodes);
    int *order = POD_ARENA_NEW(f->arena, int, n_nodes);
    r->player = POD_ARENA_NEW(f->arena, struct player, n_cells);
    if (!order || !r->player) return POD_E_NOMEM;
    pod_rng rng =
        pod_rng_at(f->plan->seed,
                   (pod_place){.stream = POD_STREAM_FLEET, .layer = 3, .step = f->plan->number});
    for (int i = 0; i < n_nodes; i++) {
        const int k = (int)pod_rng_below(&rng, (uint64_t)i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    for (int i = 0; i < n_cells; i++)
        r->player[i] = (struct player){.node = order[i % n_nodes],
                                       .shift = -(r->end / n_rounds) * (i / n_nodes)};
    return POD_OK;
}

/* The next outage of the host that ends after now, in the fleet's time. */
static bool find_next(pod__fleet *f, int cell, pod_stamp *from, pod_stamp *until)
{
    const pod__fault_replay *r = f->replay;
    struct player *p = &r->player[cell];
    const int n = r->first[p->node + 1] - r->first[p->node];
    if (n == 0) return false;
    for (;; p->next++) {
        if (p->next == n) {
            p->next = 0;
            p->shift += r->end;
        }
        const outage *o = &r->outage[r->first[p->node] + p->next];
        *from = o->from + p->shift;
        *until = o->until + p->shift;
        if (*until > f->now) return true;
    }
}

pod_stamp pod__replay_next_failure(pod__fleet *f, int cell)
{
    pod_stamp from, until;
    return find_next(f, cell, &from, &until) ? pod_max(from, f->now) : POD_NEVER;
}

pod_stamp pod__replay_repair(pod__fleet *f, int cell)
{
    pod_stamp from, until;
    return find_next(f, cell, &from, &until) ? until : POD_NEVER;
}

pod_status pod__replay_create(pod__fleet *f)
{
    const pod_fleet_faults *faults = &f->plan->faults;
    pod__fault_replay *r = POD_ARENA_NEW(f->arena, pod__fault_replay, 1);
    if (!r) return POD_E_NOMEM;
    *r = (pod__fault_replay){.end = faults->trace->end};
    POD_TRY(read_outages(r, faults->trace, faults->n_nodes, f->arena));
    POD_TRY(deal_nodes(r, f, faults->n_nodes));
    f->replay = r;
    return POD_OK;
}
