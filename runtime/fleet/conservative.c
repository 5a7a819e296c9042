/* Conservative backfill: each of the first jobs of the queue has a reservation of cells for a span of
 * time, the earliest that delays none which was made before, and nobody starts outside of one.
 *
 *   A. Mu'alem and D. Feitelson, "Utilization, predictability, workloads, and user runtime estimates in
 *   scheduling the IBM SP2 with backfilling", IEEE TPDS 2001
 *
 * A span begins now, or when a job ends by its estimate; `cell` of a waiting job has its cells. Where
 * something did not go as it was expected, reservations are made again in the queue's order, and a job
 * keeps the one that it has unless the new one is earlier. */
#include <stdlib.h>

#include "kernels/base/arith.h"
#include "runtime/fleet/fleet_state.h"

enum { DEPTH = 100 }; /* jobs of the queue that get a reservation */

static pod_stamp length_of(const pod__fleet *f, int job)
{
    const pod_stamp length = pod_attempt_length(&f->job[job].attempt);
    const double estimate = (double)length * f->plan->request[job].estimate;
    if (f->plan->request[job].estimate == 1) return length;
    return estimate < (double)(POD_NEVER / 4) ? (pod_stamp)estimate : POD_NEVER / 4;
}

/* One that has overrun its estimate is expected to end any moment, but not now. */
static pod_stamp expected_end(const pod__fleet *f, int job)
{
    return pod_max(f->job[job].expected, f->now + 1);
}

/* ---- the reservations ------------------------------------------------------------------------ */

static bool has_one(const pod__fleet *f, int job) { return f->job[job].reserved_at != POD_NEVER; }

static void drop(pod__fleet *f, int job)
{
    f->job[job].reserved_at = POD_NEVER;
    for (int i = 0; i < f->n_reserved; i++)
        if (f->reserved_jobs[i] == job) {
            f->reserved_jobs[i] = f->reserved_jobs[--f->n_reserved];
            return;
        }
}

static void keep(pod__fleet *f, int job, pod_stamp at, const int cells[])
{
    pod__fleet_job *j = &f->job[job];
    if (!j->cell) j->cell = POD_ARENA_NEW(f->arena, int, j->most_cells);
    if (!j->cell) {
        f->status = POD_E_NOMEM;
        return;
    }
    for (int i = 0; i < j->n_cells; i++) j->cell[i] = cells[i];
    if (!has_one(f, job)) f->reserved_jobs[f->n_reserved++] = job;
    j->reserved_at = at;
    j->reserved_until = at + length_of(f, job);
    pod__fleet_timer(f, at, POD__TIMER_PASS, job, 0); /* others may have ended before */
    if (f->outcome[job].promised == POD_NEVER) f->outcome[job].promised = at;
}

static void set_all(pod_occupancy *o, const int cell[], int n, bool is_taken)
{
    for (int i = 0; i < n; i++)
        if ((o->taken[cell[i]] != 0) != is_taken) pod_occupancy_set(o, cell[i], is_taken);
}

/* `trial` becomes what is taken at some time in [from, until), without this job's reservation. */
static void set_trial(pod__fleet *f, int job, pod_stamp from, pod_stamp until)
{
    pod_occupancy_copy(&f->trial, &f->occupancy);
    for (int i = 0; i < f->n_running; i++) {
        const pod__fleet_job *j = &f->job[f->running[i]];
        if (expected_end(f, f->running[i]) <= from) set_all(&f->trial, j->cell, j->n_held, false);
    }
    for (int i = 0; i < f->n_reserved; i++) {
        const pod__fleet_job *j = &f->job[f->reserved_jobs[i]];
        if (f->reserved_jobs[i] == job || j->reserved_at >= until || j->reserved_until <= from)
            continue;
        set_all(&f->trial, j->cell, j->n_cells, true);
    }
}

static int by_time(const void *a, const void *b)
{
    const pod_stamp x = *(const pod_stamp *)a, y = *(const pod_stamp *)b;
    return (x > y) - (x < y);
}

static int list_times(pod__fleet *f, int job)
{
    int n = 0;
    f->times[n++] = f->now;
    for (int i = 0; i < f->n_running; i++) f->times[n++] = expected_end(f, f->running[i]);
    for (int i = 0; i < f->n_reserved; i++)
        if (f->reserved_jobs[i] != job)
            f->times[n++] = pod_max(f->job[f->reserved_jobs[i]].reserved_until, f->now + 1);
    qsort(f->times, (size_t)n, sizeof f->times[0], by_time);
    return n;
}

/* The earliest before `before` at which the job fits; `cells` then has the slice. POD_NEVER: none. */
static pod_stamp find_earliest(pod__fleet *f, int job, pod_stamp before)
{
    const int n_cells = f->job[job].n_cells, n = list_times(f, job);
    const pod_stamp length = length_of(f, job);
    for (int i = 0; i < n && f->times[i] < before; i++) {
        const pod_stamp at = f->times[i];
        if (i > 0 && at == f->times[i - 1]) continue;
        set_trial(f, job, at, at + length);
        if (pod__leaves_spare(f, job, &f->trial) && pod_has_room(&f->trial, n_cells) &&
            pod_placer_find(f->placer, &f->trial, pod__fleet_slice(f, job), NULL, f->cells))
            return at;
    }
    return POD_NEVER;
}

/* ---- a pass ---------------------------------------------------------------------------------- */

static bool are_free(const pod__fleet *f, int job)
{
    const pod__fleet_job *j = &f->job[job];
    for (int i = 0; i < j->n_cells; i++)
        if (f->occupancy.taken[j->cell[i]]) return false;
    return true;
}

static void start(pod__fleet *f, int job, const int cells[])
{
    drop(f, job);
    pod__fleet_start(f, job, cells);
}

/* Starts the job if its time has come, or if it fits now beside all reservations. */
static bool try_job(pod__fleet *f, int job, bool again)
{
    pod__fleet_job *j = &f->job[job];
    const bool is_due = has_one(f, job) && j->reserved_at <= f->now;
    if (is_due && are_free(f, job) && pod__leaves_spare(f, job, &f->occupancy)) {
        start(f, job, j->cell);
        return true;
    }
    if (is_due) drop(f, job); /* those that hold its cells were expected to have ended */
    if (has_one(f, job) && !again) return false;
    const pod_stamp at = find_earliest(f, job, j->reserved_at);
    if (at == POD_NEVER) return false;
    if (at == f->now)
        start(f, job, f->cells);
    else
        keep(f, job, at, f->cells);
    return at == f->now;
}

static void forget_lost_ones(pod__fleet *f)
{
    for (int i = f->n_reserved - 1; i >= 0; i--) {
        const int job = f->reserved_jobs[i];
        const pod__fleet_job *j = &f->job[job];
        bool is_lost = j->is != POD__JOB_QUEUED;
        for (int k = 0; k < j->n_cells && !is_lost; k++) is_lost = f->is_down[j->cell[k]];
        if (is_lost) drop(f, job);
    }
}

void pod__backfill_conservative(pod__fleet *f)
{
    const bool again = f->is_upset;
    int n = 0;
    f->is_upset = false;
    if (again) forget_lost_ones(f);
    for (int r = pod_rank_set_next(&f->queue, 0); r >= 0 && n < DEPTH;
         r = pod_rank_set_next(&f->queue, r + 1), n++) {
        const int job = f->by_rank[r];
        if (try_job(f, job, again)) continue;
        if (n == 0 && pod__make_room(f, job)) {
            f->is_upset = true;
            forget_lost_ones(f);
            continue;
        }
        if (pod__schedule_fits(f, job)) pod__fleet_wait_for(f, job, POD_WAIT_ORDER);
    }
}
