/* Scheduling goodput: how much of a fleet's time its jobs had all that they asked for together,
 * from what a scheduler did (papers: Wongpanich et al. 2025, section 4.1).
 *
 * A CSV of events in the order that they happened; a job is bulk-synchronous, so with fewer ranks
 * than it asked for it counts nothing:
 *
 *     job,event,time_s,ranks
 *     ,capacity,0,16           the fleet has so many ranks from now on; the first, if any
 *     first,submit,0,8         the job asks for so many, and queues until it has them
 *     first,allocate,12.5,4    it has so many now: a part, all, or 0 when they are taken away
 *     first,allocate,20,8
 *     first,end,320,           it needs none any more; it may be submitted again
 *
 * Seconds count from any instant. Blank lines and lines that begin with # are skipped. What has not
 * ended at the last line counts up to its time.
 *
 * Scheduling goodput = rank-seconds in which jobs had all their ranks / rank-seconds of capacity.
 * Where the file tells no capacity, it is what jobs asked for while they did. */
#ifndef MINIPOD_RUNTIME_GOODPUT_FLEET_H
#define MINIPOD_RUNTIME_GOODPUT_FLEET_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/arena.h"
#include "kernels/base/status.h"

typedef struct pod_fleet_job { /* rank-seconds, but for queue_s */
    const char *name;
    double asked_s, together_s;
    double partial_s;   /* held while the others were missing */
    double queue_s;     /* seconds from its submits to the first time it was together, or its end */
    int64_t most_ranks; /* that it had together */
    double together_from_s, ended_s; /* NaN: never together; open at the file's last line */
} pod_fleet_job;

typedef struct pod_fleet {
    const char *path;
    int n_jobs;
    const pod_fleet_job *job; /* in the order of their first submit */
    bool has_capacity;        /* the file tells it */
    double capacity_s;        /* rank-seconds */
    double together_s, partial_s;
} pod_fleet;

/* Everything in the arena. E_IO; E_FORMAT naming file and line: an event that is none, a time that
 * goes back, a job submitted twice or never, more ranks than were asked for or than there are. */
POD_MUST pod_status pod_fleet_read(pod_arena *a, const char *path, pod_fleet *out);
/* The same of a text; `name` stands for the file in messages. `text` is changed. */
POD_MUST pod_status pod_fleet_parse(pod_arena *a, const char *name, char *text, pod_fleet *out);

const pod_fleet_job *pod_fleet_find(const pod_fleet *f, const char *name); /* NULL: none */

/* What a run's log tells of a job, which the file can be held against. */
typedef struct pod_fleet_run {
    const char *name;      /* of the run, for messages */
    int ranks;             /* at most */
    double begin_s, end_s; /* since 1970 */
    double used_s;         /* from ranks' first records to their last, summed over them */
    bool runs;             /* still: its end is not known */
} pod_fleet_run;

/* E_INVALID, naming file, job and run, where they cannot both be true: the run had more ranks, or
 * more time, than its job had together; or, where the file's times are seconds since 1970 (1e9 and
 * more), it began before or ended behind that; a job that is open at the last line, though the run
 * is over, counts up to there. A file has whole seconds at times: one is let pass. */
POD_MUST pod_status pod_fleet_check(const pod_fleet *f, const pod_fleet_job *j,
                                    const pod_fleet_run *r);

/* together / capacity; NaN where there was no time. */
double pod_fleet_goodput(const pod_fleet *f);

#endif
