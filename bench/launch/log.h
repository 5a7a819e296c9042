/* What the log of a job says of one of its attempts: rank 0's, whose steps are all ranks' to within
 * one, and which is one file an attempt however many ranks there are. */
#ifndef MINIPOD_BENCH_LAUNCH_LOG_H
#define MINIPOD_BENCH_LAUNCH_LOG_H

#include <stdbool.h>

#include "runtime/config/fault.h"
#include "runtime/goodput/job_file.h"

typedef struct pod_launch_log {
    bool is_read;        /* it is a log, however little it says; false: not even that is known */
    bool began;          /* this attempt or one before it got as far as to a log */
    bool began_now;      /* this one did */
    int64_t step;        /* the last that was done or restored; 0: none */
    int64_t kept;        /* of the latest checkpoint that was not left behind since; 0: none */
    bool stopped;        /* it ended since it was asked to */
    bool finished;       /* training came to its end */
    const char *failure; /* what it failed of; borrowed from the job; "" */
} pod_launch_log;

/* `j` has rank 0's parts and may have others'. */
pod_launch_log pod_launch_log_of(const pod_job *j, int attempt);

/* The first rank whose log of the attempt ends with a fault `kill` that struck it, by the signal
 * KILL then; -1: none. `j` has all ranks' parts. */
int pod_launch_log_struck(const pod_job *j, int attempt, const pod_fault fault[], int n_faults);

/* DIR/goodput.json, where there is one, is written once more, of all ranks and attempts, from the
 * job's log; its terms of program goodput stay. `kept` as in pod_job. For when the job has ended.
 * E_IO, E_FORMAT. */
POD_MUST pod_status pod_launch_goodput_close(pod_arena *a, const char *dir, int64_t kept);

#endif
