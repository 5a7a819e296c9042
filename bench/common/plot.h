/* Plots by gnuplot, where it is installed. */
#ifndef MINIPOD_BENCH_COMMON_PLOT_H
#define MINIPOD_BENCH_COMMON_PLOT_H

#include <stdbool.h>
#include <stdio.h>

#include "runtime/core/log.h"

/* What the script, which names no output, draws, into `to`; without gnuplot nothing, which is said.
 * E_IO when gnuplot fails or draws nothing. */
POD_MUST pod_status pod_plot_draw(const char *script, FILE *to, bool *is_installed);

/* Draws what `print` prints of `what`, a script that names no output: a file of results, whole or not
 * there. Without gnuplot: a note on the log, and POD_OK. E_IO when gnuplot fails or draws nothing,
 * E_WRITE where the file is not written in full. */
POD_MUST pod_status pod_plot_print(void (*print)(const void *what, FILE *to), const void *what,
                                   const char *path, pod_log *log);

/* The values along an axis. Begins with pod_plot_span_start, takes each that is finite. */
typedef struct pod_plot_span {
    double low, high;
} pod_plot_span;
pod_plot_span pod_plot_span_start(void);
void pod_plot_span_add(pod_plot_span *s, double value);
/* Sets the range of the axis, 'x' or 'y', where all values are one, of which gnuplot would warn;
 * elsewhere it finds its own. */
void pod_plot_range(FILE *to, char axis, bool is_log, pod_plot_span s);

/* `text` as gnuplot quotes it, in single quotes, into `out`; returns `out`. */
const char *pod_plot_quote(const char *text, char *out, size_t bytes);

#endif
