/* The plots of `minipod report`, as scripts for gnuplot. */
#ifndef MINIPOD_BENCH_REPORT_PLOTS_H
#define MINIPOD_BENCH_REPORT_PLOTS_H

#include "bench/report/report.h"

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
