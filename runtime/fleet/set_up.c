/* The state of a fleet before its first event. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "kernels/base/assert.h"
#include "runtime/fleet/fleet_state.h"

typedef pod__fleet fleet;

/* ---- the begin ------------------------------------------------------------------------------- */

typedef struct sort_key {
    const pod_fleet_request *request;
    pod_stamp primary;
    int job;
} sort_key;

static int by_order(const void *a, const void *b)
{
    const sort_key *x = a, *y = b;
    if (x->primary != y->primary) return x->primary < y->primary ? -1 : 1;
    return x->job - y->job; /* they are by submission */
}

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static pod_status list_sizes(fleet *f)
{
    const int n = f->plan->n_requests;
    int *cells = POD_ARENA_NEW(f->arena, int, n);
    if (!cells) return POD_E_NOMEM;
    for (int i = 0; i < n; i++) cells[i] = f->job[i].most_cells;
    qsort(cells, (size_t)n, sizeof cells[0], by_number);
    for (int i = 0; i < n; i++) {
        if (f->n_sizes > 0 && f->size_cells[f->n_sizes - 1] == cells[i]) continue;
        f->n_sizes += f->n_sizes < POD__MOST_SIZES;
        f->size_cells[f->n_sizes - 1] = cells[i];
    }
    for (int s = 0; s < f->n_sizes; s++) POD_TRY(pod_rank_set_create(f->arena, n, &f->queue_of[s]));
    for (int i = 0; i < n; i++)
        while (f->size_cells[f->job[i].size_of] < f->job[i].most_cells) f->job[i].size_of++;
    return POD_OK;
}

/* The place of each job in the queue is known beforehand: no order changes with time. */
pod_status pod__fleet_rank(fleet *f)
{
    const pod_fleet_plan *p = f->plan;
    sort_key *key = POD_ARENA_NEW(f->arena, sort_key, p->n_requests);
    if (!key) return POD_E_NOMEM;
    for (int i = 0; i < p->n_requests; i++) {
        key[i] = (sort_key){.request = &p->request[i], .job = i};
        if (p->policy.order == POD_ORDER_sjf)
            key[i].primary = (pod_stamp)fmin(
                (double)pod_attempt_length(&f->job[i].attempt) * p->request[i].estimate, 4e18);
        else if (p->policy.order == POD_ORDER_priority)
            key[i].primary = -(pod_stamp)p->request[i].priority;
    }
    qsort(key, (size_t)p->n_requests, sizeof key[0], by_order);
    for (int r = 0; r < p->n_requests; r++) {
        f->by_rank[r] = key[r].job;
        f->job[key[r].job].rank = r;
    }
    return list_sizes(f);
}

pod_status pod__fleet_size(fleet *f)
{
    const pod_fleet_plan *p = f->plan;
    for (int i = 0; i < p->n_requests; i++) {
        const pod_fleet_request *r = &p->request[i];
        pod__fleet_job *j = &f->job[i];
        POD_ASSERT(r->submit >= 0 && (i == 0 || r->submit >= r[-1].submit),
                   "request %d is not in the order of submission", i);
        j->n_cells = pod_slice_shape_is_known(&r->shape)
                         ? pod_placer_cells_of(f->placer, &r->shape)
                         : pod_placer_cells_for(f->placer, r->chips);
        j->most_cells = j->n_cells;
        if (j->n_cells == 0)
            return pod_fail(POD_E_INVALID,
                            "job '%.80s' asks for %" PRId64 " chips, but a %s pod has %" PRId64
                            " and no such slice",
                            r->name, r->chips, p->topology->name, pod_topology_chips(p->topology));
        j->attempt = (pod_attempt){.plan = &r->plan, .is_first = true};
        j->reserved_at = POD_NEVER;
        f->outcome[i].first_start = f->outcome[i].end = f->outcome[i].promised = POD_NEVER;
    }
    return POD_OK;
}

pod_status pod__fleet_allocate(fleet *f)
{
    const pod_fleet_plan *p = f->plan;
    pod_arena *a = f->arena;
    const int n = p->n_requests;
    POD_TRY(pod_occupancy_create(a, p->topology, p->n_pods, &f->occupancy));
    POD_TRY(pod_occupancy_create(a, p->topology, p->n_pods, &f->trial));
    POD_TRY(pod_occupancy_create(a, p->topology, p->n_pods, &f->shadow));
    POD_TRY(pod_placer_create(a, p->policy.placement, p->topology, &f->placer));
    POD_TRY(pod_rank_set_create(a, n, &f->queue));
    const int n_all = pod_occupancy_cells(&f->occupancy);
    f->owner = POD_ARENA_NEW(a, int, n_all);
    f->is_down = POD_ARENA_NEW(a, uint8_t, n_all);
    f->down_since = POD_ARENA_NEW(a, pod_stamp, n_all);
    f->n_down = POD_ARENA_NEW(a, int, p->n_pods);
    f->job = POD_ARENA_NEW(a, pod__fleet_job, n);
    f->outcome = POD_ARENA_NEW(a, pod_fleet_outcome, n);
    f->by_rank = POD_ARENA_NEW(a, int, n);
    f->needs = POD_ARENA_NEW(a, double, n);
    f->running = POD_ARENA_NEW(a, int, n);
    f->victim = POD_ARENA_NEW(a, int, n);
    f->candidates = POD_ARENA_NEW(a, pod__candidate, n);
    f->failed_in = POD_ARENA_NEW(a, int, n_all + 1);
    f->reserved = POD_ARENA_NEW(a, uint8_t, n_all);
    f->cells = POD_ARENA_NEW(a, int, n_all);
    f->more_cells = POD_ARENA_NEW(a, int, n_all);
    f->reserved_jobs = POD_ARENA_NEW(a, int, n);
    f->times = POD_ARENA_NEW(a, pod_stamp, 2 * n + 1);
    const int n_seen = p->marks.n > 0 ? n : 0;
    f->seen_job = POD_ARENA_NEW(a, pod__fleet_job, n_seen);
    f->seen_outcome = POD_ARENA_NEW(a, pod_fleet_outcome, n_seen);
    const bool has_all = f->owner && f->is_down && f->down_since && f->n_down && f->job &&
                         f->outcome && f->by_rank && f->needs && f->running && f->victim &&
                         f->candidates && f->failed_in && f->reserved && f->cells &&
                         f->more_cells && f->seen_job && f->seen_outcome && f->reserved_jobs &&
                         f->times;
    return has_all ? POD_OK : POD_E_NOMEM;
}
