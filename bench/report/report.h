/* The parts of `minipod report`: runs as they were read from their folders, and the page of them. */
#ifndef MINIPOD_BENCH_REPORT_REPORT_H
#define MINIPOD_BENCH_REPORT_REPORT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>

#include "kernels/base/arena.h"
#include "kernels/base/status.h"
#include "runtime/core/log.h"

typedef struct pod_report_curve { /* points of a line */
    const double *x, *y;
    int n;
} pod_report_curve;

typedef struct pod_report_part { /* of a whole that is drawn as a stack */
    const char *name;
    double share;
} pod_report_part;

typedef struct pod_report_run { /* in the arena that it was read into */
    const char *folder;
    cJSON *record; /* run.json */
    double target; /* NaN: none */
    double
        runtime_goodput; /* to the end of the job, where run.json was written before it; likewise */
    pod_report_curve by_time;          /* test accuracy against seconds */
    pod_report_curve by_epoch;         /* the same against epochs */
    pod_report_curve loss, step;       /* of the training batch, and milliseconds; against steps */
    pod_report_part *phase, *category; /* of a step; of all ranks' time */
    int n_phases, n_categories;
} pod_report_run;

/* What `minipod train --out` left: run.json, and steps.csv and goodput.json where they are there.
 * E_IO and E_FORMAT name the file. The caller closes `out`. */
POD_MUST pod_status pod_report_read(pod_arena *a, const char *folder, pod_report_run *out);
/* The same of the texts, of which the last two may be NULL. */
POD_MUST pod_status pod_report_parse(pod_arena *a, const char *folder, const char *record,
                                     const char *steps, const char *goodput, pod_report_run *out);

void pod_report_close(pod_report_run *r);

/* The results that the page shows: the i-th name, NULL behind the last; and a run's text, "-" where it
 * is not known. */
const char *pod_report_result_name(int i);
const char *pod_report_result(pod_arena *a, const pod_report_run *run, int i);
/* The text of a setting, likewise. */
const char *pod_report_setting(pod_arena *a, const pod_report_run *run, const char *name);

/* One HTML page that needs no other file: results side by side, settings that differ, and plots,
 * where gnuplot is installed. E_IO, E_WRITE. */
POD_MUST pod_status pod_report_write(pod_arena *a, const pod_report_run run[], int n,
                                     const char *path, pod_log *log);

/* ---- plots.c: scripts for gnuplot ---- */

typedef enum pod_report_plot {
    POD_PLOT_BY_TIME, /* a line a run */
    POD_PLOT_BY_EPOCH,
    POD_PLOT_LOSS,
    POD_PLOT_STEP,
    POD_PLOT_PHASES, /* a bar a run */
    POD_PLOT_CATEGORIES,
    POD_N_PLOTS
} pod_report_plot;

/* false: no run has anything to draw, and nothing is written. */
bool pod_report_plot_script(const pod_report_run run[], int n, pod_report_plot which, FILE *to);

#endif
