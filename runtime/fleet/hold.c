/* Jobs that wait, and jobs that hold cells. */
#include <string.h>

#include "kernels/base/assert.h"
#include "runtime/fleet/fleet_state.h"

typedef pod__fleet fleet;

/* ---- records --------------------------------------------------------------------------------- */

void pod__fleet_log(fleet *f, int job, pod_fleet_event_kind kind, int64_t chips)
{
    if (!f->plan->logs) return;
    pod_fleet_event *e = POD_ARENA_GROW(f->arena, f->event, f->n_events);
    if (!e) {
        f->status = POD_E_NOMEM;
        return;
    }
    f->event = e;
    e[f->n_events++] =
        (pod_fleet_event){.at = f->now, .request = job, .kind = kind, .chips = chips};
}

static void log_row(fleet *f, pod_fleet_stay s)
{
    if (s.from == s.until) return;
    pod_fleet_stay *stay = POD_ARENA_GROW(f->arena, f->stay, f->n_stays);
    if (!stay) {
        f->status = POD_E_NOMEM;
        return;
    }
    f->stay = stay;
    stay[f->n_stays++] = s;
}

void pod__fleet_log_down(fleet *f, int cell)
{
    const int row = cell / pod_topology_row_cells(f->plan->topology);
    if (f->plan->logs) log_row(f, (pod_fleet_stay){f->down_since[cell], f->now, -1, row, 1});
}

/* The cells of a slice that are in one row follow each other. */
void pod__fleet_log_stay(fleet *f, int job)
{
    pod__fleet_job *j = &f->job[job];
    const int row_cells = pod_topology_row_cells(f->plan->topology);
    pod_fleet_stay s = {.from = j->held_since, .until = f->now, .request = job};
    for (int i = 0; i < j->n_held && f->plan->logs; i++) {
        const int row = j->cell[i] / row_cells;
        if (s.n_cells > 0 && row != s.row) {
            log_row(f, s);
            s.n_cells = 0;
        }
        s.row = row;
        s.n_cells++;
    }
    if (s.n_cells > 0) log_row(f, s);
    j->held_since = f->now;
}

void pod__fleet_timer(fleet *f, pod_stamp at, int kind, int id, uint32_t epoch)
{
    const pod_timer timer = {.at = at, .kind = kind, .id = id, .epoch = epoch};
    if (at == POD_NEVER || at > f->plan->horizon) return;
    if (pod_timers_add(&f->timers, f->arena, timer) != POD_OK) f->status = POD_E_NOMEM;
}

/* ---- a job waits ----------------------------------------------------------------------------- */

void pod__fleet_end_wait(fleet *f, int job)
{
    pod__fleet_job *j = &f->job[job];
    pod_fleet_outcome *o = &f->outcome[job];
    if (o->n_starts == 0)
        o->wait[j->reason] += f->now - j->since;
    else
        o->rewait += f->now - j->since;
    j->since = f->now;
}

void pod__fleet_wait_for(fleet *f, int job, pod_wait reason)
{
    if (f->job[job].reason == reason) return;
    /* `since` is when the reason began; what came before is counted. */
    pod__fleet_end_wait(f, job);
    f->job[job].reason = reason;
}

void pod__fleet_enqueue(fleet *f, int job)
{
    pod__elastic_reset(f, job);
    pod__fleet_job *j = &f->job[job];
    j->is = POD__JOB_QUEUED;
    j->reason = POD_WAIT_ORDER;
    j->since = f->now;
    f->queued_cells += j->n_cells;
    f->needs[j->rank] = (double)pod_attempt_length(&j->attempt) * f->plan->request[job].estimate;
    pod_rank_set_add(&f->queue, j->rank);
    pod_rank_set_add(&f->queue_of[j->size_of], j->rank);
}

/* ---- a job holds cells ----------------------------------------------------------------------- */

/* Where the job stands, or would stand, among those that hold cells. */
static int running_at(const fleet *f, int job)
{
    const pod_stamp expected = f->job[job].expected;
    int low = 0, high = f->n_running;
    while (low < high) {
        const int middle = low + (high - low) / 2, other = f->running[middle];
        const pod_stamp at = f->job[other].expected;
        if (at < expected || (at == expected && other < job))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void pod__fleet_list(fleet *f, int job)
{
    const int at = running_at(f, job);
    memmove(&f->running[at + 1], &f->running[at],
            sizeof f->running[0] * (size_t)(f->n_running - at));
    f->running[at] = job;
    f->n_running++;
}

void pod__fleet_unlist(fleet *f, int job)
{
    const int at = running_at(f, job);
    POD_ASSERT(at < f->n_running && f->running[at] == job, "job %d holds no cells", job);
    f->n_running--;
    memmove(&f->running[at], &f->running[at + 1],
            sizeof f->running[0] * (size_t)(f->n_running - at));
}

/* Whole cubes are joined as the job asked. */
static void note_shape(fleet *f, int job)
{
    const pod_topology *t = f->plan->topology;
    const pod__fleet_job *j = &f->job[job];
    const pod_slice_shape *asked = &f->plan->request[job].shape;
    f->outcome[job].shape = pod_slice_shape_is_known(asked) && j->n_cells > t->group_cells
                                ? *asked
                                : pod_topology_shape_of(t, j->cell, j->n_cells);
}

static void take_cells(fleet *f, int job, const int cells[])
{
    pod__fleet_job *j = &f->job[job];
    if (!j->cell) j->cell = POD_ARENA_NEW(f->arena, int, j->most_cells);
    if (!j->cell) {
        f->status = POD_E_NOMEM;
        return;
    }
    for (int i = 0; i < j->n_cells; i++) {
        POD_ASSERT(f->owner[cells[i]] < 0 && !f->is_down[cells[i]], "cell %d is not free",
                   cells[i]);
        pod_occupancy_set(&f->occupancy, cells[i], true);
        f->owner[cells[i]] = job;
        j->cell[i] = cells[i];
    }
    j->n_held = j->n_cells;
    j->held_since = f->now;
    if (f->plan->logs) note_shape(f, job);
}

void pod__fleet_free(fleet *f, int job)
{
    pod__fleet_job *j = &f->job[job];
    pod__fleet_log_stay(f, job);
    for (int i = 0; i < j->n_held; i++) {
        pod_occupancy_set(&f->occupancy, j->cell[i], false);
        f->owner[j->cell[i]] = -1;
    }
    j->n_held = 0;
}

static void begin_attempt(fleet *f, int job)
{
    pod__fleet_job *j = &f->job[job];
    const pod_stamp length = pod_attempt_length(&j->attempt);
    const double estimate = (double)length * f->plan->request[job].estimate;
    j->is = POD__JOB_RUNNING;
    j->begin = f->now;
    j->expected = f->plan->request[job].estimate == 1  ? f->now + length
                  : estimate < (double)(POD_NEVER / 2) ? f->now + (pod_stamp)estimate
                                                       : POD_NEVER / 2;
    pod__fleet_timer(f, f->now + length, POD__TIMER_END, job, ++j->epoch);
}

pod_attempt_state pod__fleet_state_of(const fleet *f, int job)
{
    return pod_attempt_at(&f->job[job].attempt, f->now - f->job[job].begin);
}

/* Counts the attempt up to now; `lost` of its steps are lost. */
void pod__fleet_count_attempt(fleet *f, int job, const pod_attempt_state *s, pod_stamp lost)
{
    pod_fleet_outcome *o = &f->outcome[job];
    const int64_t chips = pod__fleet_chips(f, job);
    for (int k = 0; k < POD_N_JOB_SPANS; k++) {
        pod_stamp ns = s->by_span[k];
        if (k == POD_JOB_STEP) ns -= lost;
        if (k == POD_JOB_LOST_STEP) ns += lost;
        o->span[k] += ns;
        o->missed[k] += (pod_chip_ns)(f->plan->request[job].chips - chips) * ns;
        if (k == POD_JOB_STEP) o->n_stepped += (double)ns / (double)f->job[job].attempt.plan->step;
        f->ledger.span[k] += (pod_chip_ns)chips * ns;
    }
    pod__fleet_count(f, POD_IDLE_ROUNDING, pod__fleet_chips_of(f, f->job[job].n_cells) - chips,
                     f->now - f->job[job].begin);
}

/* Ends the attempt at the last whole checkpoint. */
void pod__fleet_lose_attempt(fleet *f, int job)
{
    pod__fleet_job *j = &f->job[job];
    const pod_attempt_state s = pod__fleet_state_of(f, job);
    pod__fleet_count_attempt(f, job, &s, s.unkept);
    f->outcome[job].n_kept = s.n_kept;
    j->attempt.n_before = s.n_kept;
    j->attempt.is_first = false;
    j->attempt.copy = 0;
    j->epoch++;
}

void pod__fleet_start(fleet *f, int job, const int cells[])
{
    pod__fleet_job *j = &f->job[job];
    pod_fleet_outcome *o = &f->outcome[job];
    POD_ASSERT(j->is == POD__JOB_QUEUED, "job %d starts and does not wait", job);
    pod__fleet_end_wait(f, job);
    pod_rank_set_remove(&f->queue, j->rank);
    pod_rank_set_remove(&f->queue_of[j->size_of], j->rank);
    f->queued_cells -= j->n_cells;
    take_cells(f, job, cells);
    if (o->n_starts++ == 0) o->first_start = f->now;
    begin_attempt(f, job);
    pod__fleet_list(f, job);
    pod__fleet_log(f, job, POD_FLEET_ALLOCATE, pod__fleet_chips(f, job));
}

void pod__fleet_evict(fleet *f, int job)
{
    f->is_upset = true;
    pod__fleet_unlist(f, job);
    pod__fleet_lose_attempt(f, job);
    pod__fleet_free(f, job);
    f->outcome[job].n_evictions++;
    f->result.n_evictions++;
    pod__fleet_log(f, job, POD_FLEET_ALLOCATE, 0);
    pod__fleet_enqueue(f, job);
}

/* All whole steps are saved where it goes, and that save cannot fail; a step that it was in is lost. */
void pod__fleet_leave(fleet *f, int job)
{
    pod__fleet_job *j = &f->job[job];
    const pod_job_sim_plan *p = j->attempt.plan;
    const pod_attempt_state s = pod__fleet_state_of(f, job);
    const int64_t n_new = s.n_done - j->attempt.n_before;
    pod__fleet_unlist(f, job);
    pod__fleet_count_attempt(f, job, &s, s.by_span[POD_JOB_STEP] - n_new * p->step);
    pod__fleet_free(f, job);
    j->attempt.copy = n_new > 0 ? p->save + p->write : 0;
    j->attempt.n_before = s.n_done;
    j->attempt.is_first = false;
    f->outcome[job].n_kept = s.n_done;
    f->outcome[job].n_moves++;
    f->result.n_moves++;
}

void pod__fleet_resume(fleet *f, int job, const int cells[])
{
    take_cells(f, job, cells);
    begin_attempt(f, job);
    pod__fleet_list(f, job);
}

void pod__fleet_move(fleet *f, const int job[], int n_jobs, const int to[], int head,
                     const int head_cells[])
{
    for (int i = 0; i < n_jobs; i++) pod__fleet_leave(f, job[i]);
    for (int i = 0; i < n_jobs; i++) {
        pod__fleet_resume(f, job[i], to);
        to += f->job[job[i]].n_cells;
    }
    pod__fleet_start(f, head, head_cells);
}
