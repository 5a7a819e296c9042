/* The plots of `minipod report`: each writes a script for gnuplot, or nothing where no run has anything
 * to draw, and answers which. */
#ifndef MINIPOD_BENCH_REPORT_PLOTS_H
#define MINIPOD_BENCH_REPORT_PLOTS_H

#include "bench/report.h"

typedef enum pod_report_plot {
    POD_PLOT_BY_TIME,
    POD_PLOT_BY_EPOCH,
    POD_PLOT_LOSS,
    POD_PLOT_STEP,
    POD_N_CURVES
} pod_report_plot;

/* A line a run. */
bool pod_report_plot_curves(const pod_report_run run[], int n, pod_report_plot which, FILE *to);
/* A bar a run: the phases of a step, or where all ranks' time went. */
bool pod_report_plot_stacks(const pod_report_run run[], int n, bool is_phases, FILE *to);

#endif
