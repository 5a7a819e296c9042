#include "kernels/base/assert.h"
#include "runtime/fleet/fleet_state.h"

/* Why a slice of so many cells cannot be counted together. */
static pod_wait why_busy(const pod__fleet *f, int n_cells)
{
    for (int i = 0; i < f->plan->n_pods; i++)
        if (f->occupancy.n_free[i] + f->n_down[i] >= n_cells) return POD_WAIT_DOWN;
    return POD_WAIT_BUSY;
}

int pod__count_free(const pod_occupancy *o)
{
    int n = 0;
    for (int i = 0; i < o->n_pods; i++) n += o->n_free[i];
    return n;
}

bool pod__leaves_spare_beside(const pod__fleet *f, int n_cells, const pod_occupancy *o)
{
    const int64_t spare = f->plan->policy.spare_chips;
    return spare == 0 || pod__fleet_chips_of(f, pod__count_free(o) - n_cells) >= spare;
}

bool pod__leaves_spare(const pod__fleet *f, int job, const pod_occupancy *o)
{
    return f->outcome[job].n_starts > 0 || pod__leaves_spare_beside(f, f->job[job].n_cells, o);
}

bool pod__schedule_fits(pod__fleet *f, int job)
{
    const int n_cells = f->job[job].n_cells;
    if (!pod_has_room(&f->occupancy, n_cells)) {
        pod__fleet_wait_for(f, job, why_busy(f, n_cells));
        return false;
    }
    if (!pod__leaves_spare(f, job, &f->occupancy)) {
        pod__fleet_wait_for(f, job, POD_WAIT_SPARE);
        return false;
    }
    if (f->failed_in[n_cells] != f->pass) {
        const pod_slice slice = pod__fleet_slice(f, job);
        if (pod_placer_find(f->placer, &f->occupancy, slice, NULL, f->cells)) return true;
        if (!pod_slice_shape_is_known(&slice.shape)) f->failed_in[n_cells] = f->pass;
    }
    pod__fleet_wait_for(f, job, POD_WAIT_SHAPE);
    return false;
}

/* Cells that others leave make room again for slices that found none in this pass. */
bool pod__make_room(pod__fleet *f, int job)
{
    const pod_fleet_policy *p = &f->plan->policy;
    const bool made =
        (p->preempts && pod__preempt(f, job)) || (p->moves && pod__defragment(f, job));
    if (made) f->pass++;
    return made;
}

void pod__schedule(pod__fleet *f)
{
    const pod_backfill backfill = f->plan->policy.backfill;
    int head = -1;
    f->pass++;
    if (backfill == POD_BACKFILL_conservative) {
        pod__backfill_conservative(f);
        return;
    }
    for (int r = pod_rank_set_next(&f->queue, 0); r >= 0; r = pod_rank_set_next(&f->queue, r + 1)) {
        const int job = f->by_rank[r];
        if (pod__schedule_fits(f, job)) {
            pod__fleet_start(f, job, f->cells);
            continue;
        }
        if (pod__make_room(f, job)) continue;
        if (f->plan->policy.resizes && pod__elastic_start(f, job)) continue;
        if (backfill == POD_BACKFILL_skip) continue;
        head = job;
        break;
    }
    if (f->head >= 0 && f->head != head && f->job[f->head].is == POD__JOB_QUEUED &&
        backfill == POD_BACKFILL_none)
        pod__fleet_wait_for(f, f->head, POD_WAIT_ORDER);
    f->head = head;
    if (f->plan->policy.resizes && pod_rank_set_next(&f->queue, 0) < 0) pod__elastic_grow(f);
    if (head >= 0 && backfill == POD_BACKFILL_easy) pod__backfill_easy(f, head);
}
