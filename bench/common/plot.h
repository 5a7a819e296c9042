/* Plots by gnuplot, if it is installed. */
#ifndef MINIPOD_BENCH_COMMON_PLOT_H
#define MINIPOD_BENCH_COMMON_PLOT_H

#include <stdbool.h>
#include <stdio.h>

#include "runtime/core/log.h"

/* Writes to `to` what gnuplot draws from the script, which must not name an output. Without gnuplot
 * writes nothing and sets *is_installed to false. Fails with E_IO if gnuplot fails or draws
 * nothing. */
POD_MUST pod_status pod_plot_draw(const char *script, FILE *to, bool *is_installed);

/* Draws the script that `print` prints for `what`, which must not name an output, into the result
 * file `path`, which is complete or absent afterwards. Without gnuplot logs a note and returns
 * POD_OK. Fails with E_IO if gnuplot fails or draws nothing, and with E_WRITE if the file is not
 * written in full. */
POD_MUST pod_status pod_plot_print(void (*print)(const void *what, FILE *to), const void *what,
                                   const char *path, pod_log *log);

/* The range of the values along an axis: starts empty, and pod_plot_span_add extends it by each
 * finite value. */
typedef struct pod_plot_span {
    double low, high;
} pod_plot_span;
pod_plot_span pod_plot_span_start(void);
void pod_plot_span_add(pod_plot_span *s, double value);
/* Sets the range of the axis, 'x' or 'y', if all values are equal, because gnuplot would warn then;
 * otherwise gnuplot chooses the range. */
void pod_plot_range(FILE *to, char axis, bool is_log, pod_plot_span s);

/* Writes `text` in gnuplot's single quotes to `out`, and returns `out`. */
const char *pod_plot_quote(const char *text, char *out, size_t bytes);

#endif
