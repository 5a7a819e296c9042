/* Schedules on a virtual clock: computes when each rank of a machine is done, without data.
 *
 * A simulation has a machine (pod_net and mesh) and an event queue. Collectives are added to it,
 * and each rank's part is started at its own time; several collectives may be in flight, and then
 * share links and ranks. A step begins when the steps in its `after` are complete, and takes the
 * time that collectives/net/net.h defines:
 *
 *     SEND                     leaves after message_s; complete when its tail has left the rank
 *     RECV                     complete when it has begun and the tail has arrived
 *     RECV_REDUCE              the same, then the rank adds for bytes / reduce_bytes_per_s
 *     COPY                     bytes read and written / memory_bytes_per_s
 *     REDUCE_FROM, REDUCE_ALL  likewise, with bytes of all sharing ranks
 *     SYNC                     sync_s after the last sharing rank has begun its SYNC
 *
 * A rank does its sums and copies one after another, in the order in which they can begin; those of
 * preferred collectives (pod_sim_prefer) come before others. The same calls give the same
 * picoseconds. If several things could begin at the same time on a rank or link, sends come before
 * messages that pass through, and these before sums and copies; then comes the collective that was
 * added first; messages that pass through are ordered by their position relative to their senders;
 * then comes the earlier step of a schedule, and then the lower rank. So ties do not depend on the
 * position on the mesh.
 *
 * If nothing waits for a link, a sender or a rank's sums, a rank that starts d later delays the end
 * by at most d, and faster links delay nothing. If something waits, a small delay can change the
 * order of service; then the end may come later, but at most by the time waited (Graham, "Bounds on
 * multiprocessing timing anomalies", 1969). Other collectives cannot do this to preferred ones. */
#ifndef MINIPOD_COLLECTIVES_EXEC_SIM_SIM_H
#define MINIPOD_COLLECTIVES_EXEC_SIM_SIM_H

#include "collectives/algo/algo.h"
#include "collectives/exec/sim/classes.h"
#include "collectives/mesh/route.h"
#include "collectives/net/net.h"
#include "collectives/sched/sched.h"
#include "kernels/base/dtype.h"

typedef struct pod_sim pod_sim;
typedef struct pod_sim_coll pod_sim_coll; /* a collective of a simulation */

/* Creates a simulation of every rank of the mesh. Fails with E_INVALID for a net with an invalid
 * rate or time, and with E_NOMEM. */
POD_MUST pod_status pod_sim_create(const pod_net *net, const pod_mesh *m, pod_sim **out);
/* Creates a simulation in which ranks of a class do the same (classes.h): the schedule of a rank is
 * that of the first rank of its class, shifted. one_of_each: only the first ranks are simulated,
 * for all ranks of their classes; below, "rank" and numbers of ranks then mean classes, and all
 * ranks of a class start together. */
POD_MUST pod_status pod_sim_create_alike(const pod_net *net, const pod_sim_classes *classes,
                                         bool one_of_each, pod_sim **out);
void pod_sim_destroy(pod_sim *sim); /* destroys its collectives, too; NULL is allowed */

typedef struct pod_sim_need { /* memory of this host */
    double bytes;
    char what[96]; /* what needs it: "16 ranks with 30 steps of ring each" */
} pod_sim_need;

/* Estimates the memory to simulate n_cores ranks with n_schedules different schedules. Fails with
 * E_INVALID as pod_coll_build does, and with E_NOMEM. */
POD_MUST pod_status pod_sim_find_need(const pod_mesh *m, const pod_coll_algo *algo,
                                      const pod_coll_args *args, int n_schedules, int n_cores,
                                      pod_sim_need *out);

int pod_sim_n_cores(const pod_sim *sim);           /* number of simulated ranks or classes */
int pod_sim_core_of(const pod_sim *sim, int rank); /* the rank itself, or its class */

/* Fails these links (numbers of mesh/route.h) and their reverse links; a link that the cores of a
 * chip share fails for each of them. Messages take detours (mesh/detour.h). Call it once, before
 * any collective is added, in a simulation of every rank. Fails with E_INVALID for a link that does
 * not exist, or if no route between two ranks is left; and with E_NOMEM. */
POD_MUST pod_status pod_sim_fail_links(pod_sim *sim, const int link[], int n);

/* Adds a collective; all[k] is the schedule of the first rank of class k, or, in a simulation
 * without classes, of rank k. `all` is not kept. A collective with SYNCs may only be added while
 * none is in flight. Fails with E_INVALID, naming rank and step, if a message or SYNC has no other
 * half (races and spans are not checked); and with E_NOMEM. */
POD_MUST pod_status pod_sim_add(pod_sim *sim, const pod_sched *const all[], pod_dtype t,
                                pod_sim_coll **out);
/* Likewise for an algorithm: builds the schedules, and shares their plan with collectives of the
 * same arguments; if classes are near, also, scaled, with collectives of another count that have
 * the same steps. Also fails with E_INVALID as pod_coll_build does. */
POD_MUST pod_status pod_sim_add_algo(pod_sim *sim, const pod_coll_algo *algo,
                                     const pod_coll_args *args, pod_sim_coll **out);

/* Makes the collective preferred: from now on its messages, sends and sums wait only for those of
 * other preferred collectives; collectives that are not preferred wait for it (net/busy.h). */
void pod_sim_prefer(pod_sim_coll *c);

int pod_sim_coll_number(const pod_sim_coll *c); /* in the order of addition, from 0 */

/* Starts a rank's part at time at_ps. Before the first pod_sim_next, and after one that returned
 * false, any rank may start, not before pod_sim_now; otherwise only the rank that pod_sim_next has
 * just reported, not before its end. A collective can be started again after pod_sim_next has
 * reported all its ranks. The first start allocates memory for the run, which the end of the last
 * rank releases: E_NOMEM. */
POD_MUST pod_status pod_sim_start(pod_sim *sim, pod_sim_coll *c, int rank, int64_t at_ps);

typedef struct pod_sim_done {
    pod_sim_coll *coll;
    int rank;
    int64_t at_ps;
} pod_sim_done;

/* Continues until a rank is done with its part: no peer reads or writes its buffer any more.
 * Returns false if there are no more events. Ends of the same rank are reported in the order of
 * time; ends of two ranks may be reported in another order, if their times differ by less than a
 * message between them takes. */
bool pod_sim_next(pod_sim *sim, pod_sim_done *out);

/* Call it after pod_sim_next returned false. Fails with E_INVALID, naming the step in which it
 * waits, if a started rank is not done; with E_NOMEM if memory for events was missing. */
POD_MUST pod_status pod_sim_check_done(const pod_sim *sim, const pod_sim_coll *c);

/* Returns the time of the last end that pod_sim_next reported; if it returned false, the latest
 * time. */
int64_t pod_sim_now(const pod_sim *sim);

typedef struct pod_sim_use { /* since creation */
    int64_t n_events, n_messages;
    int64_t n_rerouted;   /* messages whose route has a failed link */
    double message_bytes; /* each message counts once */
    int busiest_link;     /* for pod_route_link_print */
    double busiest_s;     /* time for which that link was held */
    double link_s;        /* the same, summed over links */
    double link_bytes;    /* summed over links: a message counts at each hop */
    double wait_link_s;   /* sum of times for which messages waited for links */
    double wait_sender_s; /* ... for earlier messages of their sender */
    double wait_work_s;   /* ... for which sums and copies waited for earlier ones */
} pod_sim_use;

/* n_events counts simulated events; all else is for all ranks. */
pod_sim_use pod_sim_used(const pod_sim *sim);
double pod_sim_link_busy_s(const pod_sim *sim, int link); /* time for which it was held */
double pod_sim_link_bytes(const pod_sim *sim, int link);  /* carried by it */

/* The simulation of one collective alone. */
typedef struct pod_sim_report {
    double seconds; /* from when the first rank starts until the last is done */
    pod_sim_use use;
    double busiest_share; /* share of the time for which the busiest link was held */
    char busiest_link[POD_LINK_TEXT_BYTES];
    double build_wall_s, run_wall_s; /* this host's time: to build schedules; for events */
} pod_sim_report;

/* Simulates a collective. start_s (by rank): start times; NULL: all start at 0. done_s (by rank):
 * receives the ends; may be NULL. If both are NULL, one rank per class (POD_SIM_EQUAL) is
 * simulated. Fails with E_INVALID as pod_coll_build_all and pod_sim_create do, and with E_NOMEM. */
POD_MUST pod_status pod_sim_collective(const pod_net *net, const pod_mesh *m,
                                       const pod_coll_algo *algo, const pod_coll_args *args,
                                       const double start_s[], double done_s[],
                                       pod_sim_report *out);

/* Finds the algorithm for args->coll with the least simulated time; of two with the same time, the
 * first in the table. */
POD_MUST pod_status pod_sim_cheapest(const pod_net *net, const pod_mesh *m,
                                     const pod_coll_args *args, const pod_coll_algo **out);

/* Estimates the memory for pod_sim_collective without start_s and done_s, as pod_sim_find_need
 * does. */
POD_MUST pod_status pod_sim_collective_need(const pod_net *net, const pod_mesh *m,
                                            const pod_coll_algo *algo, const pod_coll_args *args,
                                            pod_sim_need *out);

#endif
