/* The input and the results of `minipod fleet`. */
#ifndef MINIPOD_BENCH_FLEET_FLEET_H
#define MINIPOD_BENCH_FLEET_FLEET_H

#include "bench/command.h"
#include "bench/fleet/steps.h"
#include "bench/job/keys.h"
#include "runtime/fleet/fleet_sim.h"
#include "runtime/fleet/jobs/jobs.h"

enum { POD_FLEET_KINDS = 8, POD_FLEET_CLASSES = 4, POD_FLEET_SEGMENTS = 64 };

typedef struct pod_fleet_kind { /* pods of one topology, and their jobs */
    pod_topology topology;
    int n_pods, n_jobs;
    pod_fleet_request *request;
    const pod_fleet_entry **entry;
    double *ideal_share; /* (n_jobs): ideal time of a step / its time; NaN: unknown */
    pod_fleet_result result;
    pod_fleet_outcome *warm; /* (n_jobs), at the end of the warm-up; NULL: no warm-up */
    pod_ledger warm_ledger;
} pod_fleet_kind;

typedef struct pod_fleet_study {
    const pod_config *config;
    pod_fleet_steps *steps; /* borrowed */
    pod_fleet_kind kind[POD_FLEET_KINDS];
    int n_kinds;
    pod_fleet_jobs jobs;
    const char *jobs_path; /* as given in --jobs or --mix */
    pod_fleet_policy policy;
    pod_fleet_faults faults;
    pod_stamp warm_up, horizon; /* the results are of the time between them */
    uint64_t seed;
    pod_job_keys keys;
    bool starts_and_saves; /* false: a job is only its run time, without starts and saves */
    bool is_async;
    double interval_s; /* between checkpoints; 0: the best one by formula */
    double load;
    int protected_class; /* sets policy.protected_chips for each kind; -1: it does not */
    bool holds_spare;    /* the lever `spare` is on */
    bool hides;          /* the lever `overlap` is on: collectives are hidden */
    bool has_weeks;      /* --segments week */
    pod_stamp *mark;     /* (n_marks): ends of the warm-up and of weeks */
    int n_marks, n_weeks;
    struct pod_fleet_segment *week; /* (n_weeks + 1): sums up to the begin of week i, and of all */
    int64_t n_late; /* jobs that are submitted after the horizon, and not simulated */
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
    uint32_t levers;              /* one bit per pod_fleet_lever */
    const pod_fleet_entry *asked; /* one more job, its `submit` counted from time 0; NULL: none */
} pod_fleet_case;

/* Creates the study from the settings: the pods, and for each kind of pods its jobs. In the arena.
 * E_INVALID, E_FORMAT, E_IO. */
POD_MUST pod_status pod_fleet_study_of(const pod_fleet_case *x, pod_arena *a, pod_fleet_study *out);
/* ---- plans.c: the steps, starts and saves of each job ---- */

typedef struct pod_fleet_behaviour {
    pod_job_sim_plan plan;
    double ideal_share;
} pod_fleet_behaviour;

enum { POD_FLEET_NAME_BYTES = 512 };
/* Writes "jobs.csv:3: job 'a'" to `name`, for messages; returns `name`. */
const char *pod_fleet_name_of(const pod_fleet_study *s, const pod_fleet_entry *e,
                              char name[POD_FLEET_NAME_BYTES]);

/* Reads --job, --interval, --checkpoint, --mtbf and --faults-from. E_INVALID, E_IO, E_FORMAT. */
POD_MUST pod_status pod_fleet_read_behaviour(pod_fleet_study *s, pod_arena *a);
/* Finds what the job does on a slice of n_cells cells. E_INVALID, naming file and line; and as
 * pod_fleet_step_find. */
POD_MUST pod_status pod_fleet_behaviour_of(const pod_fleet_study *s, const pod_fleet_entry *e,
                                           const pod_topology *t, int n_cells,
                                           pod_fleet_behaviour *out);

/* ---- levers.c ---- */

void pod_fleet_pull(pod_fleet_study *s, uint32_t levers); /* call it before jobs are added */
void pod_fleet_levers_help(FILE *to);
POD_MUST pod_status pod_fleet_levers(pod_call *call);

/* ---- crew.c: runs on threads ---- */

enum { /* results of a run, as fractions of 1 */
       POD_FLEET_SCHEDULING,
       POD_FLEET_RUNTIME,
       POD_FLEET_PROGRAM,
       POD_FLEET_GOODPUT,
       POD_FLEET_OF_CLASS, /* scheduling goodput of each class */
       POD_FLEET_ONCE_STARTED = POD_FLEET_OF_CLASS + POD_FLEET_CLASSES,
       POD_FLEET_VALUES = POD_FLEET_ONCE_STARTED + POD_FLEET_CLASSES
};

typedef struct pod_fleet_figures {
    double value[POD_FLEET_VALUES]; /* NaN: unknown */
} pod_fleet_figures;

typedef struct pod_fleet_runs {
    const pod_config *config;
    pod_fleet_steps *steps;
    const uint32_t *set; /* (n_sets) sets of levers */
    int n_sets, n_seeds;
    uint64_t seed;          /* the first of n_seeds consecutive ones */
    pod_fleet_figures *out; /* (n_sets, n_seeds) */
} pod_fleet_runs;

/* Runs each set with each seed, on one thread per core; shows the progress. Fails with the error of
 * the first run that fails. */
POD_MUST pod_status pod_fleet_run_all(const pod_fleet_runs *r, pod_log *log);

/* ---- segments.c: sums over jobs, in chip-hours and hours ---- */

/* Returns the size class of a job by its share of a pod: below 1/64 (one cube of a TPU v4), below
 * 1/8, below 1/2, or more. */
int pod_fleet_class(const pod_topology *t, int64_t chips);
int64_t pod_fleet_class_begin(const pod_topology *t, int class); /* fewest chips of the class */
const char *pod_fleet_class_name(int class);

typedef struct pod_fleet_segment {
    char name[48];
    double share; /* of a week: its share of the time from warm-up to horizon */
    int64_t n_jobs, n_started, n_ended;
    int64_t n_waiting; /* jobs that wait for their first start at the horizon */
    int64_t n_failures, n_evictions, n_moves;
    double asked_h; /* chips requested x time from submission to end, waits included */
    double together_h, partial_h;
    double rewait_h;            /* the part of asked_h in waits after the first start */
    double productive_h;        /* steps that were not lost up to the horizon */
    double ideal_h;             /* ideal time of these steps; NaN: unknown for a job */
    double wait_h[POD_N_WAITS]; /* hours, not chip-hours, before first starts, by reason */
    /* Statistics of the wait before the first start, in hours, over jobs that were
     * submitted after the warm-up and have started; NaN: there are none. */
    double mean_h, p50_h, p90_h, p99_h, max_h;
} pod_fleet_segment;

/* Sets out[0] to the sums of all jobs, and the next elements to those of each segment of
 * --segments: sizes from small to large, priorities from high to low, weeks in order, other
 * segments by name. Segments beyond POD_FLEET_SEGMENTS are joined as "others". *n counts all.
 * E_NOMEM. */
POD_MUST pod_status pod_fleet_segments(const pod_fleet_study *s, pod_arena *a,
                                       pod_fleet_segment out[POD_FLEET_SEGMENTS + 1], int *n);

/* ---- sums.c: sums over the time between the end of the warm-up and the horizon ---- */

/* Simulates all kinds of pods; with `logs` the results have events and stays. Shows the progress
 * unless `log` is NULL. */
POD_MUST pod_status pod_fleet_study_run(pod_fleet_study *s, pod_arena *a, bool logs, pod_log *log);
/* Sets *out to the plan of a kind, without marks and logs. */
void pod_fleet_plan_of(const pod_fleet_study *s, int kind, pod_fleet_plan *out);

double pod_chip_hours(pod_chip_ns x);
/* Adds job i of a kind to the sums of g; the statistics of waits are not set here. */
void pod_fleet_add_job(const pod_fleet_study *s, const pod_fleet_kind *k, int i,
                       pod_fleet_segment *g);
void pod_fleet_sum(const pod_fleet_study *s, pod_fleet_segment *out); /* of all jobs */
void pod_fleet_sum_classes(const pod_fleet_study *s, pod_fleet_segment out[POD_FLEET_CLASSES]);
void pod_fleet_week(const pod_fleet_study *s, int i, pod_fleet_segment *out); /* from 0 */
void pod_fleet_ledger(const pod_fleet_study *s, pod_ledger *out);             /* sum of all kinds */
/* Scheduling goodput: chip-time with all chips / chip-time requested. The second counts only
 * from each job's first start. NaN if nothing was requested. */
double pod_fleet_scheduling(const pod_fleet_segment *g);
double pod_fleet_scheduling_once_started(const pod_fleet_segment *g);

/* ---- ask.c ---- */

POD_MUST pod_status pod_fleet_ask(const pod_call *call, pod_arena *a);

/* ---- tables.c, files.c, timeline.c, plot.c ---- */

POD_MUST pod_status pod_fleet_report(const pod_fleet_study *s, pod_arena *a, pod_log *log);
/* Writes events.csv, which `goodput --jobs` reads, and jobs.csv to the folder. */
POD_MUST pod_status pod_fleet_write_files(const pod_fleet_study *s, const char *folder);

/* Writes timeline.json, for Perfetto, to the folder. The study must have been run with `logs`. */
POD_MUST pod_status pod_fleet_write_timeline(const pod_fleet_study *s, pod_arena *a,
                                             const char *folder);
/* Plots over time which jobs held the pods, to an SVG file; likewise. */
POD_MUST pod_status pod_fleet_plot(const pod_fleet_study *s, pod_arena *a, const char *path,
                                   pod_log *log);

/* ---- cmd_fleet.c ---- */

void pod_fleet_help(FILE *to); /* describes the formats of --jobs, and the output */

/* ---- validate.c ---- */

POD_MUST pod_status pod_fleet_validate(pod_call *call, bool *held);

#endif
