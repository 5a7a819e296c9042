/* Reads jobs from files: minipod's own CSV, and traces of other clusters. */
#ifndef MINIPOD_RUNTIME_FLEET_JOBS_JOBS_H
#define MINIPOD_RUNTIME_FLEET_JOBS_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/arena.h"
#include "runtime/core/clock.h"

typedef struct pod_fleet_entry { /* a text that the file lacks is "", a number 0 */
    const char *name;
    int line;          /* of the file */
    const char *group; /* in a trace the virtual cluster, else the machine */
    const char *model, *phase;
    const char *outcome; /* what became of it where it ran: completed, failed, cancelled, ... */
    pod_stamp submit;    /* since an origin that the file chooses */
    int64_t chips;
    int shape[3]; /* of its slice, in chips; 0 0 0: any shape with this many */
    int priority;
    int64_t n_steps;    /* 0: unknown */
    pod_stamp run;      /* training time without failures, saves and starts; 0: not known */
    pod_stamp estimate; /* its owner's, of `run`; 0: exact */
    double ideal_share; /* program goodput of its steps; NaN: not known */
    int64_t bytes;      /* of a checkpoint */
    int64_t min_chips;  /* of an elastic job; 0: the job is not elastic */
    int64_t batch;      /* of `model`, whose step is then simulated; 0: `run` gives the time */
} pod_fleet_entry;

typedef struct pod_fleet_jobs {
    const char *file; /* for messages */
    int n;
    const pod_fleet_entry *entry; /* in the order of `submit`, then of the file */
    int n_skipped;                /* jobs of a trace without chips or run time */
    bool is_foreign; /* a trace of another cluster: run times include starts and saves */
} pod_fleet_jobs;

/* Reads `what`, "FILE" or "FORMAT:FILE", into the arena. E_IO; E_FORMAT, naming file and line, for
 * a missing column, a malformed or negative number, a text with a comma, quote or line break, and
 * jobs out of order in a format that is ordered; E_INVALID for an unknown format. */
POD_MUST pod_status pod_fleet_jobs_read(pod_arena *a, const char *what, pod_fleet_jobs *out);
/* The same for a text, which is modified; `name` replaces the file in messages. */
POD_MUST pod_status pod_fleet_jobs_parse(pod_arena *a, const char *format, const char *name,
                                         char *text, pod_fleet_jobs *out);

/* ---- one reader per format ---- */

typedef struct pod__jobs_list { /* as it is read */
    pod_arena *arena;
    pod_fleet_entry *entry;
    int n, n_skipped;
} pod__jobs_list;

POD_MUST pod_status pod__jobs_add(pod__jobs_list *l, const pod_fleet_entry *e);
POD_MUST pod_status pod__jobs_sort(pod__jobs_list *l); /* by time, then as they were added */

#define POD_JOBS_FORMAT(name, about) \
    pod_status pod__jobs_read_##name(pod__jobs_list *l, const char *file, char *text);
#include "runtime/fleet/jobs/jobs.def"

#endif
