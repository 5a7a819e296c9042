/* What `minipod goodput` knows of each run, and of runs taken together. */
#ifndef MINIPOD_BENCH_GOODPUT_GOODPUT_H
#define MINIPOD_BENCH_GOODPUT_GOODPUT_H

#include "bench/common/table.h"
#include "runtime/goodput/account.h"
#include "runtime/goodput/advice.h"
#include "runtime/goodput/fleet.h"

#define N_COLUMNS(list) ((int)(sizeof(list) / sizeof((list)[0])))

/* ---- a run ---- */

typedef struct pod_program_terms {  /* of program goodput, from run.json; NaN: not known */
    double goodput;                 /* of all kept steps: ideal_s / what they took */
    double ideal_s;                 /* rank-seconds that they would ideally take */
    double ideal_step_s, step_s;    /* of one on the last mesh: ideally; the median */
    double model_flops, flop_per_s; /* of a step; of all cores at work */
    const char *why;                /* not known; NULL where it is */
    const char *machine;            /* NULL: not known */
    int cores;                      /* that any ranks of this job had, at most; 0: not known */
} pod_program_terms;

/* What a run did on one mesh: all that its attempts there did. One that left no record counts with
 * the last attempt's mesh. */
typedef struct pod_mesh_part {
    const char *mesh; /* as one line */
    pod_account sum;  /* attempts, disruptions, wall, unsaved, by_span; all else is the run's */
    double ideal_s;   /* as of pod_program_terms; nothing where those are not known */
} pod_mesh_part;

enum { POD_N_WINDOWS = 4 };
extern const int pod_window_s[POD_N_WINDOWS]; /* 0: the whole job */

typedef struct pod_run_account {
    const char *name;         /* as it was given */
    const char *job_name;     /* the folder's own, as a scheduler knows it */
    const char *model, *mesh; /* of the last attempt, as one line */
    const pod_mesh_part *on;  /* (n_meshes), in the order of their first attempt */
    int n_meshes;
    pod_job job;
    pod_stamp now; /* 0: it is over */
    pod_account sum;
    pod_saves saves;
    int64_t n_redone_steps; /* that an earlier attempt had done */
    pod_program_terms program;
    const pod_fleet_job *scheduled; /* NULL: not known */
    const char *why_not_scheduled;
    pod_stragglers pace;
    pod_deviation deviation;
    pod_account window[POD_N_WINDOWS]; /* the last ones; begin == end where the job is shorter */
    pod_advice advice[POD_MAX_ADVICE];
    int n_advice;
} pod_run_account;

/* The run's folder, all but its scheduling; everything in the arena. E_IO, E_FORMAT, E_INVALID. */
POD_MUST pod_status pod_run_account_read(pod_arena *a, const char *dir, pod_run_account *out);
/* Then what the fleet, which may be NULL, knows of it. E_INVALID where it contradicts the log. */
POD_MUST pod_status pod_run_account_schedule(pod_arena *a, const pod_fleet *fleet,
                                             pod_run_account *r);

/* ---- runs together ---- */

typedef enum pod_goodput_by { POD_BY_RUN, POD_BY_MODEL, POD_BY_MESH, POD_BY_PHASE } pod_goodput_by;

/* Rank-seconds of some runs; each factor's denominator is, where all of it is known, the numerator
 * of the one before. */
typedef struct pod_goodput_sum {
    const char *name;
    int n_runs, n_scheduled, n_modelled; /* modelled: whose program goodput is known */
    int n_attempts, n_disruptions;
    double asked_s, together_s; /* of the scheduled ones */
    double wall_s, productive_s;
    double modelled_s; /* productive time of the modelled ones */
    double ideal_s;    /* what their kept steps would ideally take */
    double by_span_s[POD_N_JOB_SPANS];
    bool is_fleet;     /* its scheduling is of jobs that are no run here, too */
    bool has_no_steps; /* of a phase that does not train: runtime goodput has no meaning */
    bool awaits_save;  /* none of its runs has saved anything yet */
} pod_goodput_sum;

/* Into out (pod_goodput_max_sums): a group each in the order of their first run, then all of them,
 * if there is more than one group. Of all, scheduling is the fleet's where there is one. A run whose
 * attempts were on several meshes is in the group of each with what it did there; what a scheduler
 * tells of is of the whole run, so of such a part it is not known. Answers how many. */
int pod_goodput_max_sums(const pod_run_account *run, int n);
int pod_goodput_sums(const pod_run_account *run, int n, const pod_fleet *fleet, pod_goodput_by by,
                     pod_goodput_sum *out);

typedef struct pod_goodput_factors { /* NaN: not known */
    double scheduling, runtime, program, all;
} pod_goodput_factors;
pod_goodput_factors pod_goodput_factors_of(const pod_goodput_sum *s);

/* ---- what is shown and left ---- */

typedef struct pod_goodput_report {
    const pod_run_account *run;
    int n_runs;
    const pod_goodput_sum *sum;
    int n_sums;
    const char *by;         /* the option's value */
    const pod_fleet *fleet; /* NULL: none */
} pod_goodput_report;

/* The fleet's jobs; attempts, windows, stragglers and advice of one run: parts of what
 * pod_goodput_print prints. */
POD_MUST pod_status pod_goodput_print_fleet(const pod_fleet *f, FILE *to);
POD_MUST pod_status pod_goodput_print_run(const pod_run_account *run, FILE *to);
POD_MUST pod_status pod_goodput_print(const pod_goodput_report *r, FILE *to);
/* Factors and categories, a row a group. */
POD_MUST pod_status pod_goodput_write_csv(const pod_goodput_report *r, const char *path);
/* All of it, and each run's categories in equal parts of its time. */
POD_MUST pod_status pod_goodput_write_json(const pod_goodput_report *r, const char *path);
/* For node-exporter's collector of text files. */
POD_MUST pod_status pod_goodput_write_prometheus(const pod_goodput_report *r, const char *path);
/* Categories over the time of one run, by gnuplot. */
POD_MUST pod_status pod_goodput_plot(const pod_run_account *run, const char *path, pod_log *log);

/* "#rrggbb" of a category there. */
const char *pod_goodput_color(pod_job_span s);

/* What `minipod goodput --help` says of the figures. */
void pod_goodput_help(FILE *to);

#endif
