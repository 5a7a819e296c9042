/* The messages of a run: lines by level, on rank 0 only, and a progress line.
 *
 * Results and information go to `out`, warnings and errors to `err`; each is one line. Progress
 * goes to `out` if that is a terminal, else to `err`, so that a file has results only. On a
 * terminal it is one line that is rewritten in place, with rate and time left; elsewhere an
 * occasional plain line. A log is a value, passed to the code that may print. The progress calls
 * allocate nothing, so a training step may call them. */
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
    FILE *out, *err;     /* NULL: prints nothing (ranks other than 0) */
    FILE *progress_to;   /* one of the two */
    pod_log_level level; /* the last level that is printed: POD_LOG_RESULT with --quiet */
    bool in_place;       /* progress is rewritten in place */
    bool progress;       /* progress is printed at all */
    pod_clock clock;
    pod_time shown, begun; /* when progress was last printed, and when the work began */
    const char *what, *unit;
    int64_t first, total;
    bool line_is_open;   /* the cursor is on a progress line */
    const char *command; /* command to name in errors, borrowed; NULL: none */
} pod_log;

/* Starts a log. `progress` is the value of the option: "auto" (in place on a terminal, through
 * mpirun too; none with `quiet`), "on" (in place in any case) or "off". Ranks other than 0 print
 * nothing, nor does a log without `out`. */
pod_log pod_log_start(int rank, FILE *out, FILE *err, const char *progress, bool quiet);

/* Prints one line and adds the newline. Errors are preceded by "minipod COMMAND: ", warnings by
 * "minipod: warning: ". */
void pod_log_say(pod_log *l, pod_log_level level, const char *fmt, ...) POD_PRINTF(3, 4);

/* Begins work of `total` units named `unit`, of which `first` are done already. The texts are
 * borrowed until pod_progress_end. */
void pod_progress_begin(pod_log *l, const char *what, const char *unit, int64_t first,
                        int64_t total);
/* Shows that `done` of `total` units are done; `note` ("loss 0.31") may be "". Cheap if it is too
 * early to print again. */
void pod_progress_at(pod_log *l, int64_t done, const char *note_fmt, ...) POD_PRINTF(3, 4);
void pod_progress_end(pod_log *l); /* removes the line */

/* Returns whether output to f appears on a terminal. Open MPI gives each rank a terminal of its
 * own, whatever mpirun's output is; so under mpirun the output of mpirun itself is checked. */
bool pod_is_terminal(FILE *f);

#endif
