/* The parts of `minipod report`: reads runs from their folders, and writes the page. */
#ifndef MINIPOD_BENCH_REPORT_REPORT_H
#define MINIPOD_BENCH_REPORT_REPORT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>

#include "kernels/base/arena.h"
#include "kernels/base/status.h"
#include "runtime/core/log.h"

typedef struct pod_report_curve { /* the points of a line */
    const double *x, *y;
    int n;
} pod_report_curve;

typedef struct pod_report_part { /* one share of a stacked bar */
    const char *name;
    double share;
} pod_report_part;

typedef struct pod_report_run { /* in the arena of the read */
    const char *folder;
    cJSON *record;               /* run.json */
    const char *metric;          /* the name of the first one */
    double target;               /* NaN: none */
    double runtime_goodput;      /* of the whole job, from goodput.json if it is newer; NaN: none */
    pod_report_curve by_time;    /* the metric of the test set by seconds */
    pod_report_curve by_epoch;   /* the same by epochs */
    pod_report_curve loss, step; /* training loss; milliseconds; by step */
    pod_report_part *phase, *category; /* shares of a step; of all ranks' time */
    int n_phases, n_categories;
} pod_report_run;

/* Reads a folder of `minipod train --out`: run.json, and steps.csv and goodput.json if they exist.
 * E_IO and E_FORMAT name the file. The caller closes `out`. */
POD_MUST pod_status pod_report_read(pod_arena *a, const char *folder, pod_report_run *out);
/* Likewise from texts; the last two may be NULL. */
POD_MUST pod_status pod_report_parse(pod_arena *a, const char *folder, const char *record,
                                     const char *steps, const char *goodput, pod_report_run *out);

void pod_report_close(pod_report_run *r);

/* The results that the page shows: return the i-th name (NULL after the last), and its text for a
 * run ("-" if unknown). */
const char *pod_report_result_name(int i);
const char *pod_report_result(pod_arena *a, const pod_report_run *run, int i);
/* Returns the text of a setting, likewise. */
const char *pod_report_setting(pod_arena *a, const pod_report_run *run, const char *name);

/* ---- fleet.c: a folder of `minipod fleet --out` ---- */

typedef struct pod_report_fleet {
    const char *folder;
    cJSON *record;       /* fleet.json */
    const char *picture; /* occupancy.svg, in the arena of the read; NULL: there is none */
} pod_report_fleet;

bool pod_report_is_fleet(const char *folder); /* whether it has a fleet.json */
/* E_IO and E_FORMAT name the file. The caller deletes the record. */
POD_MUST pod_status pod_report_fleet_read(pod_arena *a, const char *folder, pod_report_fleet *out);
POD_MUST pod_status pod_report_fleet_parse(const char *path, const char *text, cJSON **out);
void pod_report_fleet_put(const pod_report_fleet *f, FILE *to);

typedef struct pod_report_content {
    const pod_report_run *run;
    const pod_report_fleet *fleet;
    int n_runs, n_fleets;
} pod_report_content;

/* Writes one HTML page that needs no other file: results side by side, settings that differ, plots
 * if gnuplot is installed, and a section for each fleet. Fails with E_IO or E_WRITE. */
POD_MUST pod_status pod_report_write(pod_arena *a, const pod_report_content *x, const char *path,
                                     pod_log *log);
void pod_report_put_text(FILE *to, const char *text); /* as HTML */

/* ---- plots.c: scripts for gnuplot ---- */

typedef enum pod_report_plot {
    POD_PLOT_BY_TIME, /* a line per run */
    POD_PLOT_BY_EPOCH,
    POD_PLOT_LOSS,
    POD_PLOT_STEP,
    POD_PLOT_PHASES, /* a bar per run */
    POD_PLOT_CATEGORIES,
    POD_N_PLOTS
} pod_report_plot;

/* Writes the script of a plot; returns false, and writes nothing, if no run has data for it. */
bool pod_report_plot_script(const pod_report_run run[], int n, pod_report_plot which, FILE *to);

#endif
