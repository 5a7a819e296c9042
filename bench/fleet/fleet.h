/* What `minipod fleet` simulates, and what came of it. */
#ifndef MINIPOD_BENCH_FLEET_FLEET_H
#define MINIPOD_BENCH_FLEET_FLEET_H

#include "bench/command.h"
#include "bench/fleet/steps.h"
#include "bench/job/keys.h"
#include "runtime/fleet/fleet_sim.h"
#include "runtime/fleet/jobs/jobs.h"

enum { POD_FLEET_KINDS = 8, POD_FLEET_CLASSES = 4, POD_FLEET_SEGMENTS = 64 };

typedef struct pod_fleet_kind { /* pods that are alike, and the jobs that go to them */
    pod_topology topology;
    int n_pods, n_jobs;
    pod_fleet_request *request;
    const pod_fleet_entry **entry;
    double *ideal_share; /* of a step, as it is simulated; NaN: not known */
    pod_fleet_result result;
    pod_fleet_outcome *warm; /* (n_jobs), at the end of the warm-up; NULL: there is none */
    pod_ledger warm_ledger;
} pod_fleet_kind;

typedef struct pod_fleet_study {
    const pod_config *config;
    pod_fleet_steps *steps; /* borrowed */
    pod_fleet_kind kind[POD_FLEET_KINDS];
    int n_kinds;
    pod_fleet_jobs jobs;
    const char *jobs_path; /* as it was given */
    pod_fleet_policy policy;
    pod_fleet_faults faults;
    pod_stamp warm_up, horizon; /* figures are of the time between */
    uint64_t seed;
    pod_job_keys keys;
    bool starts_and_saves; /* jobs do; else they are nothing but their run time */
    bool is_async;
    double interval_s; /* between checkpoints; 0: by formula */
    double load;
    int protected_class; /* instead of policy.protected_chips; -1: none */
    bool holds_spare;    /* by the lever `spare` */
    bool hides;          /* collectives, by the lever `overlap` */
    bool has_weeks;      /* they are the segments */
    pod_stamp *mark;     /* sums.c */
    int n_marks, n_weeks;
    struct pod_fleet_segment *week; /* (n_weeks + 1), sums up to the begin of each */
    int64_t n_late; /* jobs that are submitted behind the horizon, and not simulated */
} pod_fleet_study;

typedef enum pod_fleet_lever {
#define POD_LEVER(name, about) POD_LEVER_##name,
#include "bench/fleet/levers.def"
    POD_N_LEVERS
} pod_fleet_lever;

/* ---- settings.c ---- */

typedef struct pod_fleet_case {
    const pod_config *config;
    pod_fleet_steps *steps; /* borrowed */
    uint64_t seed;
    uint32_t levers;              /* a bit each */
    const pod_fleet_entry *asked; /* one more job, `submit` from the begin; NULL: none */
} pod_fleet_case;

/* The settings of the command: pods and jobs, each job with the pods that it goes to. In the arena.
 * E_INVALID, E_FORMAT, E_IO. */
POD_MUST pod_status pod_fleet_study_of(const pod_fleet_case *x, pod_arena *a, pod_fleet_study *out);
/* ---- plans.c: what each job does ---- */

typedef struct pod_fleet_behaviour {
    pod_job_sim_plan plan;
    double ideal_share;
} pod_fleet_behaviour;

enum { POD_FLEET_NAME_BYTES = 512 };
/* "jobs.csv:3: job 'a'", for messages; returns `name`. */
const char *pod_fleet_name_of(const pod_fleet_study *s, const pod_fleet_entry *e,
                              char name[POD_FLEET_NAME_BYTES]);

/* Reads --job, --interval, --checkpoint, --mtbf and --faults-from. E_INVALID, E_IO, E_FORMAT. */
POD_MUST pod_status pod_fleet_read_behaviour(pod_fleet_study *s, pod_arena *a);
/* E_INVALID naming file and line; and as pod_fleet_step_find does. */
POD_MUST pod_status pod_fleet_behaviour_of(const pod_fleet_study *s, const pod_fleet_entry *e,
                                           const pod_topology *t, int n_cells,
                                           pod_fleet_behaviour *out);

/* ---- levers.c ---- */

void pod_fleet_pull(pod_fleet_study *s, uint32_t levers); /* before its jobs are made */
void pod_fleet_levers_help(FILE *to);
POD_MUST pod_status pod_fleet_levers(pod_call *call);

/* ---- crew.c: runs on threads ---- */

enum { /* what is kept of a run, of 1 */
       POD_FLEET_SCHEDULING,
       POD_FLEET_RUNTIME,
       POD_FLEET_PROGRAM,
       POD_FLEET_GOODPUT,
       POD_FLEET_OF_CLASS, /* scheduling goodput of each class */
       POD_FLEET_ONCE_STARTED = POD_FLEET_OF_CLASS + POD_FLEET_CLASSES,
       POD_FLEET_VALUES = POD_FLEET_ONCE_STARTED + POD_FLEET_CLASSES
};

typedef struct pod_fleet_figures {
    double value[POD_FLEET_VALUES]; /* NaN: there is none */
} pod_fleet_figures;

typedef struct pod_fleet_runs {
    const pod_config *config;
    pod_fleet_steps *steps;
    const uint32_t *set; /* (n_sets), of levers */
    int n_sets, n_seeds;
    uint64_t seed;          /* the first */
    pod_fleet_figures *out; /* (n_sets, n_seeds) */
} pod_fleet_runs;

/* Runs each set with each seed, on a thread per core; shows the progress. Fails as the first run that
 * does. */
POD_MUST pod_status pod_fleet_run_all(const pod_fleet_runs *r, pod_log *log);

/* ---- segments.c: sums over jobs, in chip-hours and hours ---- */

/* The class of a job by its share of a pod: below 1/64 (of TPU v4, a cube), 1/8, 1/2. */
int pod_fleet_class(const pod_topology *t, int64_t chips);
int64_t pod_fleet_class_begin(const pod_topology *t, int class); /* its fewest chips */
const char *pod_fleet_class_name(int class);

typedef struct pod_fleet_segment {
    char name[48];
    double share; /* of the time counted, of a week; else 1 */
    int64_t n_jobs, n_started, n_ended;
    int64_t n_waiting; /* for their first start, at the end */
    int64_t n_failures, n_evictions, n_moves;
    double asked_h; /* from submission to end, waits included */
    double together_h, partial_h;
    double rewait_h;            /* of asked: waits after the first start */
    double productive_h;        /* steps that were kept, or may be still */
    double ideal_h;             /* NaN: not known of all */
    double wait_h[POD_N_WAITS]; /* hours of jobs, not chip-hours; before their first start */
    /* Waits before the first start, in hours, of those that started; NaN: none did. */
    double mean_h, p50_h, p90_h, p99_h, max_h;
} pod_fleet_segment;

/* All jobs, then those of each segment: by size from small to large, else in the order of names. What
 * there is no room for is one segment, "others". E_NOMEM. */
POD_MUST pod_status pod_fleet_segments(const pod_fleet_study *s, pod_arena *a,
                                       pod_fleet_segment out[POD_FLEET_SEGMENTS + 1], int *n);

/* ---- sums.c: all between the end of the warm-up and the horizon ---- */

/* Simulates all kinds; `logs`: with their events and stays; shows the progress unless `log` is NULL. */
POD_MUST pod_status pod_fleet_study_run(pod_fleet_study *s, pod_arena *a, bool logs, pod_log *log);
/* The plan of a kind without marks and logs. */
void pod_fleet_plan_of(const pod_fleet_study *s, int kind, pod_fleet_plan *out);

double pod_chip_hours(pod_chip_ns x);
/* Sums have no spread of waits. */
void pod_fleet_add_job(const pod_fleet_study *s, const pod_fleet_kind *k, int i,
                       pod_fleet_segment *g);
void pod_fleet_sum(const pod_fleet_study *s, pod_fleet_segment *out); /* of all jobs */
void pod_fleet_sum_classes(const pod_fleet_study *s, pod_fleet_segment out[POD_FLEET_CLASSES]);
void pod_fleet_week(const pod_fleet_study *s, int i, pod_fleet_segment *out); /* from 0 */
void pod_fleet_ledger(const pod_fleet_study *s, pod_ledger *out);             /* of all kinds */
/* Allocated over asked for, and over that after the first start. NaN: nothing was. */
double pod_fleet_scheduling(const pod_fleet_segment *g);
double pod_fleet_scheduling_once_started(const pod_fleet_segment *g);

/* ---- ask.c ---- */

POD_MUST pod_status pod_fleet_ask(const pod_call *call, pod_arena *a);

/* ---- tables.c, files.c, timeline.c, plot.c ---- */

POD_MUST pod_status pod_fleet_report(const pod_fleet_study *s, pod_arena *a, pod_log *log);
/* events.csv, which `goodput --jobs` reads, and jobs.csv. */
POD_MUST pod_status pod_fleet_write_files(const pod_fleet_study *s, const char *folder);

/* timeline.json in the folder, for Perfetto; of a run with logs. */
POD_MUST pod_status pod_fleet_write_timeline(const pod_fleet_study *s, pod_arena *a,
                                             const char *folder);
/* Plots who held the pods to an SVG file; likewise. */
POD_MUST pod_status pod_fleet_plot(const pod_fleet_study *s, pod_arena *a, const char *path,
                                   pod_log *log);

/* ---- cmd_fleet.c ---- */

void pod_fleet_help(FILE *to); /* the files that --jobs reads, and what is printed */

/* ---- validate.c ---- */

POD_MUST pod_status pod_fleet_validate(pod_call *call, bool *held);

#endif
