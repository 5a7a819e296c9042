/* goodput.json while training goes on: rank 0 rewrites it from the step loop, once a second at
 * most, so that a reader always finds a whole one that is about a second old (older during an
 * evaluation).
 *
 * Of rank 0 alone, all attempts. Productive are the steps that a checkpoint keeps; those that none
 * keeps yet are in the category too, and apart as unsaved_time_s. Beside the keys of goodput.h:
 * "attempt", "step", "kept_step"; "interval_goodput", the runtime goodput of the last 60, 300 and
 * 900 s, to the second; "step_time_usual_s", the median of the last 1,000 steps, "step_time_p90_s",
 * of the last 100, and "step_time_deviation", how much longer that is (straggler.h). The first step
 * of an attempt is in neither; what it takes beyond a usual one is start-up. */
#ifndef MINIPOD_RUNTIME_GOODPUT_GOODPUT_LIVE_H
#define MINIPOD_RUNTIME_GOODPUT_GOODPUT_LIVE_H

#include "runtime/goodput/goodput.h"

typedef struct pod_goodput_live pod_goodput_live;

typedef struct pod_goodput_live_plan {
    const char *path, *clock, *machine; /* of goodput.json; borrowed */
    const char *dir; /* the run's folder, whose job log has this attempt's record; "": no log */
    int attempt;
    pod_ideal ideal; /* its median_step_s is not read */
} pod_goodput_live_plan;

/* Before the first step, behind pod_job_from. Takes all memory; reads what earlier attempts left. A
 * log of theirs that cannot be accounted for is none: "earlier_attempts_note" says why. E_IO,
 * E_NOMEM. */
POD_MUST pod_status pod_goodput_live_open(const pod_goodput_live_plan *plan, const pod_job_log *l,
                                          pod_goodput_live **out);
/* Behind each step, between spans. A failure to write is kept for close. NULL takes nothing. */
void pod_goodput_live_at(pod_goodput_live *v, const pod_job_log *l, pod_stamp at);
/* Writes nothing: at its end the job replaces the file by the final one. Returns the first error of
 * pod_goodput_live_at: E_IO, E_WRITE. NULL is allowed. */
POD_MUST pod_status pod_goodput_live_close(pod_goodput_live *v);

#endif
