/* What the launcher itself has to say on standard error while it has a job to look after. */
#ifndef MINIPOD_BENCH_LAUNCH_WARN_H
#define MINIPOD_BENCH_LAUNCH_WARN_H

#include "runtime/core/log.h"

/* A warning. Where standard error is a pipe that is full since nobody reads it, waits a second for
 * who does, and drops it then: how attempts end is in the job's log, too. */
void pod_launch_warn(pod_log *log, const char *fmt, ...) POD_PRINTF(2, 3);

#endif
