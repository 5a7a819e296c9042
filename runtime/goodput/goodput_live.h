/* Writes goodput.json during training. Rank 0 replaces the file after a step, at most once a
 * second, by a rename, so a reader always finds a complete file. It is about a second old, or as
 * old as a step or an evaluation takes.
 *
 * It describes rank 0 alone, over all attempts. Productive are the steps that a checkpoint has.
 * Steps that none has yet are in that category too, and also in unsaved_time_s. Keys in addition to
 * those of goodput.h: "attempt", "step", "kept_step"; "interval_goodput", the runtime goodput of
 * the last 60, 300 and 900 s, to the second; "step_time_usual_s", the median of the last 1,000
 * steps; "step_time_p90_s", the 90th percentile of the last 100; and "step_time_deviation", the
 * ratio of the two minus 1 (straggler.h). The first step of an attempt is in none of them; its time
 * beyond a usual step is PROGRAM_STARTUP. */
#ifndef MINIPOD_RUNTIME_GOODPUT_GOODPUT_LIVE_H
#define MINIPOD_RUNTIME_GOODPUT_GOODPUT_LIVE_H

#include "runtime/goodput/goodput.h"

typedef struct pod_goodput_live pod_goodput_live;

typedef struct pod_goodput_live_plan {
    const char *path, *clock, *machine; /* for goodput.json; borrowed */
    const char *dir; /* the run's folder, whose job log has a record of this attempt; "": no log */
    int attempt;
    pod_ideal ideal; /* median_step_s is not used */
} pod_goodput_live_plan;

/* Call it before the first step, after pod_job_from. Allocates all memory and reads the log of
 * earlier attempts; if that cannot be accounted, they are ignored and "earlier_attempts_note" says
 * why. E_IO, E_NOMEM. */
POD_MUST pod_status pod_goodput_live_open(const pod_goodput_live_plan *plan, const pod_job_log *l,
                                          pod_goodput_live **out);
/* Call it after each step, between spans. pod_goodput_live_close reports failures. Does nothing if
 * v is NULL. */
void pod_goodput_live_at(pod_goodput_live *v, const pod_job_log *l, pod_stamp at);
/* Releases v and returns the first error of pod_goodput_live_at: E_IO, E_WRITE. Writes nothing: the
 * job replaces the file by the final one at its end. NULL is allowed. */
POD_MUST pod_status pod_goodput_live_close(pod_goodput_live *v);

#endif
