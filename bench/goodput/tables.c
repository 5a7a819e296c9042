/* The tables of `minipod goodput`. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bench/goodput/goodput.h"

/* ---- the factors ----------------------------------------------------------------------------- */

static void note_program(pod_table *t, const pod_run_account *r)
{
    const pod_program_terms *p = &r->program;
    if (p->why)
        pod_table_note(t, "%s: program goodput is not known: %s", r->name, p->why);
    else if (isnan(p->step_s))
        pod_table_note(t,
                       "%s: ideal = kept steps x ideal step of their attempt, the last one's "
                       "%.3f ms, of each rank",
                       r->name, 1e3 * p->ideal_step_s);
    else
        pod_table_note(
            t,
            "%s: ideal = kept steps x ideal step %s%.3f ms, of each rank; the median step took "
            "%.3f ms; ideal step = %.4g GFLOP / %.4g GFLOP/s, machine %s",
            r->name, r->sum.n_attempts > 1 ? "of their attempt, the last one's " : "",
            1e3 * p->ideal_step_s, 1e3 * p->step_s, 1e-9 * p->model_flops, 1e-9 * p->flop_per_s,
            p->machine);
}

static void note_scheduling(pod_table *t, const pod_goodput_report *r)
{
    const char *said = "";
    for (int i = 0; i < r->n_runs; i++) {
        const char *why = r->run[i].why_not_scheduled;
        if (!why || strcmp(why, said) == 0) continue;
        pod_table_note(t, "scheduling goodput is not known: %s", why);
        said = why;
    }
}

static void note_meshes(pod_table *t, const pod_goodput_report *r)
{
    for (int i = 0; i < r->n_runs && strcmp(r->by, "mesh") == 0; i++) {
        const pod_run_account *x = &r->run[i];
        if (x->n_meshes < 2) continue;
        pod_table_note(
            t, "%s: its attempts were on %d meshes: each has the time that it was there%s", x->name,
            x->n_meshes, x->scheduled ? ", and none what the scheduler tells of the whole" : "");
    }
}

/* Then the factors as they stand do not multiply to goodput. */
static void note_gap(pod_table *t, const pod_goodput_sum *s)
{
    const double most = 0.02; /* of the time together */
    if (s->n_scheduled < s->n_runs || s->is_fleet || !(s->together_s > 0)) return;
    if (fabs(s->wall_s - s->together_s) <= most * s->together_s) return;
    pod_table_note(t,
                   "%s: the log has %.3f rank-s, the scheduler's record %.3f together: goodput is "
                   "(productive / asked) x program",
                   s->name, s->wall_s, s->together_s);
}

static void note_groups(pod_table *t, const pod_goodput_report *r)
{
    for (int i = 0; i < r->n_sums; i++) {
        const pod_goodput_sum *s = &r->sum[i];
        if (s->n_modelled > 0 && s->n_modelled < s->n_runs)
            pod_table_note(t, "%s: program goodput is of %d of %d runs", s->name, s->n_modelled,
                           s->n_runs);
        note_gap(t, s);
        if (s->awaits_save)
            pod_table_note(t,
                           "%s: runtime goodput is not known: nothing saved yet: a step counts "
                           "once a checkpoint keeps it",
                           s->name);
        if (s->has_no_steps)
            pod_table_note(t,
                           "%s: is no progress, and so has no goodput; it counts in time to train",
                           s->name);
    }
}

static void add_factors(pod_table *t, const pod_goodput_sum *s)
{
    const double unknown = (double)NAN;
    const bool is_scheduled = s->n_scheduled > 0;
    const pod_goodput_factors f = pod_goodput_factors_of(s);
    pod_table_add(t, "%s", s->name);
    pod_table_row(t, "%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.2f\t%.2f\t%.2f\t%.2f", s->n_runs,
                  is_scheduled ? s->asked_s : unknown, is_scheduled ? s->together_s : unknown,
                  s->wall_s, s->has_no_steps ? unknown : s->productive_s,
                  s->n_modelled > 0 ? s->ideal_s : unknown, 100 * f.scheduling, 100 * f.runtime,
                  100 * f.program, 100 * f.all);
}

static pod_status print_factors(const pod_goodput_report *r, FILE *to)
{
    const pod_column columns[] = {{r->by, "", true},          {"runs", "", false},
                                  {"asked", "rank-s", false}, {"together", "rank-s", false},
                                  {"wall", "rank-s", false},  {"productive", "rank-s", false},
                                  {"ideal", "rank-s", false}, {"scheduling", "%", false},
                                  {"runtime", "%", false},    {"program", "%", false},
                                  {"goodput", "%", false}};
    pod_table *t;
    POD_TRY(pod_table_create(columns, N_COLUMNS(columns), &t));
    pod_table_note(t, "minipod %s goodput, clock wall; a rank-s is a second of a rank",
                   POD_VERSION);
    pod_table_note(t, "goodput = scheduling (together / asked) x runtime (productive / wall) x "
                      "program (ideal / productive)");
    for (int i = 0; i < r->n_runs; i++) note_program(t, &r->run[i]);
    note_scheduling(t, r);
    note_meshes(t, r);
    note_groups(t, r);
    for (int i = 0; i < r->n_sums; i++) add_factors(t, &r->sum[i]);
    return pod_table_finish(t, to, "");
}

/* ---- the categories -------------------------------------------------------------------------- */

static const pod_column category_columns[] = {
    {"category", "", true}, {"time", "rank-s", false}, {"share", "%", false}};

static pod_status print_categories(const pod_goodput_report *r, FILE *to)
{
    const pod_goodput_sum *all = &r->sum[r->n_sums - 1];
    pod_table *t;
    POD_TRY(pod_table_create(category_columns, N_COLUMNS(category_columns), &t));
    pod_table_note(t, "all ranks, all attempts%s", r->n_runs > 1 ? ", all runs" : "");
    for (int s = 0; s < POD_N_JOB_SPANS; s++)
        pod_table_row(t, "%s\t%.3f\t%.2f", pod_job_span_name((pod_job_span)s), all->by_span_s[s],
                      100 * all->by_span_s[s] / all->wall_s);
    pod_table_row(t, "wall\t%.3f\t100.00", all->wall_s);
    return pod_table_finish(t, to, "");
}

/* ---- the steps ------------------------------------------------------------------------------- */

static const pod_column step_columns[] = {{"run", "", true},
                                          {"kept", "steps", false},
                                          {"lost", "steps", false},
                                          {"redone", "steps", false},
                                          {"unsaved", "steps", false},
                                          {"median", "ms", false},
                                          {"undisturbed", "ms", false},
                                          {"recent_p90", "ms", false},
                                          {"baseline", "ms", false},
                                          {"deviation", "%", false}};

static pod_status print_steps(const pod_goodput_report *r, FILE *to)
{
    pod_table *t;
    POD_TRY(pod_table_create(step_columns, N_COLUMNS(step_columns), &t));
    pod_table_note(
        t,
        "median, recent_p90: of the slowest rank of each step (a run's own table has rank 0's); "
        "lost: done in vain; undisturbed: what a step takes when nothing disturbs it; deviation: "
        "p90 of the last %d steps against the median of the last %d",
        POD_DEVIATION_RECENT, POD_DEVIATION_BASELINE);
    for (int i = 0; i < r->n_runs; i++) {
        const pod_run_account *x = &r->run[i];
        const pod_deviation *d = &x->deviation;
        pod_table_add(t, "%s", x->name);
        pod_table_row(
            t, "%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%.3f\t%.3f\t%.3f\t%.3f\t%.1f",
            x->sum.n_steps, x->sum.n_lost_steps, x->n_redone_steps, x->sum.n_unsaved_steps,
            1e3 * d->median_s, 1e3 * d->undisturbed_s, 1e3 * d->recent_s, 1e3 * d->baseline_s,
            100 * d->deviation);
    }
    return pod_table_finish(t, to, "");
}

/* ---- all ------------------------------------------------------------------------------------- */

pod_status pod_goodput_print(const pod_goodput_report *r, FILE *to)
{
    if (r->fleet) POD_TRY(pod_goodput_print_fleet(r->fleet, to));
    if (r->n_runs == 0) return POD_OK;
    if (r->fleet) fputc('\n', to);
    POD_TRY(print_factors(r, to));
    fputc('\n', to);
    POD_TRY(print_categories(r, to));
    fputc('\n', to);
    POD_TRY(print_steps(r, to));
    for (int i = 0; i < r->n_runs; i++) POD_TRY(pod_goodput_print_run(&r->run[i], to));
    return POD_OK;
}
