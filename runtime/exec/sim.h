/* sim: runs a program on the virtual clock of a machine that need not exist. It touches no data:
 * each instruction takes the time of runtime/exec/cost.h, and collectives run as schedules
 * (collectives/exec/sim/sim.h), several at a time if the program has several in flight.
 *
 * Each core executes the program: an instruction takes its time; the start of a collective takes
 * none; a wait ends when the core's part of the collective is done. All cores begin a step
 * together.
 *
 * Cores that do nearly the same form a class: each runs a collective as the first core of its class
 * does, with ranks shifted. The approximation: if the element count of a collective does not divide
 * evenly, messages may differ by one element, and pieces of a large collective may be forwarded in
 * another order. */
#ifndef MINIPOD_RUNTIME_EXEC_SIM_H
#define MINIPOD_RUNTIME_EXEC_SIM_H

#include "collectives/exec/sim/sim.h"
#include "runtime/exec/cost.h"
#include "runtime/exec/noise.h"
#include "runtime/trace/timeline.h"

typedef struct pod_exec_sim pod_exec_sim;

typedef struct pod_exec_sim_options {
    pod_net net;
    const pod_instr_time *time; /* by instruction (pod_cost_program); borrowed */
    const double *slow;         /* by core: factor on its times; NULL: all 1. Borrowed */
    const int *failed;          /* links (n_failed), as pod_sim_fail_links takes them; borrowed */
    int n_failed;
    pod_noise noise;
    bool overtakes;  /* true, as on a pod: collectives that are needed sooner go first
                        (runtime/exec/overtake.h); false, as on a host: they go in the order of
                        their starts */
    bool every_core; /* simulates every core. If false, and there are no slow cores, failed links or
                        noise, only one core of each class is simulated, with the same times
                        (collectives/exec/sim/classes.h) */
    bool checks_room; /* fails if this host lacks the memory (runtime/core/room.h) */
} pod_exec_sim_options;

/* Creates the simulation. `p` is borrowed until close. E_INVALID if pod_sim_create_alike,
 * pod_sim_fail_links, pod_coll_build or pod_room_check fails with it; E_NOMEM. */
POD_MUST pod_status pod_exec_sim_open(const pod_program *p, const pod_exec_sim_options *options,
                                      pod_exec_sim **out);
void pod_exec_sim_close(pod_exec_sim *e); /* NULL is allowed */

typedef struct pod_exec_sim_watch { /* a core whose events are recorded */
    int core;
    pod_timeline *tl; /* between begin and end of a step */
} pod_exec_sim_watch;

/* Runs one step of all cores; it begins when the last core has ended the previous step. E_INVALID
 * if a collective can never finish (failed links), or if the step ends beyond the range of the
 * clock; E_NOMEM. */
POD_MUST pod_status pod_exec_sim_step(pod_exec_sim *e, int64_t step,
                                      const pod_exec_sim_watch watch[], int n_watches);

pod_time pod_exec_sim_now(const pod_exec_sim *e); /* when the last core ended */
/* Returns the time that this core has spent in a phase over all steps: running its instructions or,
 * in REDUCE, waiting for collectives. */
pod_time pod_exec_sim_phase(const pod_exec_sim *e, int core, pod_phase phase);
int pod_exec_sim_n_simulated(const pod_exec_sim *e); /* simulated cores: all, or one per class */
/* Returns the totals over the collectives of all cores so far. */
pod_sim_use pod_exec_sim_used(const pod_exec_sim *e);
double pod_exec_sim_link_busy_s(const pod_exec_sim *e, int link); /* total time that it was busy */
double pod_exec_sim_link_bytes(const pod_exec_sim *e, int link);  /* total bytes that it carried */

#endif
