#include "bench/job/study.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kernels/base/parse.h"
#include "runtime/core/file.h"
#include "runtime/core/words.h"

static const double HOUR_S = 3600, DAY_S = 86400, NS = 1e-9, MAX_FAILURES = 1e7;
static const pod_stamp LONGEST = INT64_MAX / 4;
enum { WORTH = 10 }; /* a job is given up after so many times what it takes without failures */

/* ---- the jobs -------------------------------------------------------------------------------- */

double pod_job_study_start_s(const pod_job_study *s, const pod_job_point *x)
{
    return s->keys.launch_s + x->init_s + x->compile_s;
}

static pod_job_model model_of(const pod_job_study *s, const pod_job_point *x, int64_t every)
{
    const double start_s = pod_job_study_start_s(s, x);
    return (pod_job_model){.mtbf_s = x->mtbf_s,
                           .n_steps = x->n_steps,
                           .every = every,
                           .step_s = x->step_s,
                           .save_s = x->save_s,
                           .write_s = x->write_s,
                           .detect_s = s->keys.detect_s,
                           .start_s = start_s,
                           .restart_s = start_s + x->restore_s};
}

double pod_job_study_expected(const pod_job_study *s, const pod_job_point *x, int64_t every)
{
    const pod_job_model m = model_of(s, x, every);
    return pod_job_model_goodput(&m);
}

static pod_job_sim_plan plan_of(const pod_job_study *s, const pod_job_point *x, int64_t every)
{
    pod_job_model m = model_of(s, x, every);
    double slowest = 1;
    for (int i = 0; i < s->n_faults; i++) slowest = fmax(slowest, s->fault[i].factor);
    m.mtbf_s = 0;
    const double limit_ns = WORTH * slowest * pod_job_model_wall_s(&m) / NS;
    const pod_stamp limit = limit_ns < (double)LONGEST ? (pod_stamp)limit_ns : LONGEST;
    return (pod_job_sim_plan){.n_steps = x->n_steps,
                              .every = every,
                              .step = pod_stamp_of(x->step_s),
                              .save = pod_stamp_of(x->save_s),
                              .write = pod_stamp_of(x->write_s),
                              .detect = pod_stamp_of(s->keys.detect_s),
                              .launch = pod_stamp_of(s->keys.launch_s),
                              .init = pod_stamp_of(x->init_s),
                              .build = pod_stamp_of(x->compile_s),
                              .restore = pod_stamp_of(x->restore_s),
                              .watchdog = s->watchdog_s > 0 ? pod_stamp_of(s->watchdog_s) : limit,
                              .limit = limit,
                              .fault = s->fault,
                              .n_faults = s->n_faults};
}

typedef struct sample { /* of one job, seconds */
    double steps, allocated, total;
} sample;

/* Half of the interval that holds 95 % of what sum a / sum b may be, for n jobs: Student's t by its
 * expansion in 1 / (n - 1), and the variance of a ratio of means. */
static double half_95(const sample job[], int64_t n, double ratio, bool of_total)
{
    double squares = 0, sum = 0;
    if (n < 2) return 0;
    for (int64_t i = 0; i < n; i++) {
        const double a = of_total ? job[i].allocated : job[i].steps,
                     b = of_total ? job[i].total : job[i].allocated;
        squares += (a - ratio * b) * (a - ratio * b);
        sum += b;
    }
    const double nu = (double)(n - 1);
    const double t = 1.96 + 2.372 / nu + 2.822 / (nu * nu) + 2.556 / (nu * nu * nu);
    return t * sqrt(squares * (double)n / nu) / sum;
}

static void add_job(pod_job_run *r, const pod_job_sim *j, sample *job)
{
    const double allocated_s = pod_stamp_seconds(j->allocated),
                 goodput = pod_job_sim_runtime_goodput(j);
    *job = (sample){pod_stamp_seconds(j->by_span[POD_JOB_STEP]), allocated_s,
                    allocated_s + pod_stamp_seconds(j->waiting)};
    for (int s = 0; s < POD_N_JOB_SPANS; s++) r->by_span_s[s] += pod_stamp_seconds(j->by_span[s]);
    r->allocated_s += allocated_s;
    r->waiting_s += pod_stamp_seconds(j->waiting);
    r->n_finished += j->is_finished;
    r->n_failures += (double)j->n_failures;
    r->n_kept += (double)j->n_kept;
    r->n_lost += (double)j->n_lost;
    r->n_saves += (double)j->n_saves;
    if (isnan(goodput)) return;
    r->least = fmin(r->least, goodput);
    r->most = fmax(r->most, goodput);
    r->mean += goodput;
}

static void finish_run(pod_job_run *r, const sample job[], int64_t n)
{
    int64_t n_with = 0;
    const double steps_s = r->by_span_s[POD_JOB_STEP], total_s = r->allocated_s + r->waiting_s;
    for (int64_t i = 0; i < n; i++) n_with += job[i].allocated > 0;
    r->runtime = steps_s / r->allocated_s;
    r->scheduling = r->allocated_s / total_s;
    r->runtime_95 = half_95(job, n, r->runtime, false);
    r->scheduling_95 = half_95(job, n, r->scheduling, true);
    r->mean /= (double)n_with;
    for (int s = 0; s < POD_N_JOB_SPANS; s++) r->by_span_s[s] /= (double)n;
    r->allocated_s /= (double)n;
    r->waiting_s /= (double)n;
    r->n_failures /= (double)n;
    r->n_kept /= (double)n;
    r->n_lost /= (double)n;
    r->n_saves /= (double)n;
}

typedef struct work { /* on one point */
    const pod_config *config;
    pod_log *log;
    int64_t n_done; /* jobs, those of earlier points included */
    pod_job_study *study;
    pod_job_point *point;
    pod_nodes *nodes;
    sample *job;
} work;

static pod_status check_effort(const work *w, const pod_job_sim_plan *p)
{
    const double failures = pod_stamp_seconds(p->limit) / w->point->mtbf_s;
    if (w->point->mtbf_s > 0 && failures > MAX_FAILURES)
        return pod_fail(POD_E_INVALID,
                        "mtbf: %g h of a node make a failure of %d nodes each %.3g s, too many for "
                        "a job of %g days",
                        w->study->mtbf_h, w->point->n_nodes, w->point->mtbf_s, w->study->keys.days);
    return POD_OK;
}

/* One more interval, among the others in order, unless it is there already. */
static pod_status try_interval(work *w, double interval_s)
{
    pod_job_point *x = w->point;
    const double steps = fmin(fmax(1, round(interval_s / x->step_s)), (double)x->n_steps);
    const int64_t every = (int64_t)steps, n = w->study->keys.seeds;
    int at = 0;
    while (at < x->n_runs && x->run[at].every < every) at++;
    w->n_done += n;
    if (x->n_runs == POD_JOB_MAX_RUNS || (at < x->n_runs && x->run[at].every == every))
        return POD_OK;
    const pod_job_sim_plan plan = plan_of(w->study, x, every);
    POD_TRY(check_effort(w, &plan));
    pod_job_run r = {.every = every,
                     .interval_s = (double)every * x->step_s,
                     .least = (double)INFINITY,
                     .most = -(double)INFINITY,
                     .expected = pod_job_study_expected(w->study, x, every)};
    for (int64_t i = 0; i < n; i++) {
        const pod_job_sim j = pod_job_sim_run(
            &plan, w->nodes, (uint64_t)pod_config_int(w->config, POD_OPT_SEED), (uint32_t)i);
        add_job(&r, &j, &w->job[i]);
        w->study->n_simulated += j.n_failures;
        w->study->struck |= j.struck;
        pod_progress_at(w->log, w->n_done - n + i + 1, "%d nodes", x->n_nodes);
    }
    finish_run(&r, w->job, n);
    memmove(&x->run[at + 1], &x->run[at], (size_t)(x->n_runs - at) * sizeof r);
    x->run[at] = r;
    x->n_runs++;
    return POD_OK;
}

static void find_best(pod_job_point *x)
{
    x->best = 0;
    for (int i = 1; i < x->n_runs; i++)
        if (x->run[i].runtime > x->run[x->best].runtime) x->best = i;
}

/* From an eighth to eight times the formula's, and closer round the best of these. */
enum { HALF = 6, N_SWEPT = 2 * HALF + 1 + 2 };

static pod_status sweep(work *w)
{
    pod_job_point *x = w->point;
    if (!isfinite(x->best_s)) return try_interval(w, (double)x->n_steps * x->step_s);
    const double middle_s = fmax(x->best_s, x->step_s);
    for (int i = -HALF; i <= HALF; i++) POD_TRY(try_interval(w, middle_s * pow(2, 0.5 * i)));
    find_best(x);
    const double best_s = x->run[x->best].interval_s;
    POD_TRY(try_interval(w, best_s * pow(2, -0.25)));
    return try_interval(w, best_s * pow(2, 0.25));
}

static pod_status try_given(work *w, const char *at)
{
    while (*at) {
        char word[32];
        double interval_s;
        POD_TRY(pod_word_take("interval", &at, word, sizeof word));
        POD_TRY(pod_parse_double("interval", word, 1e-6, 1e9, &interval_s));
        if (w->point->n_runs == POD_JOB_MAX_RUNS)
            return pod_fail(POD_E_INVALID, "interval: more than %d", POD_JOB_MAX_RUNS);
        POD_TRY(try_interval(w, interval_s));
    }
    return POD_OK;
}

/* That a point is run with, at most. */
static int64_t n_intervals(const pod_config *c)
{
    const char *interval = pod_config_text(c, POD_OPT_INTERVAL);
    if (strcmp(interval, "auto") == 0) return N_SWEPT;
    int64_t n = 1;
    for (; *interval; interval++) n += *interval == ',';
    return n;
}

static pod_status create_nodes(const pod_job_study *s, const pod_job_point *x, pod_nodes **out)
{
    const int n = x->n_nodes + (int)s->keys.spares;
    const pod_nodes_drawn drawn = {s->mtbf_h * HOUR_S, s->keys.shape, s->keys.repair_h * HOUR_S};
    if (!s->trace_path) return pod_nodes_draw(&drawn, n, x->n_nodes, out);
    if (n > s->trace_nodes)
        return pod_fail(POD_E_INVALID,
                        "faults-from: %s has %d nodes, the job and its spares need %d%s",
                        s->trace_path, s->trace_nodes, n,
                        pod_job_keys_has(&s->keys, POD_JOB_KEY_trace_nodes)
                            ? ""
                            : "; with those that had no fault: --job trace-nodes=");
    const pod_stamp start = pod_job_keys_has(&s->keys, POD_JOB_KEY_start_day)
                                ? pod_stamp_of(s->keys.start_day * DAY_S)
                                : -1;
    return pod_nodes_replay(&s->trace, s->trace_nodes, start, n, x->n_nodes, out);
}

static pod_status run_point(const pod_config *c, pod_arena *arena, pod_log *log, pod_job_study *s,
                            int i)
{
    const char *interval = pod_config_text(c, POD_OPT_INTERVAL);
    pod_job_point *x = &s->point[i];
    work w = {.config = c,
              .log = log,
              .n_done = i * n_intervals(c) * s->keys.seeds,
              .study = s,
              .point = x,
              .job = POD_ARENA_NEW(arena, sample, s->keys.seeds)};
    if (!w.job) return POD_E_NOMEM;
    POD_TRY(create_nodes(s, x, &w.nodes));
    const pod_status status = strcmp(interval, "auto") == 0 ? sweep(&w) : try_given(&w, interval);
    pod_nodes_destroy(w.nodes);
    find_best(x);
    return status;
}

static pod_status make_study(const pod_config *c, pod_arena *arena, pod_log *log,
                             pod_job_study **out)
{
    pod_job_study *s = POD_ARENA_NEW(arena, pod_job_study, 1);
    if (!s) return POD_E_NOMEM;
    POD_TRY(pod_job_points_list(c, arena, s));
    const pod_clock clock = pod_clock_start();
    pod_progress_begin(log, "simulating", "jobs", 0, s->n_points * n_intervals(c) * s->keys.seeds);
    pod_status status = POD_OK;
    for (int i = 0; i < s->n_points && status == POD_OK; i++)
        status = run_point(c, arena, log, s, i);
    pod_progress_end(log);
    s->wall_s = pod_time_seconds(pod_clock_now(&clock));
    if (status == POD_OK) *out = s;
    return status;
}

/* One line on the faults that struck no job. */
static pod_status warn_not_struck(const pod_job_study *s, pod_arena *arena, pod_log *log)
{
    const char *all = "";
    int64_t most = 0;
    char text[POD_FAULT_TEXT_BYTES];
    for (int i = 0; i < s->n_points; i++)
        if (s->point[i].n_steps > most) most = s->point[i].n_steps;
    for (int i = 0; i < s->n_faults && all; i++)
        if ((s->struck >> i & 1) == 0)
            all = pod_arena_text(arena, "%s%s%s", all, *all ? ";" : "",
                                 pod_fault_print(&s->fault[i], text));
    if (!all) return POD_E_NOMEM;
    if (*all)
        pod_log_say(log, POD_LOG_WARNING, "fault: no job, of %s%" PRId64 " steps, was struck by %s",
                    s->n_points > 1 ? "up to " : "", most, all);
    return POD_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

static pod_status write_folder(const pod_job_study *s, const char *folder, pod_log *log)
{
    char path[POD_PATH_BYTES];
    POD_TRY(pod_path_join(folder, "job.json", path));
    POD_TRY(pod_job_write_json(s, path));
    POD_TRY(pod_path_join(folder, "job.svg", path));
    return pod_job_plot(s, path, log);
}

pod_status pod_simulate_job(pod_call *call)
{
    const pod_config *c = call->config;
    const char *json = pod_config_text(c, POD_OPT_JSON), *folder = pod_config_text(c, POD_OPT_OUT);
    pod_job_study *study;
    if (*folder) POD_TRY(pod_dir_make(folder));
    POD_TRY(make_study(c, call->arena, call->log, &study));
    POD_TRY(pod_job_print(study, call->log->out, pod_config_text(c, POD_OPT_CSV)));
    POD_TRY(warn_not_struck(study, call->arena, call->log));
    if (*json) POD_TRY(pod_job_write_json(study, json));
    return *folder ? write_folder(study, folder, call->log) : POD_OK;
}
