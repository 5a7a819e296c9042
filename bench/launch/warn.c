#include "bench/launch/warn.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>

enum { LINE_BYTES = 4096, TRIES = 10, TRY_MS = 100 };

/* A pipe that can be written to takes a line at once. Signals cut a try short. */
static bool is_read(FILE *to)
{
    struct pollfd fd = {.fd = fileno(to), .events = POLLOUT};
    int n = 0;
    for (int i = 0; i < TRIES && n <= 0; i++) n = poll(&fd, 1, TRY_MS);
    return n > 0;
}

void pod_launch_warn(pod_log *log, const char *fmt, ...)
{
    char line[LINE_BYTES];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    if (log->err && is_read(log->err)) pod_log_say(log, POD_LOG_WARNING, "%s", line);
}
