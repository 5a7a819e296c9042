/* What `minipod goodput` leaves: CSV, JSON, and a text file for Prometheus. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/goodput/goodput.h"
#include "runtime/core/file.h"

enum { REPORT_VERSION = 2, N_INTERVALS = 60 };

/* ---- CSV ------------------------------------------------------------------------------------- */

enum { NAME_BYTES = 48 };

static const pod_column factor_columns[] = {{"", "", true}, /* what they are grouped by */
                                            {"runs", "", false},
                                            {"attempts", "", false},
                                            {"disruptions", "", false},
                                            {"asked", "rank-s", false},
                                            {"together", "rank-s", false},
                                            {"wall", "rank-s", false},
                                            {"productive", "rank-s", false},
                                            {"modelled", "rank-s", false},
                                            {"ideal", "rank-s", false},
                                            {"scheduling", "", false},
                                            {"runtime", "", false},
                                            {"program", "", false},
                                            {"goodput", "", false}};

static void add_row(pod_table *t, const pod_goodput_sum *s)
{
    const double unknown = (double)NAN;
    const bool is_scheduled = s->n_scheduled > 0, is_modelled = s->n_modelled > 0;
    const pod_goodput_factors f = pod_goodput_factors_of(s);
    pod_table_add(t, "%s", s->name);
    pod_table_row(t, "%d\t%d\t%d\t%.9g\t%.9g\t%.9g\t%.9g\t%.9g\t%.9g\t%.9g\t%.9g\t%.9g\t%.9g",
                  s->n_runs, s->n_attempts, s->n_disruptions, is_scheduled ? s->asked_s : unknown,
                  is_scheduled ? s->together_s : unknown, s->wall_s,
                  s->has_no_steps ? unknown : s->productive_s,
                  is_modelled ? s->modelled_s : unknown, is_modelled ? s->ideal_s : unknown,
                  f.scheduling, f.runtime, f.program, f.all);
    for (int i = 0; i < POD_N_JOB_SPANS; i++) pod_table_row(t, "%.9g", s->by_span_s[i]);
}

/* Factors, then a column a category. */
static pod_status make_table(const pod_goodput_report *r, pod_arena *a, pod_table **out)
{
    enum { N_FACTORS = N_COLUMNS(factor_columns), N = N_FACTORS + POD_N_JOB_SPANS };
    pod_column *column = POD_ARENA_NEW(a, pod_column, N);
    if (!column) return POD_E_NOMEM;
    memcpy(column, factor_columns, sizeof factor_columns);
    column[0].name = r->by;
    for (int i = 0; i < POD_N_JOB_SPANS; i++) {
        char *name = pod_arena_text(a, "%s", pod_job_span_name((pod_job_span)i));
        if (!name) return POD_E_NOMEM;
        for (char *p = name; *p != '\0'; p++) *p = (char)tolower((unsigned char)*p);
        column[N_FACTORS + i] = (pod_column){name, "rank-s", false};
    }
    POD_TRY(pod_table_create(column, N, out));
    pod_table_note(*out, "minipod %s goodput, clock wall; times in seconds of a rank", POD_VERSION);
    for (int i = 0; i < r->n_sums; i++) add_row(*out, &r->sum[i]);
    return POD_OK;
}

pod_status pod_goodput_write_csv(const pod_goodput_report *r, const char *path)
{
    pod_arena *a;
    pod_table *t = NULL;
    POD_TRY(pod_arena_create(NULL, &a));
    pod_status status = make_table(r, a, &t);
    if (status == POD_OK) status = pod_table_write_csv(t, path);
    pod_table_destroy(t);
    pod_arena_destroy(a);
    return status;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* The times of an account: of all of the job, or of a stretch. */
static void put_times(pod_json *j, const pod_account *x, const char *goodput)
{
    pod_json_decimal(j, "total_elapsed_time", x->wall, 9);
    pod_json_double(j, goodput, pod_account_runtime_goodput(x));
    pod_json_decimal(j, "goodput_time", pod_account_productive(x), 9);
    pod_json_decimal(j, "unsaved_time", x->unsaved, 9);
    pod_json_open_object(j, "badput_time");
    for (int s = 0; s < POD_N_JOB_SPANS; s++)
        if (s != POD_JOB_STEP)
            pod_json_decimal(j, pod_job_span_name((pod_job_span)s), x->by_span[s], 9);
    pod_json_close(j);
}

static void put_interval(pod_json *j, const char *key, pod_stamp job_begin, const pod_account *x)
{
    pod_json_open_object(j, key);
    pod_json_decimal(j, "begin_s", x->begin - job_begin, 9);
    pod_json_decimal(j, "end_s", x->end - job_begin, 9);
    put_times(j, x, "interval_goodput");
    pod_json_close(j);
}

static pod_status put_intervals(pod_json *j, const pod_run_account *r)
{
    pod_account x[N_INTERVALS];
    POD_TRY(pod_account_cut(&r->job, r->now, r->sum.begin, r->sum.end, x, N_INTERVALS));
    pod_json_open_object(j, "rolling");
    for (int i = 0; i < POD_N_WINDOWS; i++) {
        char name[16] = "cumulative";
        if (pod_window_s[i]) snprintf(name, sizeof name, "%d", pod_window_s[i]);
        if (r->window[i].wall > 0) put_interval(j, name, r->sum.begin, &r->window[i]);
    }
    pod_json_close(j);
    pod_json_open_array(j, "interval");
    for (int i = 0; i < N_INTERVALS; i++) put_interval(j, NULL, r->sum.begin, &x[i]);
    pod_json_close(j);
    return POD_OK;
}

static void put_pace(pod_json *j, const pod_stragglers *s)
{
    pod_json_open_object(j, "stragglers");
    pod_json_int(j, "n_steps", s->n_steps);
    pod_json_int(j, "n_slow", s->n_slow);
    pod_json_double(j, "scatter", s->scatter);
    pod_json_double(j, "steps_s", s->steps_s);
    pod_json_double(j, "gain_s", s->gain_s);
    pod_json_double(j, "exposed_allreduce_s", s->exposed_s);
    pod_json_open_array(j, "ranks");
    for (int i = 0; s->rank && i < s->n_ranks; i++) {
        const pod_rank_pace *k = &s->rank[i];
        pod_json_open_object(j, NULL);
        pod_json_int(j, "rank", i);
        pod_json_double(j, "own_s", k->own_s);
        pod_json_double(j, "reduce_s", k->reduce_s);
        pod_json_double(j, "input_s", k->input_s);
        pod_json_double(j, "core_wait_s", k->core_wait_s);
        pod_json_double(j, "relative", k->relative);
        pod_json_double(j, "individual", k->individual);
        pod_json_bool(j, "is_slow", k->is_slow);
        pod_json_int(j, "from_step", k->from);
        pod_json_int(j, "until_step", k->until);
        pod_json_double(j, "factor", k->factor);
        pod_json_int(j, "waits_for", k->waits_for);
        pod_json_double(j, "waits_s", k->waits_s);
        pod_json_close(j);
    }
    pod_json_close(j);
    pod_json_close(j);
}

static void put_program(pod_json *j, const pod_program_terms *p)
{
    pod_json_double(j, "program_goodput", p->goodput);
    pod_json_double(j, "ideal_step_s", p->ideal_step_s);
    pod_json_double(j, "step_s", p->step_s);
    pod_json_double(j, "model_flops_per_step", p->model_flops);
    pod_json_double(j, "flop_per_s", p->flop_per_s);
    pod_json_text(j, "machine", p->machine);
    pod_json_text(j, "program_goodput_unknown", p->why);
}

static void put_steps(pod_json *j, const pod_run_account *r)
{
    const pod_deviation *d = &r->deviation;
    pod_json_int(j, "steps", r->sum.n_steps);
    pod_json_int(j, "lost_steps", r->sum.n_lost_steps);
    pod_json_int(j, "redone_steps", r->n_redone_steps);
    pod_json_int(j, "checkpoints", r->saves.n_begun);
    pod_json_int(j, "failed_checkpoints", r->saves.n_failed);
    pod_json_int(j, "unsaved_steps", r->sum.n_unsaved_steps);
    pod_json_int(j, "max_productive_step", r->sum.max_productive_step);
    pod_json_double(j, "step_time_undisturbed", d->undisturbed_s);
    pod_json_double(j, "step_time_median", d->median_s);
    pod_json_double(j, "step_time_recent_p90", d->recent_s);
    pod_json_double(j, "step_time_baseline", d->baseline_s);
    pod_json_double(j, "step_time_deviation", d->deviation);
}

static pod_status put_run(pod_json *j, const pod_run_account *r)
{
    pod_json_open_object(j, NULL);
    pod_json_text(j, "run", r->name);
    pod_json_text(j, "model", r->model);
    pod_json_text(j, "mesh", r->mesh);
    pod_json_int(j, "ranks", r->sum.n_ranks);
    pod_json_bool(j, "running", r->sum.runs);
    pod_json_int(j, "attempts", r->sum.n_attempts);
    pod_json_int(j, "disruption_count", r->sum.n_disruptions);
    put_times(j, &r->sum, "runtime_goodput");
    put_program(j, &r->program);
    pod_json_text(j, "scheduling_goodput_unknown", r->why_not_scheduled);
    put_steps(j, r);
    POD_TRY(put_intervals(j, r));
    put_pace(j, &r->pace);
    pod_json_open_array(j, "advice");
    for (int i = 0; i < r->n_advice; i++) {
        pod_json_open_object(j, NULL);
        pod_json_double(j, "gain", r->advice[i].gain);
        pod_json_text(j, "text", r->advice[i].text);
        pod_json_close(j);
    }
    pod_json_close(j);
    pod_json_close(j);
    return POD_OK;
}

static pod_status put_report(const pod_goodput_report *r, pod_json *j)
{
    pod_arena *a;
    pod_table *t = NULL;
    POD_TRY(pod_arena_create(NULL, &a));
    pod_status status = make_table(r, a, &t);
    pod_json_open_object(j, NULL);
    pod_json_text(j, "schema", "minipod.goodput_report");
    pod_json_int(j, "version", REPORT_VERSION);
    pod_json_text(j, "minipod", POD_VERSION);
    pod_json_text(j, "clock", "wall");
    pod_json_text(j, "by", r->by);
    if (status == POD_OK) pod_table_json(t, j, "rows");
    pod_json_open_array(j, "runs");
    for (int i = 0; i < r->n_runs && status == POD_OK; i++) status = put_run(j, &r->run[i]);
    pod_json_close(j);
    pod_json_close(j);
    pod_table_destroy(t);
    pod_arena_destroy(a);
    return status;
}

pod_status pod_goodput_write_json(const pod_goodput_report *r, const char *path)
{
    pod_file *f;
    POD_TRY(pod_file_open_result(path, &f));
    pod_json j = pod_json_start(pod_file_stream(f), 3);
    const pod_status status = put_report(r, &j);
    if (status == POD_OK) return pod_file_close(f);
    pod_file_abandon(f);
    return status;
}

/* ---- Prometheus ------------------------------------------------------------------------------ */

static void print_label(FILE *to, const char *name, const char *value)
{
    fprintf(to, "%s=\"", name);
    for (; *value != '\0'; value++) {
        if (*value == '"' || *value == '\\' || *value == '\n') fputc('\\', to);
        fputc(*value == '\n' ? 'n' : *value, to);
    }
    fputc('"', to);
}

/* A value of a run; `label` NULL for none. What is not known is left out. */
static void print_sample(FILE *to, const char *metric, const pod_run_account *r, const char *label,
                         const char *labelled, double value)
{
    const char *const labels[][2] = {
        {"run", r->name}, {"model", r->model}, {"mesh", r->mesh}, {label, labelled}};
    if (!isfinite(value)) return;
    fprintf(to, "minipod_%s", metric);
    for (int i = 0; i < 4 && labels[i][0]; i++) {
        fputc(i == 0 ? '{' : ',', to);
        print_label(to, labels[i][0], labels[i][1]);
    }
    fprintf(to, "} %.9g\n", value);
}

static void print_family(FILE *to, const char *metric, const char *help)
{
    fprintf(to, "# HELP minipod_%s %s.\n# TYPE minipod_%s gauge\n", metric, help, metric);
}

static const char *const figures[][2] = {
    {"goodput_time_seconds", "Rank-seconds of steps whose progress is kept"},
    {"unsaved_time_seconds", "Rank-seconds of steps that no checkpoint keeps yet"},
    {"total_elapsed_time_seconds", "Rank-seconds that the job had"},
    {"max_productive_step", "The last step that is kept"},
    {"disruption_count", "Attempts that ended as they should not"},
    {"undisturbed_step_time_seconds", "What an undisturbed step takes"},
    {"step_time_deviation", "p90 of the last 100 steps / median of the last 1000 - 1"},
    {"scheduling_goodput", "Time with all ranks / time asked for"},
    {"runtime_goodput", "Time of kept steps / time of the job"},
    {"program_goodput", "What kept steps would ideally take / what they took"},
};

static double figure_of(const pod_run_account *r, int i)
{
    const pod_fleet_job *j = r->scheduled;
    const double values[N_COLUMNS(figures)] = {pod_stamp_seconds(pod_account_productive(&r->sum)),
                                               pod_stamp_seconds(r->sum.unsaved),
                                               pod_stamp_seconds(r->sum.wall),
                                               (double)r->sum.max_productive_step,
                                               r->sum.n_disruptions,
                                               r->deviation.undisturbed_s,
                                               r->deviation.deviation,
                                               j && j->asked_s > 0 ? j->together_s / j->asked_s
                                                                   : (double)NAN,
                                               pod_account_runtime_goodput(&r->sum),
                                               r->program.goodput};
    return values[i];
}

static void print_badput(const pod_run_account *r, FILE *to)
{
    for (pod_job_span s = 0; s < POD_N_JOB_SPANS; s++)
        if (s != POD_JOB_STEP)
            print_sample(to, "badput_time_seconds", r, "category", pod_job_span_name(s),
                         pod_stamp_seconds(r->sum.by_span[s]));
}

static void print_rolling(const pod_run_account *r, FILE *to)
{
    for (int w = 0; w < POD_N_WINDOWS; w++) {
        char seconds[16];
        snprintf(seconds, sizeof seconds, "%d", pod_window_s[w]);
        if (pod_window_s[w])
            print_sample(to, "interval_goodput", r, "window", seconds,
                         pod_account_runtime_goodput(&r->window[w]));
    }
}

static void print_scores(const pod_run_account *r, FILE *to)
{
    for (int k = 0; r->pace.rank && k < r->pace.n_ranks; k++) {
        char rank[16];
        snprintf(rank, sizeof rank, "%d", k);
        print_sample(to, "straggler_relative_score", r, "rank", rank, r->pace.rank[k].relative);
    }
}

static const struct {
    const char *name, *help;
    void (*print)(const pod_run_account *r, FILE *to);
} families[] = {
    {"badput_time_seconds", "Rank-seconds of all else, by category", print_badput},
    {"interval_goodput", "Runtime goodput of the last seconds", print_rolling},
    {"straggler_relative_score", "Median own time of the other ranks / of this one", print_scores},
};

pod_status pod_goodput_write_prometheus(const pod_goodput_report *r, const char *path)
{
    pod_file *f;
    POD_TRY(pod_file_open_result(path, &f));
    FILE *to = pod_file_stream(f);
    for (int m = 0; m < N_COLUMNS(figures); m++) {
        print_family(to, figures[m][0], figures[m][1]);
        for (int i = 0; i < r->n_runs; i++)
            print_sample(to, figures[m][0], &r->run[i], NULL, "", figure_of(&r->run[i], m));
    }
    for (int m = 0; m < N_COLUMNS(families); m++) {
        print_family(to, families[m].name, families[m].help);
        for (int i = 0; i < r->n_runs; i++) families[m].print(&r->run[i], to);
    }
    return pod_file_close(f);
}
