/* sim: a program on a machine that need not exist, on its virtual clock. No data is touched: each
 * instruction takes what exec/cost.h says, and collectives are run as schedules by
 * collectives/exec/sim/sim.h, several at a time where the program has them in flight.
 *
 * A core walks through the program: an instruction that runs takes its time; the start of a
 * collective hands the core's part over at that moment and takes none; a wait goes on when the
 * core's part is done. All cores begin a step together.
 *
 * Cores that nearly do alike are taken to do alike, each collective as the first of its class does
 * it, moved along: in a collective whose count does not divide evenly messages may be an element
 * longer or shorter, and pieces of a large one may be passed on in another order. */
#ifndef MINIPOD_RUNTIME_EXEC_SIM_H
#define MINIPOD_RUNTIME_EXEC_SIM_H

#include "collectives/exec/sim/sim.h"
#include "runtime/exec/cost.h"
#include "runtime/exec/noise.h"
#include "runtime/trace/timeline.h"

typedef struct pod_exec_sim pod_exec_sim;

typedef struct pod_exec_sim_options {
    pod_net net;
    const pod_instr_time *time; /* by instruction; borrowed */
    const double *slow;         /* by core: factor on the time of what it runs; NULL: 1. Borrowed */
    const int *failed;          /* links (n_failed), as pod_sim_fail_links takes them; borrowed */
    int n_failed;
    pod_noise noise;
    bool overtakes; /* collectives that are waited for sooner go first (runtime/exec/overtake.h), as
                        on a pod; a host's ranks take them as they started */
    bool every_core;  /* is simulated; else, where none is slow, no link has failed and nothing is
                        noisy, one of each class of cores that do alike
                        (collectives/exec/sim/classes.h): the same times */
    bool checks_room; /* refuses what this host has no memory for (runtime/core/room.h) */
} pod_exec_sim_options;

/* `p` is borrowed until close. E_INVALID as pod_sim_create_alike, pod_sim_fail_links,
 * pod_coll_build and pod_room_check; E_NOMEM. */
POD_MUST pod_status pod_exec_sim_open(const pod_program *p, const pod_exec_sim_options *options,
                                      pod_exec_sim **out);
void pod_exec_sim_close(pod_exec_sim *e); /* NULL is allowed */

typedef struct pod_exec_sim_watch { /* whose events are written, where to */
    int core;
    pod_timeline *tl; /* between begin and end of a step */
} pod_exec_sim_watch;

/* One step of all cores, each from when the step before ended on the last of them. E_INVALID when a
 * collective waits for ever, or the step ends beyond what the clock counts; E_NOMEM. */
POD_MUST pod_status pod_exec_sim_step(pod_exec_sim *e, int64_t step,
                                      const pod_exec_sim_watch watch[], int n_watches);

pod_time pod_exec_sim_now(const pod_exec_sim *e);             /* when the last core ended */
pod_time pod_exec_sim_ended(const pod_exec_sim *e, int core); /* when this one ended that step */
/* How long this core was in a phase, in all steps: it ran, or waited for a reduction. */
pod_time pod_exec_sim_phase(const pod_exec_sim *e, int core, pod_phase phase);
int pod_exec_sim_n_simulated(const pod_exec_sim *e); /* cores, or classes of them */
/* Returns the totals of the collectives of all cores so far; n_events counts simulated events. */
pod_sim_use pod_exec_sim_used(const pod_exec_sim *e);
double pod_exec_sim_link_busy_s(const pod_exec_sim *e, int link); /* how long it was held */
double pod_exec_sim_link_bytes(const pod_exec_sim *e, int link);  /* what it carried */

#endif
