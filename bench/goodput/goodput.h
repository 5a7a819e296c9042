/* The data of `minipod goodput`: accounts of single runs, and sums over runs. */
#ifndef MINIPOD_BENCH_GOODPUT_GOODPUT_H
#define MINIPOD_BENCH_GOODPUT_GOODPUT_H

#include "bench/common/table.h"
#include "runtime/goodput/account.h"
#include "runtime/goodput/advice.h"
#include "runtime/goodput/fleet.h"

#define N_COLUMNS(list) ((int)(sizeof(list) / sizeof((list)[0])))

/* ---- a run ---- */

typedef struct pod_program_terms {  /* terms of program goodput, from run.json; NaN: unknown */
    double goodput;                 /* of all kept steps: ideal_s / their time */
    double ideal_s;                 /* ideal time of these steps, rank-seconds */
    double ideal_step_s, step_s;    /* of a step on the last mesh: ideal; median */
    double model_flops, flop_per_s; /* of a step; peak of all cores at work */
    const char *why;                /* why it is unknown; NULL if it is known */
    const char *machine;            /* NULL: unknown */
    int cores;                      /* most cores that an attempt had; 0: unknown */
} pod_program_terms;

/* A run's part on one mesh: the sum over its attempts there. An attempt without a record counts as
 * one on the last attempt's mesh. */
typedef struct pod_mesh_part {
    const char *mesh; /* as one line */
    pod_account sum;  /* attempts, disruptions, wall, unsaved, by_span; other fields: the run's */
    double ideal_s;   /* as in pod_program_terms; 0 if those are unknown */
} pod_mesh_part;

enum { POD_N_WINDOWS = 4 };
extern const int pod_window_s[POD_N_WINDOWS]; /* 0: the whole job */

typedef struct pod_run_account {
    const char *name;         /* as on the command line */
    const char *job_name;     /* the folder's last component: the name in --jobs */
    const char *model, *mesh; /* of the last attempt, as one line */
    const pod_mesh_part *on;  /* (n_meshes), in the order of their first attempt */
    int n_meshes;
    pod_job job;
    pod_stamp now; /* 0: the job has ended */
    pod_account sum;
    pod_saves saves;
    int64_t n_redone_steps; /* steps that an earlier attempt had also done */
    pod_program_terms program;
    const pod_fleet_job *scheduled; /* NULL: unknown */
    const char *why_not_scheduled;
    pod_stragglers pace;
    pod_deviation deviation;
    pod_account window[POD_N_WINDOWS]; /* the last seconds; begin == end if the job is shorter */
    pod_advice advice[POD_MAX_ADVICE];
    int n_advice;
} pod_run_account;

/* Reads all but the scheduling from the run's folder into the arena. Fails with E_IO, E_FORMAT or
 * E_INVALID. */
POD_MUST pod_status pod_run_account_read(pod_arena *a, const char *dir, pod_run_account *out);
/* Adds the scheduling that the fleet (may be NULL) records for the run. Fails with E_INVALID if it
 * contradicts the log. */
POD_MUST pod_status pod_run_account_schedule(pod_arena *a, const pod_fleet *fleet,
                                             pod_run_account *r);

/* ---- runs together ---- */

typedef enum pod_goodput_by { POD_BY_RUN, POD_BY_MODEL, POD_BY_MESH, POD_BY_PHASE } pod_goodput_by;

/* Rank-seconds of some runs. If all is known, the denominator of each factor is the numerator of
 * the factor before. */
typedef struct pod_goodput_sum {
    const char *name;
    int n_runs, n_scheduled, n_modelled; /* modelled: runs whose program goodput is known */
    int n_attempts, n_disruptions;
    double asked_s, together_s; /* of scheduled runs */
    double wall_s, productive_s;
    double modelled_s; /* productive time of modelled runs */
    double ideal_s;    /* ideal time of their kept steps */
    double by_span_s[POD_N_JOB_SPANS];
    bool is_fleet;     /* its scheduling includes jobs that are none of these runs */
    bool has_no_steps; /* a phase that does not train: it has no runtime goodput */
    bool awaits_save;  /* none of its runs has saved anything yet */
} pod_goodput_sum;

/* Writes the groups to `out` (pod_goodput_max_sums), in the order of their first runs, and then the
 * sum of all, if there is more than one group; returns their number. If there is a fleet, the sum
 * of all has the fleet's scheduling. A run with attempts on several meshes is in the group of each
 * with its part there; the scheduling of such a part is unknown, because a scheduler records whole
 * runs. */
int pod_goodput_max_sums(const pod_run_account *run, int n);
int pod_goodput_sums(const pod_run_account *run, int n, const pod_fleet *fleet, pod_goodput_by by,
                     pod_goodput_sum *out);

typedef struct pod_goodput_factors { /* NaN: unknown */
    double scheduling, runtime, program, all;
} pod_goodput_factors;
pod_goodput_factors pod_goodput_factors_of(const pod_goodput_sum *s);

/* ---- output ---- */

typedef struct pod_goodput_report {
    const pod_run_account *run;
    int n_runs;
    const pod_goodput_sum *sum;
    int n_sums;
    const char *by;         /* the option's value */
    const pod_fleet *fleet; /* NULL: none */
} pod_goodput_report;

/* Print parts of the output of pod_goodput_print: the fleet's jobs; attempts, windows, stragglers
 * and advice of one run. */
POD_MUST pod_status pod_goodput_print_fleet(const pod_fleet *f, FILE *to);
POD_MUST pod_status pod_goodput_print_run(const pod_run_account *run, FILE *to);
POD_MUST pod_status pod_goodput_print(const pod_goodput_report *r, FILE *to);
/* Writes factors and categories, a row per group. */
POD_MUST pod_status pod_goodput_write_csv(const pod_goodput_report *r, const char *path);
/* Writes everything, including each run's categories in equal slices of its time. */
POD_MUST pod_status pod_goodput_write_json(const pod_goodput_report *r, const char *path);
/* Writes metrics for node-exporter's textfile collector. */
POD_MUST pod_status pod_goodput_write_prometheus(const pod_goodput_report *r, const char *path);
/* Plots the categories over the time of one run, by gnuplot. */
POD_MUST pod_status pod_goodput_plot(const pod_run_account *run, const char *path, pod_log *log);

/* Returns the category's colour in the plot, "#rrggbb". */
const char *pod_goodput_color(pod_job_span s);

/* Prints the part of `minipod goodput --help-all` that explains the figures. */
void pod_goodput_help(FILE *to);

#endif
