/* minipod goodput: where the time of runs went: scheduling x runtime x program goodput, every
 * second by category, who was slow, and what would have helped most. */
#include <string.h>

#include "bench/command.h"
#include "bench/common/run_json.h"
#include "bench/goodput/goodput.h"
#include "runtime/core/file.h"

static pod_status check_names(const pod_config *c)
{
    const int n = pod_config_n_args(c);
    if (n == 0 && !*pod_config_text(c, POD_OPT_JOBS))
        return pod_fail(POD_E_INVALID, "which runs? goodput RUN..., folders that train --out made");
    if (n != 1 && *pod_config_text(c, POD_OPT_PLOT))
        return pod_fail(POD_E_INVALID, "plot: is of one run, found %d", n);
    return POD_OK;
}

/* A job's ranks are those of one run. */
static pod_status check_job(const pod_run_account run[], int n, const pod_run_account *r)
{
    for (int i = 0; i < n; i++)
        if (r->scheduled && run[i].scheduled == r->scheduled)
            return pod_fail(POD_E_INVALID,
                            "%s and %s: both bear the name of job %s of --jobs, which is one run",
                            run[i].name, r->name, r->job_name);
    return POD_OK;
}

/* Reads those that can be read, *n_runs of them. Of several it reports and skips the others. */
static pod_status read_runs(const pod_config *c, pod_arena *a, const pod_fleet *fleet, pod_log *log,
                            pod_run_account *run, int *n_runs)
{
    const int n = pod_config_n_args(c);
    POD_TRY(pod_run_json_check_apart(c));
    *n_runs = 0;
    for (int i = 0; i < n; i++) {
        pod_run_account *r = &run[*n_runs];
        const pod_status s = pod_run_account_read(a, pod_config_arg(c, i), r);
        if (s == POD_E_NOMEM || (s != POD_OK && n == 1)) return s;
        if (s == POD_OK) {
            POD_TRY(pod_run_account_schedule(a, fleet, r));
            POD_TRY(check_job(run, *n_runs, r));
            ++*n_runs;
        } else {
            pod_log_say(log, POD_LOG_ERROR, "%s; skipped", pod_error_text());
        }
    }
    return POD_OK;
}

static pod_goodput_by parse_by(const char *text)
{
    static const char *const names[] = {[POD_BY_RUN] = "run",
                                        [POD_BY_MODEL] = "model",
                                        [POD_BY_MESH] = "mesh",
                                        [POD_BY_PHASE] = "phase"};
    int by = POD_BY_RUN;
    while (strcmp(names[by], text) != 0) by++; /* options.def lets no other name through */
    return (pod_goodput_by)by;
}

static pod_status write_all(const pod_config *c, const pod_goodput_report *r, pod_log *log)
{
    const char *csv = pod_config_text(c, POD_OPT_CSV), *json = pod_config_text(c, POD_OPT_JSON);
    const char *prometheus = pod_config_text(c, POD_OPT_PROMETHEUS);
    const char *plot = pod_config_text(c, POD_OPT_PLOT);
    POD_TRY(pod_goodput_print(r, log->out));
    if (*csv) POD_TRY(pod_goodput_write_csv(r, csv));
    if (*json) POD_TRY(pod_goodput_write_json(r, json));
    if (*prometheus) POD_TRY(pod_goodput_write_prometheus(r, prometheus));
    if (*plot) POD_TRY(pod_goodput_plot(&r->run[0], plot, log));
    return POD_OK;
}

static pod_status report(const pod_config *c, pod_arena *a, pod_log *log, int *exit_code)
{
    pod_fleet fleet;
    const char *jobs = pod_config_text(c, POD_OPT_JOBS), *by = pod_config_text(c, POD_OPT_BY);
    const int n = pod_config_n_args(c);
    POD_TRY(check_names(c));
    if (*jobs) POD_TRY(pod_fleet_read(a, jobs, &fleet));
    pod_run_account *run = POD_ARENA_NEW(a, pod_run_account, n);
    if (!run) return POD_E_NOMEM;
    pod_goodput_report r = {.run = run, .by = by, .fleet = *jobs ? &fleet : NULL};
    POD_TRY(read_runs(c, a, r.fleet, log, run, &r.n_runs));
    if (r.n_runs < n) *exit_code = POD_EXIT_USAGE;
    if (r.n_runs == 0 && n > 0) return POD_OK;
    pod_goodput_sum *sum = POD_ARENA_NEW(a, pod_goodput_sum, pod_goodput_max_sums(run, r.n_runs));
    if (!sum) return POD_E_NOMEM;
    r.sum = sum;
    if (n > 0) r.n_sums = pod_goodput_sums(run, r.n_runs, r.fleet, parse_by(by), sum);
    return write_all(c, &r, log);
}

pod_status pod_cmd_goodput(pod_call *call, int *exit_code)
{
    return report(call->config, call->arena, call->log, exit_code);
}

void pod_goodput_help(FILE *to)
{
    fputs("\n"
          "figures\n"
          "  scheduling  share of the requested time in which the job had all its ranks; needs\n"
          "              --jobs. Queues, partial allocations and preemption lower it\n"
          "  runtime     share of the time with all ranks that went into steps whose progress\n"
          "              was kept. Start-up, saves, waits for input, evaluation, lost steps and\n"
          "              recovery lower it\n"
          "  program     ideal time of the kept steps / the time they took; needs run.json. Slow\n"
          "              kernels, exposed all-reduces and stragglers lower it\n"
          "  goodput     the product of the three: the share of the requested time that was\n"
          "              ideal work. A second counts once per rank; runs are weighted by their\n"
          "              rank-seconds\n"
          "\n"
          "stragglers: a rank's own time is its step without waits; a slow rank's is longer than\n"
          "that of the others, which wait for it. relative: the others' own time / this rank's;\n"
          "individual: this rank's usual own time / its recent one; 1 is good\n"
          "\n"
          "--jobs: a CSV of the scheduler's events in order; a run's job has its folder's name\n"
          "  job,event,time_s,ranks\n"
          "  ,capacity,0,16            optional: size of the fleet; default: what was requested\n"
          "  first,submit,0,8          the job requests 8 ranks\n"
          "  first,allocate,12.5,4     it now has 4 ranks; fewer than requested count as none\n"
          "  first,end,320,            it needs no ranks any more\n"
          "A run cannot have worked longer, or on more ranks, than its job had them together.\n"
          "Times from 1e9 on are seconds since 1970: the run must then lie within its job\n",
          to);
}
