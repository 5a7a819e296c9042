/* Hosts fail, jobs break and let go of what they still hold, hosts are repaired. */
#include <math.h>

#include "kernels/base/arith.h"
#include "runtime/fleet/fleet_state.h"

typedef pod__fleet fleet;

/* Chips of what it asked for that a broken job still holds. */
static int64_t chips_left(const fleet *f, int job)
{
    const pod__fleet_job *j = &f->job[job];
    return pod_max(0, pod__fleet_chips(f, job) - pod__fleet_chips_of(f, j->n_cells - j->n_held));
}

/* Counts the time since it broke, or since another of its hosts failed. */
void pod__fleet_count_broken(fleet *f, int job)
{
    pod__fleet_job *j = &f->job[job];
    const int64_t partial = chips_left(f, job);
    const pod_stamp ns = f->now - j->begin;
    pod__fleet_count(f, POD_IDLE_PARTIAL, partial, ns);
    pod__fleet_count(f, POD_IDLE_ROUNDING, pod__fleet_chips_of(f, j->n_held) - partial, ns);
    f->outcome[job].partial += (pod_chip_ns)partial * ns;
    j->begin = f->now;
}

void pod__fleet_release(fleet *f, int job)
{
    pod__fleet_count_broken(f, job);
    pod__fleet_unlist(f, job);
    pod__fleet_free(f, job);
    pod__fleet_log(f, job, POD_FLEET_ALLOCATE, 0);
    pod__fleet_enqueue(f, job);
}

static void break_job(fleet *f, int job)
{
    pod__fleet_job *j = &f->job[job];
    pod__fleet_unlist(f, job);
    pod__fleet_lose_attempt(f, job);
    j->is = POD__JOB_BROKEN;
    j->begin = f->now;
    j->expected = f->now + f->plan->request[job].plan.detect;
    pod__fleet_list(f, job);
    pod__fleet_timer(f, j->expected, POD__TIMER_RELEASE, job, j->epoch);
    f->outcome[job].n_failures++;
    f->result.n_failures++;
}

static void lose_cell(fleet *f, int job, int cell)
{
    pod__fleet_job *j = &f->job[job];
    pod__fleet_log_stay(f, job);
    if (j->is == POD__JOB_RUNNING)
        break_job(f, job);
    else
        pod__fleet_count_broken(f, job);
    for (int i = 0; i < j->n_held; i++)
        if (j->cell[i] == cell) {
            j->cell[i] = j->cell[--j->n_held];
            j->cell[j->n_held] = cell;
            break;
        }
    f->owner[cell] = -1;
    pod__fleet_log(f, job, POD_FLEET_ALLOCATE, chips_left(f, job));
}

/* Of mean 1, by inversion. */
static double draw_exponential(pod_rng *r)
{
    return -log(((double)(pod_rng_u64(r) >> 11) + 0.5) * 0x1p-53);
}

double pod_fleet_host_mtbf_s(const pod_fleet_faults *f, const pod_topology *t)
{
    const int n_links = pod_topology_host_links(t);
    if (!(f->link_mtbf_s > 0) || n_links == 0) return f->mtbf_s;
    return 1 / ((f->mtbf_s > 0 ? 1 / f->mtbf_s : 0) + n_links / f->link_mtbf_s);
}

static pod_stamp draw_life(fleet *f, int cell)
{
    const double ns = ceil(draw_exponential(&f->rng[cell]) * f->host_mtbf_s * 1e9);
    return ns < (double)(POD_NEVER / 2) ? f->now + (pod_stamp)ns : POD_NEVER;
}

static pod_stamp next_failure(fleet *f, int cell)
{
    return f->replay ? pod__replay_next_failure(f, cell) : draw_life(f, cell);
}

static pod_stamp repair_of(fleet *f, int cell)
{
    const double ns = f->plan->faults.repair_s * 1e9;
    if (f->replay) return pod__replay_repair(f, cell);
    return ns < 4e18 ? f->now + (pod_stamp)llround(ns) : POD_NEVER;
}

void pod__fleet_fail(fleet *f, int cell)
{
    f->is_upset = true;
    const int job = f->owner[cell], pod = cell / f->plan->topology->n_cells;
    if (job >= 0)
        lose_cell(f, job, cell);
    else
        pod_occupancy_set(&f->occupancy, cell, true);
    f->is_down[cell] = 1;
    f->down_since[cell] = f->now;
    f->n_down[pod]++;
    f->result.n_host_failures++;
    pod__fleet_timer(f, repair_of(f, cell), POD__TIMER_REPAIR, cell, 0);
}

void pod__fleet_repair(fleet *f, int cell)
{
    f->is_upset = true;
    pod__fleet_log_down(f, cell);
    f->is_down[cell] = 0;
    f->n_down[cell / f->plan->topology->n_cells]--;
    pod_occupancy_set(&f->occupancy, cell, false);
    pod__fleet_timer(f, next_failure(f, cell), POD__TIMER_FAILURE, cell, 0);
}

/* ---- optical switches ------------------------------------------------------------------------ */

/* A TPU v4 pod has 48; each joins one pair of faces of all cubes (Jouppi et al., ISCA 2023). */
enum { N_SWITCHES = 48 };

static void set_switch_timer(fleet *f, int pod)
{
    const double ns = ceil(draw_exponential(&f->switch_rng[pod]) * f->plan->faults.switch_mtbf_s /
                           N_SWITCHES * 1e9);
    const pod_stamp at = ns < (double)(POD_NEVER / 2) ? f->now + (pod_stamp)ns : POD_NEVER;
    pod__fleet_timer(f, at, POD__TIMER_SWITCH, pod, 0);
}

static bool uses_switches(const fleet *f, int job, int pod)
{
    const pod__fleet_job *j = &f->job[job];
    return j->is == POD__JOB_RUNNING && j->n_cells > f->plan->topology->group_cells &&
           f->occupancy.pod_of[j->cell[0]] == pod;
}

/* Breaks each job of several cubes. They start again on any cubes: routing avoids the switch. */
void pod__fleet_fail_switch(fleet *f, int pod)
{
    int n = 0;
    f->is_upset = true;
    for (int i = 0; i < f->n_running; i++)
        if (uses_switches(f, f->running[i], pod)) f->victim[n++] = f->running[i];
    for (int i = 0; i < n; i++) {
        break_job(f, f->victim[i]);
        pod__fleet_log(f, f->victim[i], POD_FLEET_ALLOCATE, 0);
    }
    set_switch_timer(f, pod);
}

static pod_status draw_switches(fleet *f)
{
    const bool has_any = f->plan->topology->kind == POD_TOPOLOGY_CUBES;
    if (!has_any || !(f->plan->faults.switch_mtbf_s > 0)) return POD_OK;
    f->switch_rng = POD_ARENA_NEW(f->arena, pod_rng, f->plan->n_pods);
    if (!f->switch_rng) return POD_E_NOMEM;
    for (int i = 0; i < f->plan->n_pods; i++) {
        f->switch_rng[i] = pod_rng_at(f->plan->seed, (pod_place){.stream = POD_STREAM_FLEET,
                                                                 .layer = 4,
                                                                 .step = f->plan->number,
                                                                 .sample = (uint64_t)i});
        set_switch_timer(f, i);
    }
    return POD_OK;
}

/* ---- the first failures ---------------------------------------------------------------------- */

pod_status pod__fleet_draw_failures(fleet *f)
{
    POD_TRY(draw_switches(f));
    const int n_all = pod_occupancy_cells(&f->occupancy);
    if (f->plan->faults.trace) {
        POD_TRY(pod__replay_create(f));
        for (int i = 0; i < n_all; i++)
            pod__fleet_timer(f, next_failure(f, i), POD__TIMER_FAILURE, i, 0);
        return f->status;
    }
    f->host_mtbf_s = pod_fleet_host_mtbf_s(&f->plan->faults, f->plan->topology);
    if (!(f->host_mtbf_s > 0)) return POD_OK;
    f->rng = POD_ARENA_NEW(f->arena, pod_rng, n_all);
    if (!f->rng) return POD_E_NOMEM;
    for (int i = 0; i < n_all; i++) {
        f->rng[i] = pod_rng_at(f->plan->seed, (pod_place){.stream = POD_STREAM_FLEET,
                                                          .step = f->plan->number,
                                                          .sample = (uint64_t)i});
        pod__fleet_timer(f, draw_life(f, i), POD__TIMER_FAILURE, i, 0);
    }
    return f->status;
}
