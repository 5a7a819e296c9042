#include "runtime/core/core_wait.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

pod_core_wait pod_core_wait_open(void)
{
    return (pod_core_wait){.file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)};
}

/* "TIME_ON_CORES TIME_WAITING TURNS", nanoseconds. */
int64_t pod_core_wait_ns(const pod_core_wait *w)
{
    char text[80], *end;
    if (w->file < 0) return 0;
    const ssize_t n = pread(w->file, text, sizeof text - 1, 0);
    if (n <= 0) return 0;
    text[n] = '\0';
    (void)strtoll(text, &end, 10);
    return strtoll(end, NULL, 10);
}

void pod_core_wait_close(pod_core_wait *w)
{
    if (w->file >= 0) close(w->file);
    w->file = -1;
}
