#include "bench/job/table.h"

#include <inttypes.h>
#include <math.h>

#include "bench/common/table.h"
#include "runtime/core/file.h"

enum { TEXT_BYTES = 160 + POD_PATH_BYTES };

static const double DAY_S = 86400, HOUR_S = 3600;

/* What steps took, slow ones included, against what they would ideally take. */
static double program_goodput(const pod_job_point *x)
{
    const pod_job_run *r = &x->run[x->best];
    return r->n_kept * x->ideal_step_s / r->by_span_s[POD_JOB_STEP];
}

static double goodput(const pod_job_point *x)
{
    const pod_job_run *r = &x->run[x->best];
    return r->n_kept * x->ideal_step_s / (r->allocated_s + r->waiting_s);
}

/* Of those that are held. */
static double nodes_at_work(const pod_job_study *s, const pod_job_point *x)
{
    return (double)x->n_nodes / (double)(x->n_nodes + s->keys.spares);
}

/* A share in percent, "-" where it is not known. */
static const char *percent(double share, char *text, size_t bytes)
{
    if (isfinite(share))
        snprintf(text, bytes, "%.3f", 100 * share);
    else
        snprintf(text, bytes, "-");
    return text;
}

/* Of a job that never fails. */
static bool has_failures(const pod_job_point *x) { return x->mtbf_s > 0; }

/* "none" where there is no such interval: what never fails need not be saved. */
static const char *interval(const pod_job_point *x, double s, char *text, size_t bytes)
{
    if (has_failures(x))
        snprintf(text, bytes, "%.4g", s);
    else
        snprintf(text, bytes, "none");
    return text;
}

static const char *mtbf(const pod_job_point *x, char *text, size_t bytes)
{
    return interval(x, x->mtbf_s / HOUR_S, text, bytes);
}

static const char *seconds(double s, char *text, size_t bytes)
{
    snprintf(text, bytes, isfinite(s) ? "%.4g s" : "never", s);
    return text;
}

/* ---- one job --------------------------------------------------------------------------------- */

static void add_circumstances(pod_table *t, const pod_job_study *s, const pod_job_point *x)
{
    char note[TEXT_BYTES], text[32];
    pod_table_quantity(t, "clock", "", *s->machine ? s->machine : "the step was given", "virtual");
    if (*x->mesh) {
        snprintf(note, sizeof note, "mesh %s, batch %" PRId64, x->mesh, x->batch);
        pod_table_quantity(t, "model", "", note, "%s", s->model);
    }
    snprintf(note, sizeof note, "%" PRId64 " steps of %.3f ms", x->n_steps, x->step_s * 1e3);
    pod_table_quantity(t, "work", "days", note, "%g", s->keys.days);
    snprintf(note, sizeof note, x->cores ? "%d cores; %d spares" : "%.0d%d spares", x->cores,
             (int)s->keys.spares);
    pod_table_quantity(t, "nodes", "", note, "%d", x->n_nodes);
    if (s->trace_path)
        snprintf(note, sizeof note, "in the mean of %d nodes, %d faults in %.1f days, %s",
                 s->trace_nodes, s->trace.n_faults, pod_stamp_seconds(s->trace.end) / DAY_S,
                 s->trace_path);
    else if (!has_failures(x))
        snprintf(note, sizeof note, "no node ever fails (--mtbf 0)");
    else
        snprintf(note, sizeof note, "%g h of a node, shape %g, repaired in %g h", s->mtbf_h,
                 s->keys.shape, s->keys.repair_h);
    pod_table_quantity(t, "mtbf", has_failures(x) ? "h" : "", note, "%s",
                       mtbf(x, text, sizeof text));
}

static void add_costs(pod_table *t, const pod_job_study *s, const pod_job_point *x)
{
    const pod_job_keys *k = &s->keys;
    char note[TEXT_BYTES], text[32];
    snprintf(note, sizeof note, "that training stands still; whole %s later",
             seconds(x->write_s, text, sizeof text));
    pod_table_quantity(t, "save", "s", note, "%.4g", x->save_s);
    snprintf(note, sizeof note, "detect %g, launch %g, init %g, compile %g, restore %.4g",
             k->detect_s, k->launch_s, x->init_s, x->compile_s, x->restore_s);
    pod_table_quantity(t, "restart", "s", note, "%.4g",
                       k->detect_s + pod_job_study_start_s(s, x) + x->restore_s);
}

static void add_interval(pod_table *t, const pod_job_point *x)
{
    const pod_job_run *r = &x->run[x->best];
    const char *unit = has_failures(x) ? "s" : "";
    char note[TEXT_BYTES], text[32];
    snprintf(note, sizeof note, "%" PRId64 " steps%s", r->every,
             x->n_runs > 1 ? ", the best of those below" : "");
    pod_table_quantity(t, "interval", "s", note, "%.4g", r->interval_s);
    pod_table_quantity(t, "  Young", unit, "sqrt(2 x save x mtbf)", "%s",
                       interval(x, x->young_s, text, sizeof text));
    pod_table_quantity(t, "  Daly", unit, "his higher order", "%s",
                       interval(x, x->daly_s, text, sizeof text));
    pod_table_quantity(t, "  expected best", unit,
                       "of the closed form; a write takes no longer than that", "%s",
                       interval(x, x->best_s, text, sizeof text));
}

static void add_factors(pod_table *t, const pod_job_study *s, const pod_job_point *x)
{
    const pod_job_run *r = &x->run[x->best];
    char note[TEXT_BYTES], text[32];
    snprintf(note, sizeof note, "+- %.3f (95 %%): time with all nodes / time since asked for",
             100 * r->scheduling_95);
    pod_table_quantity(t, "scheduling goodput", "%", note, "%s",
                       percent(r->scheduling, text, sizeof text));
    if (s->keys.spares > 0)
        pod_table_quantity(t, "  spares counted", "%", "of the time of all nodes that are held",
                           "%s", percent(r->scheduling * nodes_at_work(s, x), text, sizeof text));
    snprintf(note, sizeof note, "+- %.3f (95 %%): of the time with all nodes", 100 * r->runtime_95);
    pod_table_quantity(t, "runtime goodput", "%", note, "%s",
                       percent(r->runtime, text, sizeof text));
    if (r->least <= r->most) {
        snprintf(note, sizeof note, "mean of jobs; the least %.3f, the most %.3f", 100 * r->least,
                 100 * r->most);
        pod_table_quantity(t, "  of a job", "%", note, "%.3f", 100 * r->mean);
    }
    pod_table_quantity(t, "  closed form", "%",
                       s->is_exact ? "of the time expected; Daly 2006"
                                   : "were failures of this mtbf exponential; Daly 2006",
                       "%s", percent(r->expected, text, sizeof text));
    pod_table_quantity(t, "program goodput", "%", "ideal time of the kept steps / time of them",
                       "%s", percent(program_goodput(x), text, sizeof text));
    pod_table_quantity(t, "goodput", "%", "the product; spares are not counted", "%s",
                       percent(goodput(x), text, sizeof text));
}

static void add_job(pod_table *t, const pod_job_study *s, const pod_job_point *x)
{
    const pod_job_run *r = &x->run[x->best];
    char note[TEXT_BYTES];
    snprintf(note, sizeof note,
             "means of %" PRId64 "; %" PRId64 " ended within ten times their work", s->keys.seeds,
             r->n_finished);
    pod_table_quantity(t, "jobs", "", note, "%" PRId64, s->keys.seeds);
    snprintf(note, sizeof note, "%.1f steps done and lost; %.1f saves", r->n_lost, r->n_saves);
    pod_table_quantity(t, "failures", "", note, "%.2f", r->n_failures);
    pod_table_quantity(t, "time", "s", "with all nodes; the categories sum to it", "%.3f",
                       r->allocated_s);
    for (int i = 0; i < POD_N_JOB_SPANS; i++) {
        char name[64];
        if (r->by_span_s[i] == 0) continue;
        snprintf(name, sizeof name, "  %s", pod_job_span_name((pod_job_span)i));
        snprintf(note, sizeof note, "%.3f %%", 100 * r->by_span_s[i] / r->allocated_s);
        pod_table_quantity(t, name, "s", note, "%.3f", r->by_span_s[i]);
    }
    pod_table_quantity(t, "waiting", "s", "for nodes", "%.3f", r->waiting_s);
    snprintf(note, sizeof note, "%" PRId64 " of all jobs and intervals in %.3f s", s->n_simulated,
             s->wall_s);
    pod_table_quantity(t, "simulated", "failures/s", note, "%.3g",
                       (double)s->n_simulated / s->wall_s);
}

static pod_status print_one(const pod_job_study *s, const pod_job_point *x, FILE *to)
{
    pod_table *t;
    POD_TRY(pod_table_create(pod_quantity_columns, POD_QUANTITY_COLUMNS, &t));
    pod_table_note(t, "minipod %s simulate --job, clock virtual, machine %s", POD_VERSION,
                   *s->machine ? s->machine : "not said: the step was given");
    add_circumstances(t, s, x);
    add_costs(t, s, x);
    add_interval(t, x);
    add_factors(t, s, x);
    add_job(t, s, x);
    const pod_status status = pod_table_print(t, to);
    pod_table_destroy(t);
    return status;
}

/* ---- intervals ------------------------------------------------------------------------------- */

static const pod_column interval_columns[] = {
    {"interval", "s", false}, {"steps", "", false},    {"saves", "", false},
    {"failures", "", false},  {"runtime", "%", false}, {"ci95", "+- %", false},
    {"least", "%", false},    {"most", "%", false},    {"closed_form", "%", false},
    {"saving", "%", false},   {"lost", "%", false},    {"scheduling", "%", false},
    {"best", "", true}};

static void add_run(pod_table *t, const pod_job_point *x, int i)
{
    const pod_job_run *r = &x->run[i];
    const bool any = r->least <= r->most;
    char text[32];
    pod_table_add(t, "%.6g", r->interval_s);
    pod_table_add(t, "%" PRId64, r->every);
    pod_table_add(t, "%.1f", r->n_saves);
    pod_table_add(t, "%.2f", r->n_failures);
    pod_table_add(t, "%s", percent(r->runtime, text, sizeof text));
    pod_table_add(t, "%.3f", 100 * r->runtime_95);
    pod_table_add(t, "%s", percent(any ? r->least : (double)NAN, text, sizeof text));
    pod_table_add(t, "%s", percent(any ? r->most : (double)NAN, text, sizeof text));
    pod_table_add(t, "%s", percent(r->expected, text, sizeof text));
    pod_table_add(t, "%s", percent(r->by_span_s[POD_JOB_SAVE] / r->allocated_s, text, sizeof text));
    pod_table_add(t, "%s",
                  percent(r->by_span_s[POD_JOB_LOST_STEP] / r->allocated_s, text, sizeof text));
    pod_table_add(t, "%s", percent(r->scheduling, text, sizeof text));
    pod_table_add(t, "%s", i == x->best ? "best" : "");
}

static pod_status print_intervals(const pod_job_study *s, const pod_job_point *x, FILE *to,
                                  const char *csv)
{
    pod_table *t;
    char text[32];
    POD_TRY(pod_table_create(interval_columns, sizeof interval_columns / sizeof interval_columns[0],
                             &t));
    pod_table_note(t,
                   "minipod %s simulate --job, clock virtual: %" PRId64
                   " jobs of %g days on %d nodes, mtbf %s%s, by the time of the steps between "
                   "checkpoints",
                   POD_VERSION, s->keys.seeds, s->keys.days, x->n_nodes, mtbf(x, text, sizeof text),
                   has_failures(x) ? " h" : "");
    for (int i = 0; i < x->n_runs; i++) add_run(t, x, i);
    fputc('\n', to);
    pod_status status = pod_table_print(t, to);
    if (status == POD_OK && *csv) status = pod_table_write_csv(t, csv);
    pod_table_destroy(t);
    return status;
}

/* ---- points ---------------------------------------------------------------------------------- */

static const pod_column point_columns[] = {
    {"mesh", "", true},      {"nodes", "", false},        {"step", "ms", false},
    {"mtbf", "h", false},    {"save", "s", false},        {"young", "s", false},
    {"daly", "s", false},    {"interval", "s", false},    {"failures", "", false},
    {"waiting", "h", false}, {"scheduling", "%", false},  {"runtime", "%", false},
    {"ci95", "+- %", false}, {"closed_form", "%", false}, {"program", "%", false},
    {"goodput", "%", false}, {"ended", "", false}};

static void add_known(pod_table *t, bool is_known, double value)
{
    if (is_known)
        pod_table_add(t, "%.4g", value);
    else
        pod_table_add(t, "-");
}

static void add_point(pod_table *t, const pod_job_point *x)
{
    const pod_job_run *r = &x->run[x->best];
    char text[32];
    pod_table_add(t, "%s", *x->mesh ? x->mesh : "-");
    pod_table_add(t, "%d", x->n_nodes);
    pod_table_add(t, "%.3f", x->step_s * 1e3);
    add_known(t, has_failures(x), x->mtbf_s / HOUR_S);
    pod_table_add(t, "%.4g", x->save_s);
    add_known(t, has_failures(x), x->young_s);
    add_known(t, has_failures(x), x->daly_s);
    pod_table_add(t, "%.4g", r->interval_s);
    pod_table_add(t, "%.2f", r->n_failures);
    pod_table_add(t, "%.2f", r->waiting_s / HOUR_S);
    pod_table_add(t, "%s", percent(r->scheduling, text, sizeof text));
    pod_table_add(t, "%s", percent(r->runtime, text, sizeof text));
    pod_table_add(t, "%.3f", 100 * r->runtime_95);
    pod_table_add(t, "%s", percent(r->expected, text, sizeof text));
    pod_table_add(t, "%s", percent(program_goodput(x), text, sizeof text));
    pod_table_add(t, "%s", percent(goodput(x), text, sizeof text));
    pod_table_add(t, "%" PRId64, r->n_finished);
}

static pod_status print_points(const pod_job_study *s, FILE *to, const char *csv)
{
    pod_table *t;
    POD_TRY(pod_table_create(point_columns, sizeof point_columns / sizeof point_columns[0], &t));
    pod_table_note(t, "minipod %s simulate --job, clock virtual, machine %s%s%s", POD_VERSION,
                   *s->machine ? s->machine : "not said: the step was given",
                   *s->machine ? ", " : "", *s->machine ? s->model : "");
    pod_table_note(t,
                   "%" PRId64 " jobs of %g days each, with the best of the intervals that were "
                   "tried; closed_form: %s",
                   s->keys.seeds, s->keys.days,
                   s->is_exact ? "what is expected" : "were failures of this mtbf exponential");
    for (int i = 0; i < s->n_points; i++) add_point(t, &s->point[i]);
    pod_status status = pod_table_print(t, to);
    if (status == POD_OK && *csv) status = pod_table_write_csv(t, csv);
    pod_table_destroy(t);
    return status;
}

pod_status pod_job_print(const pod_job_study *s, FILE *to, const char *csv)
{
    if (s->n_points > 1) return print_points(s, to, csv);
    POD_TRY(print_one(s, &s->point[0], to));
    return print_intervals(s, &s->point[0], to, csv);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_run(const pod_job_run *r, pod_json *j)
{
    pod_json_open_object(j, NULL);
    pod_json_double(j, "interval_s", r->interval_s);
    pod_json_int(j, "steps", r->every);
    pod_json_int(j, "finished", r->n_finished);
    pod_json_double(j, "runtime_goodput", r->runtime);
    pod_json_double(j, "runtime_goodput_95", r->runtime_95);
    pod_json_double(j, "runtime_goodput_of_jobs", r->mean);
    pod_json_double(j, "runtime_goodput_least", r->least);
    pod_json_double(j, "runtime_goodput_most", r->most);
    pod_json_double(j, "runtime_goodput_closed_form", r->expected);
    pod_json_double(j, "scheduling_goodput", r->scheduling);
    pod_json_double(j, "scheduling_goodput_95", r->scheduling_95);
    pod_json_double(j, "failures", r->n_failures);
    pod_json_double(j, "kept_steps", r->n_kept);
    pod_json_double(j, "lost_steps", r->n_lost);
    pod_json_double(j, "saves", r->n_saves);
    pod_json_double(j, "allocated_s", r->allocated_s);
    pod_json_double(j, "waiting_s", r->waiting_s);
    pod_json_open_object(j, "seconds");
    for (int i = 0; i < POD_N_JOB_SPANS; i++)
        pod_json_double(j, pod_job_span_name((pod_job_span)i), r->by_span_s[i]);
    pod_json_close(j);
    pod_json_close(j);
}

static void put_point(const pod_job_point *x, pod_json *j)
{
    pod_json_open_object(j, NULL);
    pod_json_text(j, "mesh", *x->mesh ? x->mesh : NULL);
    pod_json_int(j, "ranks", x->cores);
    pod_json_int(j, "nodes", x->n_nodes);
    pod_json_int(j, "global_batch", x->batch);
    pod_json_double(j, "step_s", x->step_s);
    pod_json_double(j, "ideal_step_s", x->ideal_step_s);
    pod_json_int(j, "steps", x->n_steps);
    pod_json_double(j, "mtbf_s", has_failures(x) ? x->mtbf_s : (double)NAN);
    pod_json_int(j, "checkpoint_bytes", (int64_t)x->bytes);
    pod_json_double(j, "save_s", x->save_s);
    pod_json_double(j, "write_s", x->write_s);
    pod_json_double(j, "restore_s", x->restore_s);
    pod_json_double(j, "young_s", x->young_s);
    pod_json_double(j, "daly_s", x->daly_s);
    pod_json_double(j, "expected_best_s", x->best_s);
    pod_json_double(j, "program_goodput", program_goodput(x));
    pod_json_double(j, "goodput", goodput(x));
    pod_json_int(j, "best", x->best);
    pod_json_open_array(j, "intervals");
    for (int i = 0; i < x->n_runs; i++) put_run(&x->run[i], j);
    pod_json_close(j);
    pod_json_close(j);
}

void pod_job_json(const pod_job_study *s, pod_json *j)
{
    pod_json_open_object(j, NULL);
    pod_json_text(j, "schema", "minipod.simulate.job");
    pod_json_int(j, "version", 1);
    pod_json_text(j, "minipod", POD_VERSION);
    pod_json_text(j, "clock", "virtual");
    pod_json_text(j, "machine", *s->machine ? s->machine : NULL);
    pod_json_text(j, "model", *s->machine ? s->model : NULL);
    pod_json_double(j, "days", s->keys.days);
    pod_json_int(j, "jobs", s->keys.seeds);
    pod_json_int(j, "spares", s->keys.spares);
    pod_json_text(j, "checkpoint", s->is_async ? "async" : "sync");
    pod_json_double(j, "node_mtbf_h", s->mtbf_h > 0 ? s->mtbf_h : (double)NAN);
    pod_json_text(j, "faults_from", s->trace_path);
    pod_json_bool(j, "closed_form_is_exact", s->is_exact);
    pod_json_open_array(j, "rows");
    for (int i = 0; i < s->n_points; i++) put_point(&s->point[i], j);
    pod_json_close(j);
    pod_json_close(j);
}
