/* The parts of `minipod mlperf`: reads the records of runs that are scored together, trains missing
 * runs, and writes the score. The score is MLPerf-style, open division, unverified: it is not an
 * MLPerf result, and every output says so next to the score. */
#ifndef MINIPOD_BENCH_REPORT_MLPERF_H
#define MINIPOD_BENCH_REPORT_MLPERF_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/arena.h"
#include "kernels/base/status.h"
#include "runtime/config/config.h"
#include "runtime/core/log.h"
#include "runtime/goodput/score.h"

#define POD_MLPERF_CLAIM "MLPerf-style, open division, unverified: not an MLPerf result"

typedef struct pod_mlperf_option { /* of run.json's settings */
    const char *name, *value;
} pod_mlperf_option;

typedef struct pod_mlperf_run { /* in the arena of the read */
    const char *folder;
    const char *log; /* all of mllog.txt */
    int64_t seed;
    bool was_stopped; /* before its end; fields from the log are not set */
    bool has_reached;
    double run_s;         /* from run_start to run_stop of mllog.txt */
    const char *metric;   /* "accuracy"; the target's */
    double epochs, value; /* of the last evaluation; value: the metric's */
    double target;
    int ranks;
    const char *model, *data, *mesh, *host, *git;
    pod_mlperf_option *option; /* options that must be the same in all runs */
    int n_options;
} pod_mlperf_run;

/* Reads a run from the folder of `minipod train --out`. E_IO and E_FORMAT name the file; E_INVALID
 * if the run had no target, or resumed from another run. */
POD_MUST pod_status pod_mlperf_read(pod_arena *a, const char *folder, pod_mlperf_run *out);
/* Likewise from the texts of run.json and mllog.txt, which must outlive `out`. */
POD_MUST pod_status pod_mlperf_parse(pod_arena *a, const char *folder, const char *record,
                                     const char *log, pod_mlperf_run *out);
/* Fails with E_INVALID if a run was stopped, differs from the first in its ranks or options, or has
 * the seed of an earlier one. */
POD_MUST pod_status pod_mlperf_check_alike(const pod_mlperf_run run[], int n);
/* Fails with E_INVALID if the run's options differ from those of `train` with this seed. */
POD_MUST pod_status pod_mlperf_check_settings(const pod_mlperf_run *run, const pod_config *train,
                                              int64_t seed);

/* Returns whether its data are synthetic, and so depend on the seed. */
bool pod_mlperf_has_made_data(const pod_mlperf_run *run);

/* Trains n times with the command in the arguments of `c`, each into its own folder in --out;
 * finished runs in --out are kept. Stops after *n_done runs if a run fails or is stopped
 * (*exit_code is then set), or if too many runs missed their target for a score. */
POD_MUST pod_status pod_mlperf_train(const pod_config *c, pod_log *log, const pod_clock *clock,
                                     pod_arena *a, pod_mlperf_run run[], int n, int *n_done,
                                     int *exit_code);

/* Prints the table, and writes the files for --csv, --json and --out. */
POD_MUST pod_status pod_mlperf_report(const pod_config *c, pod_log *log, const pod_mlperf_run run[],
                                      const pod_score *score);

#endif
