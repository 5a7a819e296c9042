/* Room for a job at the cost of running ones: whole jobs of lower priority are evicted, and others are
 * moved elsewhere, also to other pods.
 *
 * It takes the cheapest jobs until the slice fits, and then gives back those that are not needed, the
 * dearest first (as Kueue does). Nothing is changed before all is known to fit. */
#include <stdlib.h>

#include "kernels/base/assert.h"
#include "runtime/fleet/fleet_state.h"

/* ---- what it costs, in chip-nanoseconds ------------------------------------------------------- */

static pod_stamp restart_length(const pod__fleet *f, int job)
{
    const pod_job_sim_plan *p = f->job[job].attempt.plan;
    return p->launch + p->init + p->prep + p->build + p->restore;
}

static double cost_of_eviction(const pod__fleet *f, int job)
{
    const pod_attempt_state s = pod__fleet_state_of(f, job);
    return (double)pod__fleet_chips(f, job) * (double)(s.unkept + restart_length(f, job));
}

static double cost_of_move(const pod__fleet *f, int job)
{
    const pod_job_sim_plan *p = f->job[job].attempt.plan;
    return (double)pod__fleet_chips(f, job) * (double)(p->save + p->write + restart_length(f, job));
}

/* ---- whom it may hit ------------------------------------------------------------------------- */

static bool is_protected(const pod__fleet *f, int job)
{
    const int64_t from = f->plan->policy.protected_chips;
    return f->job[job].is != POD__JOB_RUNNING || (from > 0 && pod__fleet_chips(f, job) >= from);
}

static bool is_evicted(const pod__fleet *f, int job, int for_job)
{
    return f->plan->policy.preempts && !is_protected(f, job) &&
           f->plan->request[job].priority < f->plan->request[for_job].priority &&
           f->now - f->job[job].begin >= f->plan->policy.grace;
}

/* A job that has no steps left to do only waits for its last save. */
static bool may_move(const pod__fleet *f, int job)
{
    return !is_protected(f, job) && f->job[job].stuck_in != f->pass &&
           pod__fleet_state_of(f, job).n_done < f->plan->request[job].plan.n_steps;
}

/* ---- the choice ------------------------------------------------------------------------------ */

static int by_cost(const void *a, const void *b)
{
    const pod__candidate *x = a, *y = b;
    if (x->cost != y->cost) return x->cost < y->cost ? -1 : 1;
    return x->job - y->job;
}

static void set_cells(pod_occupancy *o, const int cell[], int n, bool is_taken)
{
    for (int i = 0; i < n; i++) pod_occupancy_set(o, cell[i], is_taken);
}

static void set_job(pod__fleet *f, int job, bool is_taken)
{
    set_cells(&f->trial, f->job[job].cell, f->job[job].n_held, is_taken);
}

static bool fits(pod__fleet *f, int job)
{
    return pod__leaves_spare(f, job, &f->trial) &&
           pod_placer_find(f->placer, &f->trial, pod__fleet_slice(f, job), NULL, f->cells);
}

static bool fits_without(pod__fleet *f, const pod__candidate c[], int n, int job)
{
    pod_occupancy_copy(&f->trial, &f->occupancy);
    for (int i = 0; i < n; i++) set_job(f, c[i].job, false);
    return fits(f, job);
}

/* What is below it in priority is evicted; with `moves` all others may be moved. */
static int list_candidates(pod__fleet *f, int for_job, bool moves, pod__candidate c[])
{
    int n = 0;
    for (int i = 0; i < f->n_running; i++) {
        const int job = f->running[i];
        if (is_evicted(f, job, for_job))
            c[n++] = (pod__candidate){cost_of_eviction(f, job), job};
        else if (moves && may_move(f, job))
            c[n++] = (pod__candidate){cost_of_move(f, job), job};
    }
    qsort(c, (size_t)n, sizeof c[0], by_cost);
    return n;
}

/* Chooses those that make room for the job; 0: none do. `victim` has them, the dearest first; they
 * are gone from `trial`, and `cells` is the slice. *cost is of all. */
static int choose_victims(pod__fleet *f, int for_job, bool moves, double *cost)
{
    pod__candidate *c = f->candidates;
    const int n = list_candidates(f, for_job, moves, c);
    if (n == 0 || !fits_without(f, c, n, for_job)) return 0;
    int least = 1, most = n;
    while (least < most) {
        const int middle = least + (most - least) / 2;
        if (fits_without(f, c, middle, for_job))
            most = middle;
        else
            least = middle + 1;
    }
    fits_without(f, c, most, for_job);
    int n_victims = 0;
    *cost = 0;
    for (int i = most - 1; i >= 0; i--) {
        set_job(f, c[i].job, true);
        if (fits(f, for_job)) continue;
        set_job(f, c[i].job, false);
        f->victim[n_victims++] = c[i].job;
        *cost += c[i].cost;
    }
    const bool found = fits(f, for_job);
    POD_ASSERT(found, "%d jobs that leave make no room for job %d", n_victims, for_job);
    return n_victims;
}

/* ---- preemption ------------------------------------------------------------------------------ */

bool pod__preempt(pod__fleet *f, int job)
{
    double cost;
    const int n = choose_victims(f, job, false, &cost);
    if (n == 0) return false;
    for (int i = 0; i < n; i++) pod__fleet_evict(f, f->victim[i]);
    pod__fleet_start(f, job, f->cells);
    return true;
}

/* ---- defragmentation ------------------------------------------------------------------------- */

static bool is_before(const pod__fleet *f, int a, int b, int for_job)
{
    const bool x = is_evicted(f, a, for_job), y = is_evicted(f, b, for_job);
    return x != y ? x : f->job[a].n_cells > f->job[b].n_cells;
}

/* Sorts the victims: those that are evicted, then the others, the largest first. Returns how many the first
 * are. They are few: by insertion. */
static int sort_victims(pod__fleet *f, int n, int for_job)
{
    int n_evicted = 0;
    for (int i = 0; i < n; i++) {
        n_evicted += is_evicted(f, f->victim[i], for_job);
        for (int k = i; k > 0 && is_before(f, f->victim[k], f->victim[k - 1], for_job); k--) {
            const int other = f->victim[k];
            f->victim[k] = f->victim[k - 1];
            f->victim[k - 1] = other;
        }
    }
    return n_evicted;
}

/* Finds a new place for each of these; `more_cells` has them one behind the other. */
static bool place_all(pod__fleet *f, const int job[], int n)
{
    int *to = f->more_cells;
    for (int i = 0; i < n; i++) {
        const pod_slice slice = pod__fleet_slice(f, job[i]);
        if (!pod_placer_find(f->placer, &f->trial, slice, NULL, to)) {
            f->job[job[i]].stuck_in = f->pass;
            return false;
        }
        set_cells(&f->trial, to, slice.n_cells, true);
        to += slice.n_cells;
    }
    return true;
}

/* The chip-time that the job would lose by waiting for others to end, as they are expected to. */
static double gain_of_start(pod__fleet *f, int job)
{
    const pod_stamp at = pod__shadow(f, job), horizon = f->plan->horizon;
    return (double)pod__fleet_chips(f, job) * (double)((at < horizon ? at : horizon) - f->now);
}

/* Evicts or moves the victims, and starts the job; false: one finds no other place. */
static bool displace(pod__fleet *f, int n, int for_job)
{
    const int n_evicted = sort_victims(f, n, for_job), n_moved = n - n_evicted;
    const int *moved = &f->victim[n_evicted];
    if (!place_all(f, moved, n_moved)) return false;
    for (int i = 0; i < n_evicted; i++) pod__fleet_evict(f, f->victim[i]);
    pod__fleet_move(f, moved, n_moved, f->more_cells, for_job, f->cells);
    return true;
}

/* Whether enough cells are free, or held by those below the job in priority: moves leave as many free. */
static bool has_cells(const pod__fleet *f, int for_job)
{
    int n = pod__count_free(&f->occupancy);
    for (int i = 0; i < f->n_running && n < f->job[for_job].n_cells; i++)
        if (is_evicted(f, f->running[i], for_job)) n += f->job[f->running[i]].n_held;
    return n >= f->job[for_job].n_cells;
}

/* A job that finds no place is not chosen again in this pass. */
bool pod__defragment(pod__fleet *f, int job)
{
    enum { MOST_TRIES = 4 };
    const pod_fleet_policy *p = &f->plan->policy;
    pod__fleet_job *j = &f->job[job];
    double cost;
    const bool waits_for_room = j->reason == POD_WAIT_SHAPE || j->reason == POD_WAIT_BUSY;
    if (!waits_for_room || f->now - j->since < p->moves_after || f->now < j->retry_moves)
        return false;
    j->retry_moves = f->now + p->moves_after;
    if (!has_cells(f, job)) return false;
    const double gain = gain_of_start(f, job);
    for (int i = 0; i < MOST_TRIES; i++) {
        const int n = choose_victims(f, job, true, &cost);
        if (n == 0 || gain <= cost * p->move_margin) return false;
        set_cells(&f->trial, f->cells, j->n_cells, true);
        if (displace(f, n, job)) return true;
    }
    return false;
}
