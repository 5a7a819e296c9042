/* The messages of a run: lines by level, on rank 0 only, and a progress line.
 *
 * Results and information go to `out`, warnings and errors to `err`; each is one line. Progress
 * goes to `out` only where that is a terminal, so that a file has results alone, else to `err`. On
 * a terminal it is one line that is rewritten in place, with rate and time left; elsewhere a plain
 * line now and then. A log is a value, passed to whoever may speak; the progress calls take no
 * memory, so a training step may call them. */
#ifndef MINIPOD_RUNTIME_CORE_LOG_H
#define MINIPOD_RUNTIME_CORE_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kernels/base/status.h"
#include "runtime/core/clock.h"

typedef enum pod_log_level {
    POD_LOG_ERROR,
    POD_LOG_WARNING,
    POD_LOG_RESULT,
    POD_LOG_INFO
} pod_log_level;

typedef struct pod_log {
    FILE *out, *err;     /* NULL: nothing is printed (the other ranks) */
    FILE *progress_to;   /* one of the two */
    pod_log_level level; /* what is above it is not printed: POD_LOG_RESULT is --quiet */
    bool in_place;       /* progress is rewritten in place */
    bool progress;       /* progress is printed at all */
    pod_clock clock;
    pod_time shown, begun; /* when progress was last printed, and since when the work goes on */
    const char *what, *unit;
    int64_t first, total;
    bool line_is_open;   /* a progress line stands where the next text goes */
    const char *command; /* whose errors these are, borrowed; NULL: the program's */
} pod_log;

/* `progress` is the option's value: "auto", "on" (in place, whatever it goes to) or "off". Auto
 * asks whether it goes to a terminal, through mpirun too. A rank other than 0 is silent, and one
 * without an `out`. */
pod_log pod_log_start(int rank, FILE *out, FILE *err, const char *progress, bool quiet);

/* One line; the newline is added. Errors are preceded by "minipod COMMAND: ", warnings by
 * "minipod: warning: ". */
void pod_log_say(pod_log *l, pod_log_level level, const char *fmt, ...) POD_PRINTF(3, 4);

/* Long work: `total` units named `unit`, of which `first` are done already. The texts are borrowed
 * until pod_progress_end. */
void pod_progress_begin(pod_log *l, const char *what, const char *unit, int64_t first,
                        int64_t total);
/* `done` counts from 0 like `total`; `note` ("loss 0.31") may be "". Cheap when it is too early to
 * print again. */
void pod_progress_at(pod_log *l, int64_t done, const char *note_fmt, ...) POD_PRINTF(3, 4);
void pod_progress_end(pod_log *l); /* takes the line away */

/* Returns whether output to f appears on a terminal. Open MPI gives each rank a terminal of its
 * own, whatever mpirun's output is; so under mpirun it is mpirun's that counts. */
bool pod_is_terminal(FILE *f);

#endif
