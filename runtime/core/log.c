#include "runtime/core/log.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A line that is longer than the terminal is wide ends at its edge: of a wrapped one, only the last
 * part could be taken away. */
#define NO_WRAP "\033[?7l"
#define WRAP    "\033[?7h"

enum { TROUBLE_BYTES = 4096 }; /* of an error or a warning, which is one line */

static const pod_time second_ps = 1000000000000;

bool pod_is_terminal(FILE *f)
{
    if (!getenv("OMPI_COMM_WORLD_RANK")) return isatty(fileno(f));
    /* mpirun is the parent of the ranks on its own machine; elsewhere it is a daemon without a
     * terminal. */
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)getppid(), fileno(f));
    int fd = open(path, O_WRONLY | O_NOCTTY);
    if (fd < 0) return false;
    bool yes = isatty(fd);
    close(fd);
    return yes;
}

/* Returns whether a line can be overwritten there; some terminals cannot. */
static bool can_write_over(FILE *f)
{
    const char *kind = getenv("TERM");
    return pod_is_terminal(f) && kind && kind[0] && strcmp(kind, "dumb") != 0;
}

pod_log pod_log_start(int rank, FILE *out, FILE *err, const char *progress, bool quiet)
{
    pod_log l = {.level = quiet ? POD_LOG_RESULT : POD_LOG_INFO, .clock = pod_clock_start()};
    if (rank != 0 || !out) return l;
    l.out = out;
    l.err = err;
    /* Output may go to a file, where progress has no place. */
    l.progress_to = pod_is_terminal(out) ? out : err;
    l.in_place = strcmp(progress, "on") == 0 ||
                 (strcmp(progress, "auto") == 0 && !quiet && can_write_over(l.progress_to));
    l.progress = strcmp(progress, "on") == 0 || (strcmp(progress, "auto") == 0 && !quiet);
    return l;
}

static void take_line_away(pod_log *l)
{
    if (!l->line_is_open) return;
    fputs("\r\033[K", l->progress_to);
    fflush(l->progress_to);
    l->line_is_open = false;
}

void pod_log_say(pod_log *l, pod_log_level level, const char *fmt, ...)
{
    if (!l->out || level > l->level) return;
    take_line_away(l);
    const bool is_trouble = level <= POD_LOG_WARNING;
    FILE *to = is_trouble ? l->err : l->out;
    if (is_trouble) {
        fflush(l->out);
        const bool is_error = level == POD_LOG_ERROR, has_command = is_error && l->command;
        fprintf(to, "minipod%s%s: %s", has_command ? " " : "", has_command ? l->command : "",
                is_error ? "" : "warning: ");
    }
    va_list args;
    va_start(args, fmt);
    if (is_trouble) {
        char text[TROUBLE_BYTES];
        vsnprintf(text, sizeof text, fmt, args);
        pod_line_flatten(text);
        fputs(text, to);
    } else {
        vfprintf(to, fmt, args);
    }
    va_end(args);
    fputc('\n', to);
    fflush(to);
}

void pod_progress_begin(pod_log *l, const char *what, const char *unit, int64_t first,
                        int64_t total)
{
    l->begun = l->shown = pod_clock_now(&l->clock);
    l->what = what;
    l->unit = unit;
    l->first = first;
    l->total = total;
}

/* "3h05m", "12m07s", "41s" */
static void print_duration(double seconds, char *text, size_t bytes)
{
    const int64_t s = seconds < 1e9 ? (int64_t)(seconds + 0.5) : 999999999;
    if (s >= 3600)
        snprintf(text, bytes, "%" PRId64 "h%02dm", s / 3600, (int)(s / 60 % 60));
    else if (s >= 60)
        snprintf(text, bytes, "%dm%02ds", (int)(s / 60), (int)(s % 60));
    else
        snprintf(text, bytes, "%ds", (int)s);
}

void pod_progress_at(pod_log *l, int64_t done, const char *note_fmt, ...)
{
    if (!l->out || !l->progress) return;
    const pod_time now = pod_clock_now(&l->clock);
    if (now - l->shown < (l->in_place ? second_ps / 10 : 10 * second_ps)) return;
    l->shown = now;
    char note[96], left[32] = "?";
    va_list args;
    va_start(args, note_fmt);
    vsnprintf(note, sizeof note, note_fmt, args);
    va_end(args);
    const double rate = (double)(done - l->first) / pod_time_seconds(now - l->begun);
    if (rate > 0) print_duration((double)(l->total - done) / rate, left, sizeof left);
    take_line_away(l);
    FILE *const to = l->progress_to;
    if (l->in_place) fputs(NO_WRAP, to);
    fprintf(to, "%s %" PRId64 "/%" PRId64 " %s  %.4g %s/s  %s left%s%s", l->what, done, l->total,
            l->unit, rate, l->unit, left, note[0] ? "  " : "", note);
    l->line_is_open = l->in_place;
    fputs(l->in_place ? WRAP : "\n", to);
    fflush(to);
}

void pod_progress_end(pod_log *l)
{
    if (l->out) take_line_away(l);
}
