/* The parts of `minipod mlperf`: runs to be scored together, read from what they left, and the record
 * of it. MLPerf-style, open division, unverified: nothing here is an MLPerf result, which every text
 * says beside its score. */
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

typedef struct pod_mlperf_run { /* in the arena that it was read into */
    const char *folder;
    const char *log; /* all of mllog.txt */
    int64_t seed;
    bool was_stopped; /* before its end: what is of the log is not known */
    bool has_reached;
    double run_s;            /* from run_start to run_stop of mllog.txt */
    double epochs, accuracy; /* of its last evaluation */
    double target;
    int ranks;
    const char *model, *data, *mesh, *host, *git;
    pod_mlperf_option *option; /* what must be the same in all runs */
    int n_options;
} pod_mlperf_run;

/* A run that `minipod train --out` left. E_IO and E_FORMAT name the file; E_INVALID: it was to reach
 * no target, or went on from another run. */
POD_MUST pod_status pod_mlperf_read(pod_arena *a, const char *folder, pod_mlperf_run *out);
/* The same of the texts of its run.json and mllog.txt, which are borrowed as long as `out`. */
POD_MUST pod_status pod_mlperf_parse(pod_arena *a, const char *folder, const char *record,
                                     const char *log, pod_mlperf_run *out);
/* E_INVALID where a run was stopped, differs from the first in more than its seed, or has that of
 * an earlier one. */
POD_MUST pod_status pod_mlperf_check_alike(const pod_mlperf_run run[], int n);
/* E_INVALID where it is not what `train` would do with this seed. */
POD_MUST pod_status pod_mlperf_check_settings(const pod_mlperf_run *run, const pod_config *train,
                                              int64_t seed);

/* Whether its data were drawn from its seed. */
bool pod_mlperf_has_made_data(const pod_mlperf_run *run);

/* Trains n times with the command that the arguments of `c` are, each into a folder of its own in
 * --out; those that are there already are left as they are. Ends after *n_done where a run fails or
 * is asked to stop, whose *exit_code that is, or where too many missed their target for a score. */
POD_MUST pod_status pod_mlperf_train(const pod_config *c, pod_log *log, const pod_clock *clock,
                                     pod_arena *a, pod_mlperf_run run[], int n, int *n_done,
                                     int *exit_code);

/* The table, and where --csv, --json and --out ask for them the same as files. */
POD_MUST pod_status pod_mlperf_report(const pod_config *c, pod_log *log, const pod_mlperf_run run[],
                                      const pod_score *score);

#endif
