#include "bench/launch/next.h"

#include "bench/command.h"

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
