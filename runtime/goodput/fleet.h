/* Scheduling goodput, from the events of a scheduler: the share of a fleet's time in which jobs had
 * all ranks that they asked for (Wongpanich et al. 2025, section 4.1). A job is bulk-synchronous,
 * so that it makes no progress with fewer ranks.
 *
 * The input is a CSV of events in the order of time:
 *
 *     job,event,time_s,ranks
 *     ,capacity,0,16           the fleet has 16 ranks from now on; before any submit, if at all
 *     first,submit,0,8         job `first` asks for 8 ranks, and queues until it has them
 *     first,allocate,12.5,4    it has 4 ranks now: some, all, or 0 if they are taken away
 *     first,allocate,20,8
 *     first,end,320,           it needs none any more; it may be submitted again
 *
 * Seconds count from any instant. Blank lines and lines that begin with # are skipped. A job
 * without an `end` counts up to the time of the last line.
 *
 * Scheduling goodput = rank-seconds in which jobs had all their ranks / rank-seconds of capacity.
 * If the file has no capacity, the ranks that submitted jobs ask for take its place. */
#ifndef MINIPOD_RUNTIME_GOODPUT_FLEET_H
#define MINIPOD_RUNTIME_GOODPUT_FLEET_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/arena.h"
#include "kernels/base/status.h"

typedef struct pod_fleet_job { /* rank-seconds, except for queue_s */
    const char *name;
    double asked_s, together_s;
    double partial_s;   /* ranks held while others were missing */
    double queue_s;     /* seconds from each submit until it had all ranks, or until its end */
    int64_t most_ranks; /* that it had at once when it had all */
    double together_from_s, ended_s; /* NaN: it never had all ranks; it has no end */
} pod_fleet_job;

typedef struct pod_fleet {
    const char *path;
    int n_jobs;
    const pod_fleet_job *job; /* in the order of their first submit */
    bool has_capacity;        /* the file has it */
    double capacity_s;        /* rank-seconds */
    double together_s, partial_s;
} pod_fleet;

/* Reads a file into the arena. E_IO; E_FORMAT, naming file and line, for an unknown event, a time
 * that goes back, a job submitted twice or never, and more ranks than were asked for or than the
 * capacity. */
POD_MUST pod_status pod_fleet_read(pod_arena *a, const char *path, pod_fleet *out);
/* The same for a text, which is modified; `name` replaces the file in messages. */
POD_MUST pod_status pod_fleet_parse(pod_arena *a, const char *name, char *text, pod_fleet *out);

const pod_fleet_job *pod_fleet_find(const pod_fleet *f, const char *name); /* NULL: none */

/* The data of a job in the log of its run, for comparison with the file. */
typedef struct pod_fleet_run {
    const char *name;      /* of the run, for messages */
    int ranks;             /* most at a time */
    double begin_s, end_s; /* seconds since 1970 */
    double used_s;         /* sum over ranks of the time from the first record to the last */
    bool runs;             /* it still runs: its end is unknown */
} pod_fleet_run;

/* Fails with E_INVALID, naming file, job and run, if file and log contradict each other: the run
 * had more ranks than the job, or ran longer than the job had all its ranks; or, if times in the
 * file are seconds since 1970 (1e9 and more), the run began before the job had all its ranks, or
 * ended after the job. A job without an `end`, though the run is over, counts up to the last line.
 * Differences of a second are allowed, because files may have whole seconds. */
POD_MUST pod_status pod_fleet_check(const pod_fleet *f, const pod_fleet_job *j,
                                    const pod_fleet_run *r);

/* Returns together_s / capacity_s; NaN if that is 0 / 0. */
double pod_fleet_goodput(const pod_fleet *f);

#endif
