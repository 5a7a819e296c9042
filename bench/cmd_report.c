/* minipod report: runs side by side on one page. */
#include "bench/command.h"
#include "bench/report.h"

static pod_status report(const pod_config *c, pod_log *log, pod_arena *a)
{
    const int n = pod_config_n_args(c);
    const char *path = pod_config_text(c, POD_OPT_OUTPUT);
    if (n == 0)
        return pod_fail(POD_E_INVALID, "which runs? report RUN... -o F.html, folders that train"
                                       " --out made");
    if (!*path) return pod_fail(POD_E_INVALID, "output: want a file, like -o report.html");
    pod_report_run *run = POD_ARENA_NEW(a, pod_report_run, n);
    if (!run) return POD_E_NOMEM;
    for (int i = 0; i < n; i++) POD_TRY(pod_report_read(a, pod_config_arg(c, i), &run[i]));
    return pod_report_write(run, n, path, log);
}

pod_status pod_cmd_report(pod_call *call, int *exit_code)
{
    pod_arena *a;
    (void)exit_code;
    POD_TRY(pod_arena_create(NULL, &a));
    const pod_status s = report(call->config, call->log, a);
    pod_arena_destroy(a);
    return s;
}
