#include "bench/plot.h"

#include <stdio.h>
#include <stdlib.h>

pod_status pod_plot(const char *script, pod_log *log)
{
    if (system("command -v gnuplot >/dev/null 2>&1") != 0) {
        pod_log_say(log, POD_LOG_WARNING, "no plot: gnuplot is not installed (gnuplot-nox)");
        return POD_OK;
    }
    FILE *to = popen("gnuplot", "w");
    if (!to) return pod_fail(POD_E_IO, "gnuplot: cannot be started");
    fputs(script, to);
    if (pclose(to) != 0) return pod_fail(POD_E_IO, "gnuplot: failed");
    return POD_OK;
}

const char *pod_plot_quote(const char *text, char *out, size_t bytes)
{
    size_t n = 0;
    out[n++] = '\'';
    for (; *text && n + 4 < bytes; text++) {
        if (*text == '\'') out[n++] = '\'';
        out[n++] = *text;
    }
    out[n++] = '\'';
    out[n] = '\0';
    return out;
}
