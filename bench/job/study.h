/* simulate --job: a long job on nodes that fail, over many seeds, intervals between checkpoints,
 * and meshes or numbers of nodes. */
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

/* Jobs with one interval, of all seeds. The factors are those of their time taken together, as a
 * fleet's are: time of kept steps / time allocated / time asked for. */
typedef struct pod_job_run {
    int64_t every; /* steps between saves */
    double interval_s;
    int64_t n_finished;
    double by_span_s[POD_N_JOB_SPANS], allocated_s, waiting_s; /* means of a job */
    double n_failures, n_kept, n_lost, n_saves;
    double runtime, scheduling;       /* NaN: no time */
    double runtime_95, scheduling_95; /* half of the interval that holds 95 % */
    double least, mean, most;         /* runtime goodput of single jobs */
    double expected; /* runtime goodput in closed form, failures at a constant rate */
} pod_job_run;

typedef struct pod_job_point {
    char mesh[POD_MESH_TEXT_BYTES]; /* "": the step was given */
    int cores;                      /* 0: not known */
    int n_nodes;                    /* that the job needs */
    int64_t batch, n_steps;
    double step_s, ideal_step_s; /* ideal: NaN where not known */
    double mtbf_s;               /* of the job; 0: it never fails */
    double bytes, save_s, write_s, restore_s;
    double start_up_s;                 /* by --start-up or the machine's file; 0: not known */
    double init_s, compile_s;          /* of a start */
    double young_s, daly_s, best_s;    /* intervals by formula */
    pod_job_run run[POD_JOB_MAX_RUNS]; /* by interval */
    int n_runs, best;
} pod_job_point;

typedef struct pod_job_study {
    pod_job_keys keys;
    char machine[POD_MACHINE_TEXT_BYTES]; /* "": the step was given */
    const char *model;
    bool is_async, is_exact; /* is_exact: what is expected holds for just these failures */
    double watchdog_s;
    pod_fault fault[POD_MAX_FAULTS]; /* that strike at a step */
    int n_faults;
    uint64_t struck;        /* a bit a fault: it did, in any job */
    double mtbf_h;          /* of a node */
    const char *trace_path; /* NULL: failures are drawn */
    pod_fault_trace trace;
    int trace_nodes;
    pod_job_point point[POD_JOB_MAX_POINTS];
    int n_points;
    int64_t n_simulated; /* failures */
    double wall_s;       /* this host's time for the jobs, without their steps */
} pod_job_study;

/* Seconds from a failure that is known to the first step; without what is restored. */
double pod_job_study_start_s(const pod_job_study *s, const pod_job_point *x);

/* Runtime goodput in closed form with so many steps between saves. */
double pod_job_study_expected(const pod_job_study *s, const pod_job_point *x, int64_t every);

/* ---- parts of it ---- */

/* What is asked for: how nodes fail, and what a step and a checkpoint take at each mesh or number of
 * nodes; all of a study but its runs. E_INVALID, E_FORMAT, E_IO. */
POD_MUST pod_status pod_job_points_list(const pod_config *c, pod_arena *arena, pod_job_study *s);

/* Of one point its job and its intervals, of several a row each; `csv` ("": none) has the
 * intervals, or the points. */
POD_MUST pod_status pod_job_print(const pod_job_study *s, FILE *to, const char *csv);
POD_MUST pod_status pod_job_write_json(const pod_job_study *s, const char *path);
/* Runtime goodput against the interval, and what the formulas say: path is the SVG to write. */
POD_MUST pod_status pod_job_plot(const pod_job_study *s, const char *path, pod_log *log);

/* simulate --job: prints and writes the study that the settings ask for. */
POD_MUST pod_status pod_simulate_job(pod_call *call);

#endif
