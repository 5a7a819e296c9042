/* Runs taken together: rank-seconds are summed, so that each counts by its ranks and its time. */
#include <math.h>
#include <string.h>

#include "bench/goodput/goodput.h"

static void add(pod_goodput_sum *s, const pod_run_account *r)
{
    const double productive_s = pod_stamp_seconds(pod_account_productive(&r->sum));
    s->awaits_save = (s->n_runs == 0 || s->awaits_save) && pod_account_awaits_save(&r->sum);
    s->n_runs++;
    s->n_attempts += r->sum.n_attempts;
    s->n_disruptions += r->sum.n_disruptions;
    s->wall_s += pod_stamp_seconds(r->sum.wall);
    s->productive_s += productive_s;
    for (int i = 0; i < POD_N_JOB_SPANS; i++)
        s->by_span_s[i] += pod_stamp_seconds(r->sum.by_span[i]);
    if (r->scheduled) {
        s->n_scheduled++;
        s->asked_s += r->scheduled->asked_s;
        s->together_s += r->scheduled->together_s;
    }
    if (!r->program.why) {
        s->n_modelled++;
        s->modelled_s += productive_s;
        s->ideal_s += r->program.ideal_s;
    }
}

static void add_to_group(const char *name, const pod_run_account *r, pod_goodput_sum *out,
                         int *n_groups)
{
    int g = 0;
    while (g < *n_groups && strcmp(out[g].name, name) != 0) g++;
    if (g == *n_groups) out[(*n_groups)++] = (pod_goodput_sum){.name = name};
    add(&out[g], r);
}

static int add_groups(const pod_run_account *run, int n, pod_goodput_by by, pod_goodput_sum *out)
{
    int n_groups = 0;
    for (int i = 0; i < n; i++) {
        const pod_run_account *r = &run[i];
        if (by != POD_BY_MESH || r->n_meshes <= 1) {
            const char *const name[] = {
                [POD_BY_RUN] = r->name, [POD_BY_MODEL] = r->model, [POD_BY_MESH] = r->mesh};
            add_to_group(name[by], r, out, &n_groups);
            continue;
        }
        for (int k = 0; k < r->n_meshes; k++) {
            pod_run_account part = *r; /* but with what it did on that mesh alone */
            part.sum = r->on[k].sum;
            part.program.ideal_s = r->on[k].ideal_s;
            part.scheduled = NULL;
            add_to_group(r->on[k].mesh, &part, out, &n_groups);
        }
    }
    return n_groups;
}

int pod_goodput_max_sums(const pod_run_account *run, int n)
{
    enum { PHASES_AND_ALL = 3 };
    int most = 1;
    for (int i = 0; i < n; i++) most += run[i].n_meshes > 1 ? run[i].n_meshes : 1;
    return most > PHASES_AND_ALL ? most : PHASES_AND_ALL;
}

/* Time that evaluates is one phase, all else the other. What a scheduler did is of both. */
static int add_phases(const pod_run_account *run, int n, pod_goodput_sum *out)
{
    pod_goodput_sum all = {0};
    for (int i = 0; i < n; i++) add(&all, &run[i]);
    const double eval_s = all.by_span_s[POD_JOB_EVAL];
    out[0] = all;
    out[0].name = "training";
    out[0].n_scheduled = 0;
    out[0].wall_s -= eval_s;
    out[0].by_span_s[POD_JOB_EVAL] = 0;
    out[1] = (pod_goodput_sum){.name = "evaluation",
                               .n_runs = n,
                               .wall_s = eval_s,
                               .by_span_s[POD_JOB_EVAL] = eval_s,
                               .has_no_steps = true};
    return 2;
}

int pod_goodput_sums(const pod_run_account *run, int n, const pod_fleet *fleet, pod_goodput_by by,
                     pod_goodput_sum *out)
{
    const int n_groups = by == POD_BY_PHASE ? add_phases(run, n, out) : add_groups(run, n, by, out);
    if (n_groups == 1) return 1;
    pod_goodput_sum *all = &out[n_groups];
    *all = (pod_goodput_sum){.name = "all"};
    for (int i = 0; i < n; i++) add(all, &run[i]);
    if (fleet) {
        all->is_fleet = all->n_scheduled < n || all->n_scheduled < fleet->n_jobs;
        all->n_scheduled = n;
        all->asked_s = fleet->capacity_s;
        all->together_s = fleet->together_s;
    }
    return n_groups + 1;
}

pod_goodput_factors pod_goodput_factors_of(const pod_goodput_sum *s)
{
    const double unknown = (double)NAN;
    const pod_goodput_factors f = {
        .scheduling = s->n_scheduled > 0 && s->asked_s > 0 ? s->together_s / s->asked_s : unknown,
        .runtime = s->wall_s > 0 && !s->has_no_steps && !s->awaits_save
                       ? s->productive_s / s->wall_s
                       : unknown,
        .program = s->modelled_s > 0 ? s->ideal_s / s->modelled_s : unknown};
    /* A scheduler's time need not be the log's: the product is of what was asked for all the same. */
    const bool is_known = isfinite(f.scheduling) && s->n_scheduled == s->n_runs && !s->is_fleet;
    const double kept = is_known ? s->productive_s / s->asked_s : f.scheduling * f.runtime;
    return (pod_goodput_factors){f.scheduling, f.runtime, f.program, kept * f.program};
}
