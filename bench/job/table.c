#include "bench/job/study.h"

#include <inttypes.h>
#include <math.h>

#include "bench/common/record.h"
#include "bench/common/table.h"

enum { TEXT_BYTES = 32 };

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

/* Of a job that never fails. */
static bool has_failures(const pod_job_point *x) { return x->mtbf_s > 0; }

/* "none" where there is no such interval: what never fails need not be saved. */
static const char *interval(const pod_job_point *x, double s, char text[TEXT_BYTES])
{
    snprintf(text, TEXT_BYTES, has_failures(x) ? "%.4g" : "none", s);
    return text;
}

static const char *mtbf(const pod_job_point *x, char text[TEXT_BYTES])
{
    return interval(x, x->mtbf_s / HOUR_S, text);
}

/* ---- one job: rows are quantity, value, unit, note ------------------------------------------- */

static void add_circumstances(pod_table *t, const pod_job_study *s, const pod_job_point *x)
{
    char text[TEXT_BYTES];
    pod_table_row(t, "clock\tvirtual\t\t%s", *s->machine ? s->machine : "the step was given");
    if (*x->mesh)
        pod_table_row(t, "model\t%s\t\tmesh %s, batch %" PRId64, s->model, x->mesh, x->batch);
    pod_table_row(t, "work\t%g\tdays\t%" PRId64 " steps of %.3f ms", s->keys.days, x->n_steps,
                  x->step_s * 1e3);
    pod_table_row(t, x->cores ? "nodes\t%d\t\t%d cores; %d spares" : "nodes\t%d\t\t%.0d%d spares",
                  x->n_nodes, x->cores, (int)s->keys.spares);
    mtbf(x, text);
    const char *unit = has_failures(x) ? "h" : "";
    if (s->trace_path)
        pod_table_row(t, "mtbf\t%s\t%s\tin the mean of %d nodes, %d faults in %.1f days, %s", text,
                      unit, s->trace_nodes, s->trace.n_faults,
                      pod_stamp_seconds(s->trace.end) / DAY_S, s->trace_path);
    else if (!has_failures(x))
        pod_table_row(t, "mtbf\t%s\t%s\tno node ever fails (--mtbf 0)", text, unit);
    else
        pod_table_row(t, "mtbf\t%s\t%s\t%g h of a node, shape %g, repaired in %g h", text, unit,
                      s->mtbf_h, s->keys.shape, s->keys.repair_h);
}

static void add_costs(pod_table *t, const pod_job_study *s, const pod_job_point *x)
{
    const pod_job_keys *k = &s->keys;
    pod_table_row(t, "save\t%.4g\ts\tthat training stands still; whole %.4g s later", x->save_s,
                  x->write_s);
    pod_table_row(t, "restart\t%.4g\ts\tdetect %g, launch %g, init %g, compile %g, restore %.4g",
                  k->detect_s + pod_job_study_start_s(s, x) + x->restore_s, k->detect_s,
                  k->launch_s, x->init_s, x->compile_s, x->restore_s);
}

static void add_interval(pod_table *t, const pod_job_point *x)
{
    const pod_job_run *r = &x->run[x->best];
    const char *unit = has_failures(x) ? "s" : "";
    char text[TEXT_BYTES];
    pod_table_row(t, "interval\t%.4g\ts\t%" PRId64 " steps%s", r->interval_s, r->every,
                  x->n_runs > 1 ? ", the best of those below" : "");
    pod_table_row(t, "  Young\t%s\t%s\tsqrt(2 x save x mtbf)", interval(x, x->young_s, text), unit);
    pod_table_row(t, "  Daly\t%s\t%s\this higher order", interval(x, x->daly_s, text), unit);
    pod_table_row(t,
                  "  expected best\t%s\t%s\tof the closed form; a write takes no longer than that",
                  interval(x, x->best_s, text), unit);
}

static void add_factors(pod_table *t, const pod_job_study *s, const pod_job_point *x)
{
    const pod_job_run *r = &x->run[x->best];
    pod_table_row(t,
                  "scheduling goodput\t%.3f\t%%\t+- %.3f (95 %%): time with all nodes / time since "
                  "asked for",
                  100 * r->scheduling, 100 * r->scheduling_95);
    if (s->keys.spares > 0)
        pod_table_row(t, "  spares counted\t%.3f\t%%\tof the time of all nodes that are held",
                      100 * r->scheduling * nodes_at_work(s, x));
    pod_table_row(t, "runtime goodput\t%.3f\t%%\t+- %.3f (95 %%): of the time with all nodes",
                  100 * r->runtime, 100 * r->runtime_95);
    if (r->least <= r->most)
        pod_table_row(t, "  of a job\t%.3f\t%%\tmean of jobs; the least %.3f, the most %.3f",
                      100 * r->mean, 100 * r->least, 100 * r->most);
    pod_table_row(t, "  closed form\t%.3f\t%%\t%s; Daly 2006", 100 * r->expected,
                  s->is_exact ? "of the time expected" : "were failures of this mtbf exponential");
    pod_table_row(t, "program goodput\t%.3f\t%%\tideal time of the kept steps / time of them",
                  100 * program_goodput(x));
    pod_table_row(t, "goodput\t%.3f\t%%\tthe product; spares are not counted", 100 * goodput(x));
}

static void add_job(pod_table *t, const pod_job_study *s, const pod_job_point *x)
{
    const pod_job_run *r = &x->run[x->best];
    pod_table_row(t,
                  "jobs\t%" PRId64 "\t\tmeans of %" PRId64 "; %" PRId64
                  " ended within ten times their work",
                  s->keys.seeds, s->keys.seeds, r->n_finished);
    pod_table_row(t, "failures\t%.2f\t\t%.1f steps done and lost; %.1f saves", r->n_failures,
                  r->n_lost, r->n_saves);
    pod_table_row(t, "time\t%.3f\ts\twith all nodes; the categories sum to it", r->allocated_s);
    for (int i = 0; i < POD_N_JOB_SPANS; i++)
        if (r->by_span_s[i] != 0)
            pod_table_row(t, "  %s\t%.3f\ts\t%.3f %%", pod_job_span_name((pod_job_span)i),
                          r->by_span_s[i], 100 * r->by_span_s[i] / r->allocated_s);
    pod_table_row(t, "waiting\t%.3f\ts\tfor nodes", r->waiting_s);
    pod_table_row(t, "simulated\t%.3g\tfailures/s\t%" PRId64 " of all jobs and intervals in %.3f s",
                  (double)s->n_simulated / s->wall_s, s->n_simulated, s->wall_s);
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
    return pod_table_finish(t, to, "");
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
    const double unknown = (double)NAN;
    const bool any = r->least <= r->most;
    pod_table_row(
        t, "%.6g\t%" PRId64 "\t%.1f\t%.2f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%s",
        r->interval_s, r->every, r->n_saves, r->n_failures, 100 * r->runtime, 100 * r->runtime_95,
        any ? 100 * r->least : unknown, any ? 100 * r->most : unknown, 100 * r->expected,
        100 * r->by_span_s[POD_JOB_SAVE] / r->allocated_s,
        100 * r->by_span_s[POD_JOB_LOST_STEP] / r->allocated_s, 100 * r->scheduling,
        i == x->best ? "best" : "");
}

static pod_status print_intervals(const pod_job_study *s, const pod_job_point *x, FILE *to,
                                  const char *csv)
{
    pod_table *t;
    char text[TEXT_BYTES];
    POD_TRY(pod_table_create(interval_columns, sizeof interval_columns / sizeof interval_columns[0],
                             &t));
    pod_table_note(t,
                   "minipod %s simulate --job, clock virtual: %" PRId64
                   " jobs of %g days on %d nodes, mtbf %s%s, by the time of the steps between "
                   "checkpoints",
                   POD_VERSION, s->keys.seeds, s->keys.days, x->n_nodes, mtbf(x, text),
                   has_failures(x) ? " h" : "");
    for (int i = 0; i < x->n_runs; i++) add_run(t, x, i);
    fputc('\n', to);
    return pod_table_finish(t, to, csv);
}

/* ---- points ---------------------------------------------------------------------------------- */

static const pod_column point_columns[] = {
    {"mesh", "", true},      {"nodes", "", false},        {"step", "ms", false},
    {"mtbf", "h", false},    {"save", "s", false},        {"young", "s", false},
    {"daly", "s", false},    {"interval", "s", false},    {"failures", "", false},
    {"waiting", "h", false}, {"scheduling", "%", false},  {"runtime", "%", false},
    {"ci95", "+- %", false}, {"closed_form", "%", false}, {"program", "%", false},
    {"goodput", "%", false}, {"ended", "", false}};

static void add_point(pod_table *t, const pod_job_point *x)
{
    const pod_job_run *r = &x->run[x->best];
    const double known = has_failures(x) ? 1 : (double)NAN;
    pod_table_row(t,
                  "%s\t%d\t%.3f\t%.4g\t%.4g\t%.4g\t%.4g\t%.4g\t%.2f\t%.2f\t%.3f\t%.3f\t%.3f\t%.3f"
                  "\t%.3f\t%.3f\t%" PRId64,
                  *x->mesh ? x->mesh : "-", x->n_nodes, x->step_s * 1e3, known * x->mtbf_s / HOUR_S,
                  x->save_s, known * x->young_s, known * x->daly_s, r->interval_s, r->n_failures,
                  r->waiting_s / HOUR_S, 100 * r->scheduling, 100 * r->runtime, 100 * r->runtime_95,
                  100 * r->expected, 100 * program_goodput(x), 100 * goodput(x), r->n_finished);
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
    return pod_table_finish(t, to, csv);
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

static void put_study(const void *study, pod_json *j)
{
    const pod_job_study *s = study;
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

pod_status pod_job_write_json(const pod_job_study *s, const char *path)
{
    return pod_json_file_write(path, 4, put_study, s);
}
