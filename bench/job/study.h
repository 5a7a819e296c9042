/* simulate --job: simulates a long job on nodes that fail, for many seeds, intervals between
 * checkpoints, and meshes or numbers of nodes. */
#ifndef MINIPOD_BENCH_JOB_STUDY_H
#define MINIPOD_BENCH_JOB_STUDY_H

#include "bench/command.h"
#include "bench/job/keys.h"
#include "collectives/mesh/mesh.h"
#include "runtime/config/config.h"
#include "runtime/core/log.h"
#include "runtime/machine/machine.h"
#include "runtime/study/job_model.h"
#include "runtime/study/job_sim.h"

enum { POD_JOB_MAX_POINTS = 64, POD_JOB_MAX_RUNS = 64 };

/* The jobs of all seeds with one interval. The factors are computed from sums over these jobs, as
 * for a fleet: runtime = time of kept steps / time allocated, scheduling = time allocated / time
 * requested. */
typedef struct pod_job_run {
    int64_t every; /* steps between saves */
    double interval_s;
    int64_t n_finished;
    double by_span_s[POD_N_JOB_SPANS], allocated_s, waiting_s; /* means over jobs */
    double n_failures, n_kept, n_lost, n_saves;
    double runtime, scheduling;       /* NaN: the jobs had no time */
    double runtime_95, scheduling_95; /* half of the 95 % confidence interval */
    double least, mean, most;         /* of the runtime goodput of single jobs */
    double expected; /* runtime goodput in closed form, for failures at a constant rate */
} pod_job_run;

typedef struct pod_job_point {
    char mesh[POD_MESH_TEXT_BYTES]; /* "": --job has step= */
    int cores;                      /* 0: unknown */
    int n_nodes;                    /* nodes that the job needs */
    int64_t batch, n_steps;
    double step_s, ideal_step_s; /* ideal: NaN if unknown */
    double mtbf_s;               /* of the whole job; 0: it never fails */
    double bytes, save_s, write_s, restore_s;
    double start_up_s;                 /* from --start-up or the machine file; 0: unknown */
    double init_s, compile_s;          /* at each start */
    double young_s, daly_s, best_s;    /* best intervals by formula */
    pod_job_run run[POD_JOB_MAX_RUNS]; /* by interval */
    int n_runs, best;
} pod_job_point;

typedef struct pod_job_study {
    pod_job_keys keys;
    char machine[POD_MACHINE_TEXT_BYTES]; /* "": --job has step= */
    const char *model;
    bool is_async, is_exact; /* is_exact: the closed form is exact for these failures */
    double watchdog_s;
    pod_fault fault[POD_MAX_FAULTS]; /* faults injected at a step */
    int n_faults;
    uint64_t struck;        /* bit i: fault i happened in some job */
    double mtbf_h;          /* of a node */
    const char *trace_path; /* NULL: failures are drawn */
    pod_fault_trace trace;
    int trace_nodes;
    pod_job_point point[POD_JOB_MAX_POINTS];
    int n_points;
    int64_t n_simulated; /* simulated failures */
    double wall_s; /* this host's time to simulate the jobs, without the simulation of a step */
} pod_job_study;

/* Returns the seconds from the detection of a failure to the first step, without the restore. */
double pod_job_study_start_s(const pod_job_study *s, const pod_job_point *x);

/* Returns the runtime goodput in closed form with `every` steps between saves. */
double pod_job_study_expected(const pod_job_study *s, const pod_job_point *x, int64_t every);

/* ---- parts of it ---- */

/* Fills in all of a study except its runs: how nodes fail, and the times of a step and a checkpoint
 * for each mesh or number of nodes. Fails with E_INVALID, E_FORMAT or E_IO. */
POD_MUST pod_status pod_job_points_list(const pod_config *c, pod_arena *arena, pod_job_study *s);

/* Prints the job and its intervals if there is one point, else a row per point; writes the same
 * rows to `csv` ("": none). */
POD_MUST pod_status pod_job_print(const pod_job_study *s, FILE *to, const char *csv);
POD_MUST pod_status pod_job_write_json(const pod_job_study *s, const char *path);
/* Plots runtime goodput by interval, with the values of the formulas, to the SVG file `path`. */
POD_MUST pod_status pod_job_plot(const pod_job_study *s, const char *path, pod_log *log);

/* Runs simulate --job: prints and writes the study for the settings. */
POD_MUST pod_status pod_simulate_job(pod_call *call);

#endif
