/* The simulator once more, plainly: what collectives/exec/sim/sim.h and collectives/net/net.h say,
 * without classes of ranks, plans, windows or queues. All ranks are walked through, and what may
 * happen next is looked for in a list. It shares with the other one routes and schedules alone. */
#ifndef MINIPOD_TESTS_UNIT_COLLECTIVES_PLAIN_SIM_H
#define MINIPOD_TESTS_UNIT_COLLECTIVES_PLAIN_SIM_H

#include "collectives/net/net.h"
#include "collectives/sched/sched.h"

typedef struct plain_report {
    int64_t n_messages;
    int64_t wait_link_ps, wait_sender_ps, wait_work_ps; /* as pod_sim_use has it */
} plain_report;

typedef struct plain_coll {
    const pod_sched *const *all; /* (ranks) each rank's part */
    const int64_t *start_ps;     /* (ranks) when each begins */
    pod_dtype dtype;
    bool is_preferred;
    int64_t *done_ps; /* (ranks) written: when each is done */
} plain_coll;

/* Ties go to the collective that comes first. False when a rank waits for ever. */
bool plain_sim_run(const pod_net *net, const pod_mesh *m, const plain_coll coll[], int n_colls,
                   plain_report *out);

#endif
