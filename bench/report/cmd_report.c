/* minipod report: runs side by side on one page, and fleets below each other. */
#include "bench/command.h"
#include "bench/common/run_json.h"
#include "bench/report/report.h"

/* Reports and skips runs that cannot be read; the page shows the others. */
static pod_status report(const pod_config *c, pod_log *log, pod_arena *a, int *exit_code)
{
    const int n = pod_config_n_args(c);
    const char *path = pod_config_text(c, POD_OPT_OUTPUT);
    if (n == 0)
        return pod_fail(POD_E_INVALID, "which runs? report RUN... -o F.html, folders that train"
                                       " --out made");
    if (!*path) return pod_fail(POD_E_INVALID, "output: want a file, like -o report.html");
    pod_report_run *run = POD_ARENA_NEW(a, pod_report_run, n);
    pod_report_fleet *fleet = POD_ARENA_NEW(a, pod_report_fleet, n);
    if (!run || !fleet) return POD_E_NOMEM;
    POD_TRY(pod_run_json_check_apart(c));
    pod_report_content x = {.run = run, .fleet = fleet};
    for (int i = 0; i < n; i++) {
        const char *folder = pod_config_arg(c, i);
        const bool is_fleet = pod_report_is_fleet(folder);
        const pod_status s = is_fleet ? pod_report_fleet_read(a, folder, &fleet[x.n_fleets])
                                      : pod_report_read(a, folder, &run[x.n_runs]);
        if (s == POD_E_NOMEM || (s != POD_OK && n == 1)) return s;
        if (s != POD_OK) pod_log_say(log, POD_LOG_ERROR, "%s; skipped", pod_error_text());
        *(is_fleet ? &x.n_fleets : &x.n_runs) += s == POD_OK;
    }
    const int n_read = x.n_runs + x.n_fleets;
    if (n_read < n) *exit_code = POD_EXIT_USAGE;
    const pod_status s = n_read > 0 ? pod_report_write(a, &x, path, log) : POD_OK;
    for (int i = 0; i < x.n_runs; i++) pod_report_close(&run[i]);
    for (int i = 0; i < x.n_fleets; i++) cJSON_Delete(fleet[i].record);
    return s;
}

pod_status pod_cmd_report(pod_call *call, int *exit_code)
{
    return report(call->config, call->log, call->arena, exit_code);
}
