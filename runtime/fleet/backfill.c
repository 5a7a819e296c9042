/* EASY: the head of the queue gets a reservation at the earliest time at which it fits by the
 * estimates, and others may start before it if they do not delay that.
 *
 *   D. Lifka, "The ANL/IBM SP scheduling system", JSSPP 1995
 *
 * The reservation is of cells: a job that outlives that time must leave them alone. Where cells are
 * alike, this is the usual rule of what is spare then, since the head is given those cells that are
 * not free now, and jobs that end in time take reserved ones first. */
#include <limits.h>
#include <string.h>

#include "kernels/base/arith.h"
#include "runtime/fleet/fleet_state.h"

static void free_cells(pod_occupancy *o, const pod__fleet_job *j)
{
    for (int i = 0; i < j->n_held; i++) pod_occupancy_set(o, j->cell[i], false);
}

static bool fits_shadow(pod__fleet *f, int job)
{
    const int n_cells = f->job[job].n_cells;
    return pod_has_room(&f->shadow, n_cells) && pod__leaves_spare(f, job, &f->shadow) &&
           pod_placer_find(f->placer, &f->shadow, pod__fleet_slice(f, job), NULL, f->more_cells);
}

/* One that has overrun its estimate is expected to end any moment. */
static pod_stamp expected_end(const pod__fleet *f, int i)
{
    return pod_max(f->job[f->running[i]].expected, f->now);
}

pod_stamp pod__shadow(pod__fleet *f, int job)
{
    int n = 0;
    bool fits = false;
    pod_occupancy_copy(&f->shadow, &f->occupancy);
    while (n < f->n_running && !fits) {
        free_cells(&f->shadow, &f->job[f->running[n++]]);
        fits = fits_shadow(f, job);
    }
    if (!fits) return POD_NEVER;
    const pod_stamp at = expected_end(f, n - 1);
    while (n < f->n_running && expected_end(f, n) == at)
        free_cells(&f->shadow, &f->job[f->running[n++]]);
    return at;
}

typedef struct reservation {
    pod_stamp at;
    int n_extra; /* cells that the head and what is spare leave free then */
    bool is_made;
} reservation;

/* Marks the head's cells in `reserved`, and takes them in `trial`, which is what remains for jobs that
 * outlive the reservation. */
static void reserve(pod__fleet *f, int head, reservation *r)
{
    const int n_all = pod_occupancy_cells(&f->occupancy), n_cells = f->job[head].n_cells;
    r->is_made = true;
    r->at = pod__shadow(f, head);
    if (f->outcome[head].promised == POD_NEVER) f->outcome[head].promised = r->at;
    const int64_t spare = f->plan->policy.spare_chips;
    r->n_extra = pod__count_free(&f->shadow) - n_cells -
                 (int)pod_min(n_all, pod_div_up(spare, f->plan->topology->chips_per_cell));
    if (f->outcome[head].n_starts > 0) r->n_extra = n_all;
    memset(f->reserved, 0, (size_t)n_all);
    pod_occupancy_copy(&f->trial, &f->occupancy);
    if (r->at == POD_NEVER) return; /* it waits for a repair, whose time nobody knows */
    if (!pod_placer_find(f->placer, &f->shadow, pod__fleet_slice(f, head), f->occupancy.taken,
                         f->more_cells))
        return;
    for (int i = 0; i < n_cells; i++) {
        const int cell = f->more_cells[i];
        f->reserved[cell] = 1;
        if (!f->trial.taken[cell]) pod_occupancy_set(&f->trial, cell, true);
    }
}

/* What is known of a size in this pass, in which less and less is free: jobs of any shape that end in time, and
 * those that do not, find no slice any more. */
typedef struct size_state {
    int next; /* rank; INT_MAX: none, or none is worth a look */
    bool fails_in_time, fails_beyond;
} size_state;

static bool find_in_time(pod__fleet *f, int job)
{
    return pod_placer_find(f->placer, &f->occupancy, pod__fleet_slice(f, job), f->reserved,
                           f->cells);
}

static bool find_beyond(pod__fleet *f, int job, reservation *r)
{
    const int n_cells = f->job[job].n_cells;
    if (n_cells > r->n_extra || !pod_has_room(&f->trial, n_cells) ||
        !pod_placer_find(f->placer, &f->trial, pod__fleet_slice(f, job), NULL, f->cells))
        return false;
    r->n_extra -= n_cells;
    return true;
}

static bool find_for(pod__fleet *f, int job, reservation *r, size_state *s)
{
    const double needs = f->needs[f->job[job].rank];
    const bool in_time = r->at == POD_NEVER || (double)f->now + needs <= (double)r->at;
    bool *fails = in_time ? &s->fails_in_time : &s->fails_beyond;
    if (*fails || !pod__leaves_spare(f, job, &f->occupancy)) return false;
    const bool found = in_time ? find_in_time(f, job) : find_beyond(f, job, r);
    *fails = !found && !pod_slice_shape_is_known(&f->plan->request[job].shape);
    return found;
}

static void start(pod__fleet *f, int job)
{
    for (int i = 0; i < f->job[job].n_cells; i++)
        if (!f->trial.taken[f->cells[i]]) pod_occupancy_set(&f->trial, f->cells[i], true);
    pod__fleet_start(f, job, f->cells);
}

static int next_of(const pod__fleet *f, int size, int from)
{
    const int rank = pod_rank_set_next(&f->queue_of[size], from);
    return rank < 0 ? INT_MAX : rank;
}

/* The size whose next job is first. */
static int first_size(const pod__fleet *f, const size_state s[])
{
    int first = 0;
    for (int i = 1; i < f->n_sizes; i++)
        if (s[i].next < s[first].next) first = i;
    return first;
}

void pod__backfill_easy(pod__fleet *f, int head)
{
    reservation r = {0};
    size_state state[POD__MOST_SIZES] = {0};
    for (int i = 0; i < f->n_sizes; i++) state[i].next = next_of(f, i, f->job[head].rank + 1);
    for (;;) {
        const int size = first_size(f, state), rank = state[size].next;
        if (rank == INT_MAX) break;
        size_state *s = &state[size];
        const int job = f->by_rank[rank], n_cells = f->job[job].n_cells;
        const bool are_alike = size < POD__MOST_SIZES - 1;
        s->next = next_of(f, size, rank + 1);
        if (!pod_has_room(&f->occupancy, n_cells) || f->failed_in[n_cells] == f->pass) {
            if (are_alike) s->next = INT_MAX;
            continue;
        }
        if (!r.is_made) reserve(f, head, &r);
        if (find_for(f, job, &r, s)) start(f, job);
        if (!are_alike) s->fails_in_time = s->fails_beyond = false;
        if (s->fails_in_time && s->fails_beyond) s->next = INT_MAX;
    }
}
