/* Sums over the jobs of a study, and the instants at which a simulation is looked at for them. */
#include <stdio.h>
#include <string.h>

#include "bench/fleet/fleet.h"
#include "kernels/base/arith.h"

static const double HOUR_NS = 3600e9;
static const pod_stamp WEEK = INT64_C(7) * 86400 * 1000000000;

double pod_chip_hours(pod_chip_ns x) { return (double)x / HOUR_NS; }

/* ---- a job ----------------------------------------------------------------------------------- */

static pod_chip_ns chip_ns(const pod_fleet_request *r, const pod_fleet_outcome *o, int span)
{
    return (pod_chip_ns)r->chips * o->span[span] - o->missed[span];
}

/* Adds what came of the job by an instant; sign -1 takes it away, and with it the job, if it had ended. */
static void add_outcome(pod_fleet_segment *g, const pod_fleet_kind *k, int i,
                        const pod_fleet_outcome *o, pod_stamp until, int sign)
{
    const pod_fleet_request *r = &k->request[i];
    const double chips = sign * (double)r->chips;
    pod_chip_ns together = 0;
    if (r->submit > until) return;
    for (int span = 0; span < POD_N_JOB_SPANS; span++) together += chip_ns(r, o, span);
    const double productive_h = sign * pod_chip_hours(chip_ns(r, o, POD_JOB_STEP));
    const double ideal_h =
        o->n_resizes > 0 ? chips * o->n_stepped * (double)r->plan.step / HOUR_NS : productive_h;
    if (sign > 0)
        g->n_jobs++;
    else if (o->end != POD_NEVER)
        g->n_jobs--;
    g->n_started += sign * (o->first_start != POD_NEVER);
    g->n_ended += sign * (o->end != POD_NEVER);
    g->n_failures += sign * o->n_failures;
    g->n_evictions += sign * o->n_evictions;
    g->n_moves += sign * o->n_moves;
    g->asked_h += chips * (double)(pod_min(o->end, until) - r->submit) / HOUR_NS;
    g->together_h += sign * pod_chip_hours(together);
    g->partial_h += sign * pod_chip_hours(o->partial);
    g->rewait_h += chips * (double)o->rewait / HOUR_NS;
    g->productive_h += productive_h;
    if (o->span[POD_JOB_STEP] > 0) g->ideal_h += ideal_h * k->ideal_share[i];
    for (int w = 0; w < POD_N_WAITS; w++) g->wait_h[w] += sign * (double)o->wait[w] / HOUR_NS;
}

void pod_fleet_add_job(const pod_fleet_study *s, const pod_fleet_kind *k, int i,
                       pod_fleet_segment *g)
{
    const pod_fleet_outcome *o = &k->result.outcome[i];
    add_outcome(g, k, i, o, s->horizon, 1);
    if (k->warm) add_outcome(g, k, i, &k->warm[i], s->warm_up, -1);
    g->n_waiting += o->waits && o->first_start == POD_NEVER;
}

void pod_fleet_sum(const pod_fleet_study *s, pod_fleet_segment *out)
{
    *out = (pod_fleet_segment){.name = "fleet"};
    for (int k = 0; k < s->n_kinds; k++)
        for (int i = 0; i < s->kind[k].n_jobs; i++) pod_fleet_add_job(s, &s->kind[k], i, out);
}

void pod_fleet_sum_classes(const pod_fleet_study *s, pod_fleet_segment out[POD_FLEET_CLASSES])
{
    memset(out, 0, POD_FLEET_CLASSES * sizeof out[0]);
    for (int k = 0; k < s->n_kinds; k++)
        for (int i = 0; i < s->kind[k].n_jobs; i++) {
            const pod_fleet_kind *kind = &s->kind[k];
            const int class = pod_fleet_class(&kind->topology, kind->request[i].chips);
            pod_fleet_add_job(s, kind, i, &out[class]);
        }
}

void pod_fleet_ledger(const pod_fleet_study *s, pod_ledger *out)
{
    *out = (pod_ledger){0};
    for (int k = 0; k < s->n_kinds; k++) {
        pod_ledger l = s->kind[k].result.ledger;
        if (s->kind[k].warm) pod_ledger_take(&l, &s->kind[k].warm_ledger);
        pod_ledger_add(out, &l);
    }
}

double pod_fleet_scheduling(const pod_fleet_segment *g) { return g->together_h / g->asked_h; }

double pod_fleet_scheduling_once_started(const pod_fleet_segment *g)
{
    return g->together_h / (g->together_h + g->partial_h + g->rewait_h);
}

/* ---- marks: the end of the warm-up, and of each week ----------------------------------------- */

typedef struct watcher {
    pod_fleet_study *study;
    pod_fleet_kind *kind;
    bool warms_up, has_weeks;
} watcher;

static void at_mark(void *ctx, int i, const pod_fleet_view *v)
{
    const watcher *w = ctx;
    pod_fleet_study *s = w->study;
    const pod_fleet_kind *k = w->kind;
    if (w->warms_up && i == 0) {
        memcpy(k->warm, v->outcome, (size_t)k->n_jobs * sizeof k->warm[0]);
        w->kind->warm_ledger = *v->ledger;
    }
    if (!w->has_weeks) return;
    const int week = w->warms_up ? i : i + 1;
    const pod_stamp until = s->mark[i];
    for (int j = 0; j < k->n_jobs; j++) add_outcome(&s->week[week], k, j, &v->outcome[j], until, 1);
}

/* week[i] has the sums up to the begin of week i, from 0, and week[n_weeks] those of all. */
static pod_status make_marks(pod_fleet_study *s, pod_arena *a)
{
    const bool has_weeks = s->has_weeks;
    int n = 0;
    s->n_weeks = has_weeks ? (int)pod_div_up(s->horizon - s->warm_up, WEEK) : 0;
    if (s->n_weeks >= POD_FLEET_SEGMENTS)
        return pod_fail(POD_E_INVALID, "segments: %d weeks are more than %d", s->n_weeks,
                        POD_FLEET_SEGMENTS - 1);
    s->mark = POD_ARENA_NEW(a, pod_stamp, s->n_weeks + 2);
    s->week = POD_ARENA_NEW(a, pod_fleet_segment, s->n_weeks + 1);
    if (!s->mark || !s->week) return POD_E_NOMEM;
    if (s->warm_up > 0) s->mark[n++] = s->warm_up;
    for (int i = 1; i < s->n_weeks; i++) s->mark[n++] = s->warm_up + i * WEEK;
    s->n_marks = n;
    return POD_OK;
}

void pod_fleet_plan_of(const pod_fleet_study *s, int kind, pod_fleet_plan *out)
{
    const pod_fleet_kind *k = &s->kind[kind];
    const int64_t n_chips = pod_topology_chips(&k->topology) * k->n_pods;
    *out = (pod_fleet_plan){.topology = &k->topology,
                            .n_pods = k->n_pods,
                            .n_requests = k->n_jobs,
                            .request = k->request,
                            .policy = s->policy,
                            .faults = s->faults,
                            .horizon = s->horizon,
                            .seed = s->seed,
                            .number = (uint32_t)kind};
    if (s->protected_class >= 0)
        out->policy.protected_chips = pod_fleet_class_begin(&k->topology, s->protected_class);
    if (s->holds_spare) out->policy.spare_chips = pod_max(out->policy.spare_chips, n_chips / 64);
}

typedef struct progress {
    pod_log *log;
    int64_t before; /* days of kinds that are done */
} progress;

static int64_t days(pod_stamp t) { return t / (WEEK / 7); }

static void show(void *ctx, pod_stamp now)
{
    const progress *p = ctx;
    pod_progress_at(p->log, p->before + days(now), "%s", "");
}

static pod_status run_kinds(pod_fleet_study *s, pod_arena *a, bool logs, pod_log *log)
{
    progress p = {.log = log};
    POD_TRY(make_marks(s, a));
    for (int k = 0; k < s->n_kinds; k++) {
        pod_fleet_kind *kind = &s->kind[k];
        watcher w = {s, kind, s->warm_up > 0, s->has_weeks};
        pod_fleet_plan plan;
        pod_fleet_plan_of(s, k, &plan);
        plan.logs = logs;
        plan.marks = (pod_fleet_marks){s->n_marks, s->mark, at_mark, &w};
        if (log) plan.ticks = (pod_fleet_ticks){show, &p};
        p.before = k * days(s->horizon);
        if (s->warm_up > 0) {
            kind->warm = POD_ARENA_NEW(a, pod_fleet_outcome, kind->n_jobs);
            if (!kind->warm) return POD_E_NOMEM;
        }
        POD_TRY(pod_fleet_simulate(a, &plan, &kind->result));
        for (int i = 0; s->has_weeks && i < kind->n_jobs; i++)
            add_outcome(&s->week[s->n_weeks], kind, i, &kind->result.outcome[i], s->horizon, 1);
    }
    return POD_OK;
}

pod_status pod_fleet_study_run(pod_fleet_study *s, pod_arena *a, bool logs, pod_log *log)
{
    if (log) pod_progress_begin(log, "fleet", "days", 0, s->n_kinds * days(s->horizon));
    const pod_status status = run_kinds(s, a, logs, log);
    if (log) pod_progress_end(log);
    return status;
}

void pod_fleet_week(const pod_fleet_study *s, int i, pod_fleet_segment *out)
{
    const pod_fleet_segment *y = &s->week[i];
    *out = s->week[i + 1];
    snprintf(out->name, sizeof out->name, "week %d", i + 1);
    out->n_jobs -= y->n_jobs;
    out->n_started -= y->n_started;
    out->n_ended -= y->n_ended;
    out->n_failures -= y->n_failures;
    out->n_evictions -= y->n_evictions;
    out->n_moves -= y->n_moves;
    out->asked_h -= y->asked_h;
    out->together_h -= y->together_h;
    out->partial_h -= y->partial_h;
    out->rewait_h -= y->rewait_h;
    out->productive_h -= y->productive_h;
    out->ideal_h -= y->ideal_h;
    for (int w = 0; w < POD_N_WAITS; w++) out->wait_h[w] -= y->wait_h[w];
    const pod_stamp begin = s->warm_up + i * WEEK, end = pod_min(begin + WEEK, s->horizon);
    out->share = (double)(end - begin) / (double)(s->horizon - s->warm_up);
}
