/* Elastic jobs: one that does not fit starts on a smaller slice rather than wait, and moves to a larger
 * one when nobody waits and that ends it sooner. Its steps are the same on any slice, and a change of
 * the slice is a start of its own. */
#include "runtime/fleet/fleet_state.h"

/* It grows if it then ends in this share of the time that is left. */
static const double WORTH = 0.9;

static int64_t chips_at(const pod__fleet *f, int job, int size)
{
    const pod_fleet_request *r = &f->plan->request[job];
    return size == 0 ? r->chips : r->smaller[size - 1].chips;
}

static const pod_job_sim_plan *plan_at(const pod__fleet *f, int job, int size)
{
    const pod_fleet_request *r = &f->plan->request[job];
    return size == 0 ? &r->plan : &r->smaller[size - 1].plan;
}

static void set_size(pod__fleet *f, int job, int size)
{
    pod__fleet_job *j = &f->job[job];
    const int n_cells =
        size == 0 ? j->most_cells : pod_placer_cells_for(f->placer, chips_at(f, job, size));
    if (j->is == POD__JOB_QUEUED) f->queued_cells += n_cells - j->n_cells;
    j->size = size;
    j->n_cells = n_cells;
    j->attempt.plan = plan_at(f, job, size);
}

/* A reader of the events sees a job end that held nothing, and another one begin. */
static void log_size(pod__fleet *f, int job)
{
    pod__fleet_log(f, job, POD_FLEET_END, 0);
    pod__fleet_log(f, job, POD_FLEET_SUBMIT, pod__fleet_chips(f, job));
}

void pod__elastic_reset(pod__fleet *f, int job)
{
    if (f->job[job].size == 0) return;
    set_size(f, job, 0);
    log_size(f, job);
}

bool pod__elastic_start(pod__fleet *f, int job)
{
    const pod_wait reason = f->job[job].reason;
    for (int size = 1; size <= f->plan->request[job].n_smaller; size++) {
        set_size(f, job, size);
        if (!pod__schedule_fits(f, job)) continue;
        log_size(f, job);
        f->outcome[job].n_resizes++;
        pod__fleet_start(f, job, f->cells);
        return true;
    }
    set_size(f, job, 0);
    pod__fleet_wait_for(f, job, reason);
    return false;
}

/* What is left of the job on this slice, if it moves there now: as prepare_move has it. */
static pod_stamp length_after(const pod__fleet *f, int job, int size)
{
    const pod__fleet_job *j = &f->job[job];
    const pod_attempt_state s = pod__fleet_state_of(f, job);
    const bool has_new = s.n_done > j->attempt.n_before;
    const pod_attempt next = {.plan = plan_at(f, job, size),
                              .n_before = s.n_done,
                              .copy = has_new ? j->attempt.plan->save + j->attempt.plan->write : 0};
    return pod_attempt_length(&next);
}

static bool try_size(pod__fleet *f, int job, int size)
{
    const pod__fleet_job *j = &f->job[job];
    const pod_stamp left = pod_attempt_length(&j->attempt) - (f->now - j->begin);
    const int n_cells =
        size == 0 ? j->most_cells : pod_placer_cells_for(f->placer, chips_at(f, job, size));
    if ((double)length_after(f, job, size) > WORTH * (double)left) return false;
    pod_occupancy_copy(&f->trial, &f->occupancy);
    for (int i = 0; i < j->n_held; i++) pod_occupancy_set(&f->trial, j->cell[i], false);
    if (!pod_has_room(&f->trial, n_cells) || !pod__leaves_spare_beside(f, n_cells, &f->trial) ||
        !pod_placer_find(f->placer, &f->trial, (pod_slice){.n_cells = n_cells}, NULL, f->cells))
        return false;
    pod__fleet_leave(f, job);
    pod__fleet_log(f, job, POD_FLEET_ALLOCATE, 0);
    set_size(f, job, size);
    log_size(f, job);
    f->outcome[job].n_resizes++;
    pod__fleet_resume(f, job, f->cells);
    pod__fleet_log(f, job, POD_FLEET_ALLOCATE, pod__fleet_chips(f, job));
    return true;
}

static bool may_grow(const pod__fleet *f, int job)
{
    return f->job[job].is == POD__JOB_RUNNING && f->job[job].size > 0 &&
           pod__fleet_state_of(f, job).n_done < f->plan->request[job].plan.n_steps;
}

void pod__elastic_grow(pod__fleet *f)
{
    int n = 0;
    for (int i = 0; i < f->n_running; i++)
        if (may_grow(f, f->running[i])) f->victim[n++] = f->running[i];
    for (int i = 0; i < n; i++)
        for (int size = 0; size < f->job[f->victim[i]].size; size++)
            if (try_size(f, f->victim[i], size)) break;
}
