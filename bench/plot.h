/* Plots by gnuplot, where it is installed. */
#ifndef MINIPOD_BENCH_PLOT_H
#define MINIPOD_BENCH_PLOT_H

#include "runtime/core/log.h"

/* Runs the script, which names its own output. Without gnuplot: a note on the log, and POD_OK. E_IO
 * when gnuplot fails. */
POD_MUST pod_status pod_plot(const char *script, pod_log *log);

/* `text` as gnuplot quotes it, in single quotes, into `out`; returns `out`. */
const char *pod_plot_quote(const char *text, char *out, size_t bytes);

#endif
