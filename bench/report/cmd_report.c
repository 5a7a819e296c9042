/* minipod report: runs side by side on one page. */
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
    if (!run) return POD_E_NOMEM;
    POD_TRY(pod_run_json_check_apart(c));
    int n_read = 0;
    for (int i = 0; i < n; i++) {
        const pod_status s = pod_report_read(a, pod_config_arg(c, i), &run[n_read]);
        if (s == POD_E_NOMEM || (s != POD_OK && n == 1)) return s;
        if (s != POD_OK) pod_log_say(log, POD_LOG_ERROR, "%s; skipped", pod_error_text());
        n_read += s == POD_OK;
    }
    if (n_read < n) *exit_code = POD_EXIT_USAGE;
    const pod_status s = n_read > 0 ? pod_report_write(a, run, n_read, path, log) : POD_OK;
    for (int i = 0; i < n_read; i++) pod_report_close(&run[i]);
    return s;
}

pod_status pod_cmd_report(pod_call *call, int *exit_code)
{
    return report(call->config, call->log, call->arena, exit_code);
}
