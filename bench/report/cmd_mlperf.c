/* minipod mlperf: the time to a target as MLPerf scores it, from several runs that differ in their
 * seeds. It trains them, or takes those that are there. */
#include <math.h>
#include <string.h>

#include "bench/command.h"
#include "bench/report/mlperf.h"

/* Else the arguments are folders; the environment's --out is not meant for these. */
static bool has_command(const pod_config *c)
{
    const char *first = pod_config_n_args(c) > 0 ? pod_config_arg(c, 0) : "";
    return pod_config_source(c, POD_OPT_OUT) == POD_FROM_COMMAND_LINE ||
           strcmp(first, "train") == 0 || strcmp(first, "launch") == 0;
}

static pod_status check(const pod_config *c, bool trains)
{
    if (trains && !*pod_config_text(c, POD_OPT_OUT))
        return pod_fail(POD_E_INVALID, "out: want a folder for the runs, like --out runs/score");
    if (pod_config_n_args(c) == 0)
        return pod_fail(POD_E_INVALID,
                        "which runs? mlperf RUN..., folders that train --out made, or"
                        " mlperf --out DIR -- launch -n 4 -- train ... to train them");
    if (!trains && pod_config_source(c, POD_OPT_RUNS) == POD_FROM_COMMAND_LINE)
        return pod_fail(POD_E_INVALID, "runs: is how many are trained, into --out DIR");
    return POD_OK;
}

static pod_status read_runs(const pod_config *c, pod_arena *a, pod_mlperf_run run[])
{
    const int n = pod_config_n_args(c);
    for (int i = 0; i < n; i++) POD_TRY(pod_mlperf_read(a, pod_config_arg(c, i), &run[i]));
    return POD_OK;
}

static pod_status score(pod_call *call, pod_arena *a, int *exit_code)
{
    const pod_config *c = call->config;
    const bool trains = has_command(c);
    POD_TRY(check(c, trains));
    int n = trains ? (int)pod_config_int(c, POD_OPT_RUNS) : pod_config_n_args(c);
    pod_mlperf_run *run = POD_ARENA_NEW(a, pod_mlperf_run, n);
    double *time_s = POD_ARENA_NEW(a, double, n);
    if (!run || !time_s) return POD_E_NOMEM;
    POD_TRY(trains ? pod_mlperf_train(c, call->log, &call->clock, a, run, n, &n, exit_code)
                   : read_runs(c, a, run));
    if (*exit_code != POD_EXIT_OK) return POD_OK;
    POD_TRY(pod_mlperf_check_alike(run, n));
    for (int i = 0; i < n; i++) time_s[i] = run[i].has_reached ? run[i].run_s : (double)INFINITY;
    const pod_score s = pod_score_of(time_s, n);
    if (!s.is_valid) *exit_code = POD_EXIT_FAILED;
    return pod_mlperf_report(c, call->log, run, &s);
}

pod_status pod_cmd_mlperf(pod_call *call, int *exit_code)
{
    return score(call, call->arena, exit_code);
}
