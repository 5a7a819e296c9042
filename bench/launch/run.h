/* One attempt of a launched job as processes: started, watched, stopped, ended. Decides nothing.
 *
 * The first SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 or SIGXCPU to this process asks the job to
 * stop: mpirun gets SIGUSR1, which it hands to the ranks, and these save and leave. A second one
 * ends the job hard: SIGTERM to mpirun's group, and some seconds later SIGKILL to all that the
 * attempt started on this host. The same ends a job that hangs, also over the loss of a rank. If the
 * launcher is killed, mpirun gets SIGTERM from the system. What nobody reads any more (`launch ... |
 * head`) is dropped, and the job continues. */
#ifndef MINIPOD_BENCH_LAUNCH_RUN_H
#define MINIPOD_BENCH_LAUNCH_RUN_H

#include <stdbool.h>

#include "bench/launch/text.h"
#include "runtime/core/clock.h"
#include "runtime/core/log.h"

typedef struct pod_launch_run pod_launch_run;

typedef struct pod_launch_plan { /* borrowed */
    const char *const *argv;     /* ends with NULL */
    const char *log_dir;         /* where ranks' logs grow; "": nowhere */
    int attempt;
    bool to_stderr; /* what it prints, too */
    double stall_s; /* after so long without growth it is ended; 0: never */
} pod_launch_plan;

/* Signals are this object's until it is closed: one a process at a time. Processes that it starts
 * carry MINIPOD_LAUNCHED_BY in their environment. The log is borrowed, and takes warnings. E_IO. */
POD_MUST pod_status pod_launch_run_open(const pod_clock *clock, pod_log *log, pod_launch_run **out);
/* Returns when all of the attempt's processes on this host are gone, and what they left is swept.
 * E_IO: there can be no process. Where argv[0] cannot be started that is printed, and the exit code
 * is POD_EXIT_USAGE. */
POD_MUST pod_status pod_launch_run_attempt(pod_launch_run *r, const pod_launch_plan *plan,
                                           pod_launch_outcome *out);
/* Waits until somebody has read what the attempt printed; where the job goes on, for some seconds,
 * and drops the rest with a warning. To be called behind each attempt. */
void pod_launch_run_pass_rest(pod_launch_run *r, bool goes_on);
/* false: it was cut short, since the job was asked to stop. */
bool pod_launch_run_pause(pod_launch_run *r, double seconds);
bool pod_launch_run_asked_to_stop(const pod_launch_run *r);
void pod_launch_run_close(pod_launch_run *r); /* NULL is allowed */

/* A warning of the launcher itself. If standard error is a pipe that is full since nobody reads it,
 * waits a second for a reader and drops the warning then: how attempts end is in the job's log, too. */
void pod_launch_warn(pod_log *log, const char *fmt, ...) POD_PRINTF(2, 3);

#endif
