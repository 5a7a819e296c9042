/* sim: runs a program on the virtual clock of a machine that need not exist. It touches no data:
 * each instruction takes the time of exec/cost.h, and collectives run as schedules by
 * collectives/exec/sim/sim.h, several at a time where the program has them in flight.
 *
 * Each core executes the program: an instruction takes its time; the start of a collective gives it
 * the core's data at that moment and takes no time; a wait ends when the core's part of the
 * collective is done. All cores begin a step together.
 *
 * Cores that do nearly the same count as alike: each runs a collective as the first core of its
 * class does, shifted. If the count of a collective does not divide evenly, messages may differ by
 * one element, and pieces of a large one may be passed on in another order. */
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
    const double *slow;         /* by core: factor on its times; NULL: 1. Borrowed */
    const int *failed;          /* links (n_failed), as pod_sim_fail_links takes them; borrowed */
    int n_failed;
    pod_noise noise;
    bool overtakes;  /* collectives that are needed sooner go first (runtime/exec/overtake.h), as on
                        a pod; on a host they go in the order of their starts */
    bool every_core; /* simulates every core; else, without slow cores, failed links and noise,
                        one of each class of cores that do alike
                        (collectives/exec/sim/classes.h): the same times */
    bool checks_room; /* refuses what this host has no memory for (runtime/core/room.h) */
} pod_exec_sim_options;

/* `p` is borrowed until close. E_INVALID as pod_sim_create_alike, pod_sim_fail_links,
 * pod_coll_build and pod_room_check; E_NOMEM. */
POD_MUST pod_status pod_exec_sim_open(const pod_program *p, const pod_exec_sim_options *options,
                                      pod_exec_sim **out);
void pod_exec_sim_close(pod_exec_sim *e); /* NULL is allowed */

typedef struct pod_exec_sim_watch { /* a core whose events are recorded */
    int core;
    pod_timeline *tl; /* between begin and end of a step */
} pod_exec_sim_watch;

/* Runs one step of all cores, which begins when the last core has ended the step before. E_INVALID
 * if a collective waits for ever, or if the step ends beyond the range of the clock; E_NOMEM. */
POD_MUST pod_status pod_exec_sim_step(pod_exec_sim *e, int64_t step,
                                      const pod_exec_sim_watch watch[], int n_watches);

pod_time pod_exec_sim_now(const pod_exec_sim *e); /* when the last core ended */
/* Returns the time of this core in a phase, over all steps, running or waiting for a reduction. */
pod_time pod_exec_sim_phase(const pod_exec_sim *e, int core, pod_phase phase);
int pod_exec_sim_n_simulated(const pod_exec_sim *e); /* cores, or classes of them */
/* Returns the totals of the collectives of all cores so far; n_events counts simulated events. */
pod_sim_use pod_exec_sim_used(const pod_exec_sim *e);
double pod_exec_sim_link_busy_s(const pod_exec_sim *e, int link); /* time that it was busy */
double pod_exec_sim_link_bytes(const pod_exec_sim *e, int link);  /* bytes that it carried */

#endif
