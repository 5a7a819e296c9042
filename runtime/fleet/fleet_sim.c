#include "runtime/fleet/fleet_sim.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/arith.h"
#include "kernels/base/assert.h"
#include "runtime/fleet/fleet_state.h"

typedef pod__fleet fleet;

int pod_order_find(const char *name)
{
    static const char *const names[] = {
#define POD_ORDER(name, about) #name,
#include "runtime/fleet/orders.def"
    };
    for (int i = 0; i < POD_N_ORDERS; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

int pod_backfill_find(const char *name)
{
    static const char *const names[] = {
#define POD_BACKFILL(name, about) #name,
#include "runtime/fleet/backfills.def"
    };
    for (int i = 0; i < POD_N_BACKFILLS; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

const char *pod_wait_name(pod_wait w)
{
    static const char *const names[] = {
#define POD_X(name, text, what) [POD_WAIT_##name] = (text),
        POD_WAIT_MAP(POD_X)
#undef POD_X
    };
    return names[w];
}

/* ---- what happens ---------------------------------------------------------------------------- */

static void on_end(fleet *f, int job)
{
    f->is_upset |= f->job[job].expected != f->now;
    const pod_attempt_state s = pod__fleet_state_of(f, job);
    pod__fleet_unlist(f, job);
    pod__fleet_count_attempt(f, job, &s, 0);
    pod__fleet_free(f, job);
    f->job[job].is = POD__JOB_DONE;
    f->outcome[job].n_kept = f->plan->request[job].plan.n_steps;
    f->outcome[job].end = f->now;
    pod__fleet_log(f, job, POD_FLEET_END, 0);
}

static void on_timer(fleet *f, const pod_timer *t)
{
    if (t->kind == POD__TIMER_FAILURE)
        pod__fleet_fail(f, t->id);
    else if (t->kind == POD__TIMER_REPAIR)
        pod__fleet_repair(f, t->id);
    else if (t->kind == POD__TIMER_SWITCH)
        pod__fleet_fail_switch(f, t->id);
    else if (t->kind == POD__TIMER_PASS)
        return;
    else if (f->job[t->id].epoch != t->epoch)
        return;
    else if (t->kind == POD__TIMER_END)
        on_end(f, t->id);
    else
        pod__fleet_release(f, t->id);
}

static void on_submit(fleet *f, int job)
{
    pod__fleet_log(f, job, POD_FLEET_SUBMIT, pod__fleet_chips(f, job));
    pod__fleet_enqueue(f, job);
}

/* ---- what nobody holds (ledger.h) ------------------------------------------------------------ */

/* Of the free cells those that waiting jobs would take if shapes did not matter. */
static int count_fragmented(fleet *f)
{
    const pod_fleet_policy *p = &f->plan->policy;
    const int n_pods = f->plan->n_pods;
    const int n_free = pod__count_free(&f->occupancy);
    int n = 0;
    memcpy(f->trial.n_free, f->occupancy.n_free, sizeof f->trial.n_free[0] * (size_t)n_pods);
    for (int r = pod_rank_set_next(&f->queue, 0); r >= 0; r = pod_rank_set_next(&f->queue, r + 1)) {
        const int job = f->by_rank[r], n_cells = f->job[job].n_cells;
        int pod = 0;
        for (int i = 1; i < n_pods; i++)
            if (f->trial.n_free[i] > f->trial.n_free[pod]) pod = i;
        if (f->trial.n_free[pod] < n_cells) break;
        const bool is_held = f->outcome[job].n_starts == 0 &&
                             pod__fleet_chips_of(f, n_free - n - n_cells) < p->spare_chips;
        if (is_held) break;
        f->trial.n_free[pod] -= n_cells;
        n += n_cells;
    }
    return n;
}

static void divide_idle(fleet *f)
{
    int n_free = 0, n_down = 0;
    for (int i = 0; i < f->plan->n_pods; i++) {
        n_free += f->occupancy.n_free[i];
        n_down += f->n_down[i];
    }
    const int fragmented = n_free > 0 ? count_fragmented(f) : 0, rest = n_free - fragmented;
    const int policy = (int)pod_min(rest, f->queued_cells - fragmented);
    f->idle[POD_IDLE_DOWN] = n_down;
    f->idle[POD_IDLE_FRAGMENTED] = fragmented;
    f->idle[POD_IDLE_POLICY] = policy;
    f->idle[POD_IDLE_NO_DEMAND] = rest - policy;
}

static void pass_time(fleet *f, pod_stamp until)
{
    for (int i = 0; i < POD_N_IDLE; i++)
        pod__fleet_count(f, (pod_idle)i, pod__fleet_chips_of(f, f->idle[i]), until - f->now);
    f->now = until;
}

/* ---- up to an instant ------------------------------------------------------------------------ */

/* What goes on at this instant counts up to it; steps that are not saved yet are not lost. */
static void cut_off(fleet *f)
{
    for (int i = 0; i < f->plan->n_requests; i++) {
        pod__fleet_job *j = &f->job[i];
        if (j->is == POD__JOB_RUNNING) {
            const pod_attempt_state s = pod__fleet_state_of(f, i);
            pod__fleet_count_attempt(f, i, &s, 0);
            f->outcome[i].n_kept = s.n_kept;
        } else if (j->is == POD__JOB_BROKEN) {
            pod__fleet_count_broken(f, i);
        } else if (j->is == POD__JOB_QUEUED) {
            pod__fleet_end_wait(f, i);
            f->outcome[i].waits = true;
            f->outcome[i].reason = j->reason;
        }
    }
}

static void check_ledger(fleet *f)
{
    const pod_fleet_plan *p = f->plan;
    f->ledger.capacity = (pod_chip_ns)(pod_topology_chips(p->topology) * p->n_pods) * f->now;
    const pod_chip_ns apart = pod_ledger_sum(&f->ledger) - f->ledger.capacity;
    POD_ASSERT(apart == 0, "the ledger is %g chip-seconds off capacity", (double)apart * 1e-9);
}

static int64_t find_largest_slice(const fleet *f, int most_cells)
{
    for (int n = most_cells; n > 0; n--) {
        const int64_t chips = pod__fleet_chips_of(f, n);
        if (pod_placer_cells_for(f->placer, chips) == n &&
            pod_placer_find(f->placer, &f->occupancy, (pod_slice){.n_cells = n}, NULL, f->cells))
            return chips;
    }
    return 0;
}

static pod_fleet_view view_of(const fleet *f)
{
    pod_fleet_view v = {.outcome = f->outcome,
                        .ledger = &f->ledger,
                        .free_chips = pod__fleet_chips_of(f, pod__count_free(&f->occupancy)),
                        .queued_chips = pod__fleet_chips_of(f, (int)f->queued_cells)};
    int most = 0, n_down = 0;
    for (int i = 0; i < f->plan->n_pods; i++) {
        most = f->occupancy.n_free[i] > most ? f->occupancy.n_free[i] : most;
        n_down += f->n_down[i];
    }
    for (int i = 0; i < f->plan->n_requests; i++) {
        v.n_running += f->job[i].is == POD__JOB_RUNNING;
        v.n_queued += f->job[i].is == POD__JOB_QUEUED;
    }
    v.most_free_chips = pod__fleet_chips_of(f, most);
    v.down_chips = pod__fleet_chips_of(f, n_down);
    v.largest_slice = find_largest_slice(f, most);
    return v;
}

/* Shows a copy of the fleet that is cut off at the mark; the fleet itself goes on. */
static void look(const fleet *f, int mark)
{
    const pod_fleet_marks *m = &f->plan->marks;
    const size_t n = (size_t)f->plan->n_requests;
    fleet seen = *f;
    seen.outcome = f->seen_outcome;
    seen.job = f->seen_job;
    memcpy(seen.outcome, f->outcome, n * sizeof seen.outcome[0]);
    memcpy(seen.job, f->job, n * sizeof seen.job[0]);
    cut_off(&seen);
    check_ledger(&seen);
    const pod_fleet_view view = view_of(&seen);
    m->call(m->ctx, mark, &view);
}

static void pass_marks(fleet *f, int *mark, pod_stamp until)
{
    const pod_fleet_marks *m = &f->plan->marks;
    for (; *mark < m->n && m->at[*mark] <= until; (*mark)++) {
        pass_time(f, m->at[*mark]);
        look(f, *mark);
    }
}

/* ---- from the begin to the horizon ----------------------------------------------------------- */

static void ask(fleet *f)
{
    const int job = (int)(f->plan->asked - f->plan->request);
    pod_fleet_outcome *o = &f->outcome[job];
    if (f->job[job].is == POD__JOB_QUEUED && o->promised == POD_NEVER)
        o->promised = pod__shadow(f, job);
}

static void run(fleet *f)
{
    const pod_fleet_plan *p = f->plan;
    int next = 0, mark = 0;
    int64_t n_instants = 0;
    while (f->status == POD_OK) {
        const pod_stamp submit = next < p->n_requests ? p->request[next].submit : POD_NEVER;
        const pod_stamp timer = f->timers.n > 0 ? f->timers.heap[0].at : POD_NEVER;
        const pod_stamp at = pod_min(submit, timer);
        if (at > p->horizon) break;
        pass_marks(f, &mark, at);
        pass_time(f, at);
        while (f->timers.n > 0 && f->timers.heap[0].at == at) {
            const pod_timer t = pod_timers_take(&f->timers);
            on_timer(f, &t);
        }
        while (next < p->n_requests && p->request[next].submit == at) on_submit(f, next++);
        pod__schedule(f);
        if (p->asked && p->asked->submit == at) ask(f);
        divide_idle(f);
        if (p->ticks.call && (++n_instants & 0xff) == 0) p->ticks.call(p->ticks.ctx, f->now);
    }
    pass_marks(f, &mark, p->horizon);
    pass_time(f, p->horizon);
}

/* What is held or down at the horizon. */
static void log_rest(fleet *f)
{
    for (int i = 0; i < f->n_running; i++) pod__fleet_log_stay(f, f->running[i]);
    for (int i = 0; i < pod_occupancy_cells(&f->occupancy); i++)
        if (f->is_down[i]) pod__fleet_log_down(f, i);
}

pod_status pod_fleet_simulate(pod_arena *a, const pod_fleet_plan *plan, pod_fleet_result *out)
{
    fleet f = {.plan = plan, .arena = a, .head = -1};
    POD_TRY(pod__fleet_allocate(&f));
    for (int i = 0; i < pod_occupancy_cells(&f.occupancy); i++) f.owner[i] = -1;
    POD_TRY(pod__fleet_size(&f));
    POD_TRY(pod__fleet_rank(&f));
    POD_TRY(pod__fleet_draw_failures(&f));
    divide_idle(&f);
    run(&f);
    log_rest(&f);
    POD_TRY(f.status);
    cut_off(&f);
    check_ledger(&f);
    f.result.outcome = f.outcome;
    f.result.ledger = f.ledger;
    f.result.event = f.event;
    f.result.n_events = f.n_events;
    f.result.stay = f.stay;
    f.result.n_stays = f.n_stays;
    *out = f.result;
    return POD_OK;
}
