#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "bench/command.h"
#include "bench/launch/launch.h"

/* ---- who died ---- */

/* "mpirun noticed that process rank 3 with PID 0 on node a exited on signal 9 (Killed)."; from Open
 * MPI 5 on it is prterun, and the line ends behind "exited on". */
static bool scan_banner(const char *line, pod_launch_heard *h, int *rank, int *signal)
{
    static const char on[] = " exited on";
    const int before = h->n_noticed - 1;
    h->n_noticed = 0;
    if (before >= 0 && sscanf(line, "signal %3d", signal) == 1) {
        *rank = before;
        return true;
    }
    const char *at = strstr(line, "noticed that process rank ");
    const char *behind = at ? strstr(at, on) : NULL;
    if (!behind || sscanf(at, "noticed that process rank %7d", rank) != 1 || *rank < 0)
        return false;
    behind += sizeof on - 1;
    if (*behind == '\0') h->n_noticed = 1 + *rank;
    return sscanf(behind, " signal %3d", signal) == 1;
}

/* "rank 0: rank 3 died; rank 0 was waiting for rank 3 in allreduce ring 1M #17" */
static bool scan_missed(const char *line, int *rank)
{
    int who, length = 0;
    return sscanf(line, "rank %7d: rank %7d died%n", &who, rank, &length) == 2 && length > 0;
}

/* "rank 0: rank 3 did not arrive in allreduce ring 1M #17, step 5, for 2 s: ending the job" */
static void scan_overdue(const char *line, pod_launch_heard *h)
{
    int who, length = 0;
    const char *end = strstr(line, ": ending the job");
    if (!end || !strstr(line, " did not arrive in ") || h->overdue[0] != '\0') return;
    if (sscanf(line, "rank %7d: %n", &who, &length) != 1 || length == 0 || line + length >= end)
        return;
    snprintf(h->overdue, sizeof h->overdue, "%.*s", (int)(end - line) - length, line + length);
}

/* Options, hosts and slots: what another time makes no better. */
static bool scan_refusal(const char *line)
{
    static const char *const words[] = {
        "Error: unknown option ",
        "An unrecognized option was included on the ",
        " does not match the expected format",
        "The specified mapping policy is not recognized",
        "directive is not recognized",
        "There are not enough slots available in the system",
        "was unable to open the hostfile",
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr(line, words[i])) return true;
    return false;
}

void pod_launch_scan(const char *line, pod_launch_heard *h)
{
    int rank = -1, signal = 0;
    scan_overdue(line, h);
    h->refused = h->refused || scan_refusal(line);
    if (!scan_banner(line, h, &rank, &signal) && !scan_missed(line, &rank)) return;
    if (rank < 0 || signal < 0) return;
    if (h->rank < 0) h->rank = rank;
    if (h->rank == rank && h->signal == 0) h->signal = signal;
    if (h->rank != rank && signal > 0) h->is_other = true;
}

void pod_launch_hear_exit(int exit_code, pod_launch_heard *h)
{
    if (h->rank >= 0 && h->signal == 0 && !h->is_other) h->signal = pod_launch_signal_of(exit_code);
}

pod_launch_scanner pod_launch_scanner_start(void)
{
    return (pod_launch_scanner){.heard = {.rank = -1}};
}

void pod_launch_scanner_feed(pod_launch_scanner *s, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] == '\n') {
            s->line[s->n] = '\0';
            pod_launch_scan(s->line, &s->heard);
            s->n = 0;
        } else if (bytes[i] != '\0' && s->n + 1 < sizeof s->line) { /* Open MPI 5 prints some */
            s->line[s->n++] = bytes[i];
        }
    }
}

/* ---- what is said ---- */

static const char *tell_death(pod_arena *a, const char *launcher, const pod_launch_outcome *o)
{
    const char *why = o->lacked_memory
                          ? ", as memory ran out (--data-cache, --batch and the number "
                            "of ranks say how much they take)"
                          : "";
    if (o->heard.rank >= 0 && o->heard.signal > 0)
        return pod_arena_text(a, "rank %d was killed by signal %d%s", o->heard.rank,
                              o->heard.signal, o->heard.signal == SIGKILL ? why : "");
    if (o->heard.rank >= 0)
        return pod_arena_text(a, "rank %d died (no signal is known)%s", o->heard.rank, why);
    if (o->launcher_signal > 0)
        return pod_arena_text(a, "%s was killed by signal %d%s", launcher, o->launcher_signal, why);
    return pod_arena_text(a, "a rank was killed by signal %d%s", pod_launch_signal_of(o->exit_code),
                          why);
}

const char *pod_launch_what(pod_arena *a, pod_launch_reason reason, const char *launcher,
                            const pod_launch_outcome *o, const char *failure)
{
    switch (reason) {
    case POD_LAUNCH_OK: return "";
    case POD_LAUNCH_STOPPED: return "stopped as it was asked to";
    case POD_LAUNCH_KILLED: return tell_death(a, launcher, o);
    case POD_LAUNCH_HUNG:
        if (o->heard.overdue[0] != '\0') return pod_arena_text(a, "%s", o->heard.overdue);
        return pod_arena_text(a, "no rank's log grew for %.1f s", o->quiet_s);
    case POD_LAUNCH_MISSED: return "came to its end and missed its target";
    case POD_LAUNCH_USAGE:
    case POD_LAUNCH_UNSTARTED:
    case POD_LAUNCH_FAILED: break;
    }
    return pod_arena_text(a, "ended with exit code %d%s%s", o->exit_code, failure[0] ? ": " : "",
                          failure);
}

const char *pod_launch_tell(pod_arena *a, const char *what, const pod_launch_outcome *o,
                            int64_t step)
{
    const double seconds = pod_stamp_seconds(o->end - o->begin);
    if (step == 0)
        return pod_arena_text(a, "%s; it took %.1f s and ended before its first step", what,
                              seconds);
    return pod_arena_text(a, "%s; it took %.1f s, to step %" PRId64, what, seconds, step);
}

/* ---- what follows ---- */

static const double max_pause_s = 60;

const char *pod_launch_reason_text(pod_launch_reason r)
{
    static const char *const texts[] = {
#define POD_X(name, text) text,
        POD_LAUNCH_REASON_MAP(POD_X)
#undef POD_X
    };
    return texts[r];
}

/* What is ended as hung may come to its end in that moment. That its ranks say then that they were
 * asked to stop is the launcher's doing. */
static bool was_hung(const pod_launch_seen *s)
{
    return s->hung && !(s->finished && s->exit_code == POD_EXIT_OK);
}

/* A rank that hangs keeps the others from stopping: the watchdog ended what could not save. */
static bool lost_the_stop(const pod_launch_seen *s)
{
    return s->hung && !s->is_saved && s->exit_code != POD_EXIT_OK;
}

static pod_launch_reason reason_of(const pod_launch_seen *s)
{
    if (s->asked_to_stop && !s->finished)
        return lost_the_stop(s) ? POD_LAUNCH_HUNG : POD_LAUNCH_STOPPED;
    if (was_hung(s)) return POD_LAUNCH_HUNG;
    if (s->exit_code == POD_EXIT_OK) return s->stopped ? POD_LAUNCH_STOPPED : POD_LAUNCH_OK;
    if (s->exit_code == POD_EXIT_USAGE || s->refused) return POD_LAUNCH_USAGE;
    if (s->killed) return POD_LAUNCH_KILLED;
    if (s->stopped) return POD_LAUNCH_STOPPED;
    if (s->finished) return POD_LAUNCH_MISSED;
    return s->unstarted ? POD_LAUNCH_UNSTARTED : POD_LAUNCH_FAILED;
}

/* Whether it can be begun again after such an end. Killed behind its last step it may not have
 * written its results. */
static bool can_go_on(pod_launch_reason r)
{
    return r == POD_LAUNCH_HUNG || r == POD_LAUNCH_KILLED || r == POD_LAUNCH_FAILED;
}

static double next_pause(const pod_launch_seen *s)
{
    const double pause_s = s->pause_s > 0 && !s->progressed ? 2 * s->pause_s : s->first_pause_s;
    return pause_s < max_pause_s ? pause_s : max_pause_s;
}

pod_launch_next pod_launch_decide(const pod_launch_seen *s)
{
    pod_launch_next next = {.reason = reason_of(s), .exit_code = POD_EXIT_FAILED};
    if (can_go_on(next.reason)) {
        next.again = !s->asked_to_stop && s->restarts_left > 0;
        next.pause_s = next.again ? next_pause(s) : 0;
    } else if (next.reason == POD_LAUNCH_USAGE) {
        next.exit_code = POD_EXIT_USAGE;
    } else if (s->exit_code == POD_EXIT_OK || s->exit_code == POD_EXIT_USAGE) {
        next.exit_code = s->exit_code;
    } else if (next.reason == POD_LAUNCH_STOPPED && s->asked_to_stop && s->is_saved) {
        next.exit_code = POD_EXIT_OK;
    }
    return next;
}
