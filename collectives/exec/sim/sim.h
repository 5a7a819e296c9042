/* Schedules on a virtual clock: when each rank of a machine is done, without its data.
 *
 * A simulation is a machine (pod_net and mesh) with an event queue. Collectives are added to it,
 * and each rank's part is started at a time of its own; several may be in flight at once, and then
 * share links and ranks. A step begins when what it comes after is complete, and costs what
 * collectives/net/net.h says:
 *
 *     SEND                     leaves after message_s; complete when its tail has left the rank
 *     RECV                     complete when begun and the tail has come
 *     RECV_REDUCE              the same, then the rank adds for bytes / reduce_bytes_per_s
 *     COPY                     what is read and written / memory_bytes_per_s
 *     REDUCE_FROM, REDUCE_ALL  likewise, of all ranks that share
 *     SYNC                     sync_s after the last rank began its own
 *
 * What a rank adds and copies it does one after the other, in the order in which it could begin.
 * Where a collective is preferred (pod_sim_prefer) this holds of those that are, and of those that
 * are not behind them.
 * The same calls give the same picoseconds. Of what could begin at one time on a rank or link,
 * sends go before messages that pass through, these before sums and copies; then the collective
 * that was added first; of messages that pass through, the order is by how far they have come,
 * counted as a rank from its sender at rank 0; then the earlier step of a schedule; then the lower
 * rank. So no tie depends on where on the mesh it is.
 *
 * Where nothing waits for a link, a sender or a rank's sums, a rank that starts d later delays the
 * end by d at most, and faster links delay nothing. Where something waits, who comes first goes
 * first, and a little delay can change who that is: then the end may come later by as much as is
 * waited, and no more (Graham, "Bounds on multiprocessing timing anomalies", 1969). What is
 * preferred is spared that by what is not. */
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

/* Of every rank of the mesh. E_INVALID for a net with a rate or time that is none; E_NOMEM. */
POD_MUST pod_status pod_sim_create(const pod_net *net, const pod_mesh *m, pod_sim **out);
/* Of ranks of which those of a class do alike (sim_classes.h): the schedule of a rank is that of
 * the first rank of its class, moved along. With one_of_each only the first ranks are simulated,
 * and stand for the others: then all that is said below of ranks and their number is said of
 * classes, and every rank of a class is started when its class is. */
POD_MUST pod_status pod_sim_create_alike(const pod_net *net, const pod_sim_classes *classes,
                                         bool one_of_each, pod_sim **out);
void pod_sim_destroy(pod_sim *sim); /* and its collectives; NULL is allowed */

typedef struct pod_sim_need { /* of this host's memory */
    double bytes;
    char what[96]; /* needs them: "16 ranks with 30 steps of ring each" */
} pod_sim_need;

/* What simulating this takes, about: on n_cores ranks, which are simulated each, with schedules
 * that are n_schedules different ones. E_INVALID as pod_coll_build; E_NOMEM. */
POD_MUST pod_status pod_sim_find_need(const pod_mesh *m, const pod_coll_algo *algo,
                                      const pod_coll_args *args, int n_schedules, int n_cores,
                                      pod_sim_need *out);

int pod_sim_n_cores(const pod_sim *sim);           /* ranks that are simulated, or classes */
int pod_sim_core_of(const pod_sim *sim, int rank); /* itself, or its class */

/* These links (numbers of mesh/route.h) have failed, and those of the same neighbours the other
 * way; a link that cores of a chip share has for each. Messages go round them (mesh/detour.h).
 * Once, before any collective is added, where every rank is simulated. E_INVALID for a link that is
 * none and when no way is left between two ranks; E_NOMEM. */
POD_MUST pod_status pod_sim_fail_links(pod_sim *sim, const int link[], int n);

/* Adds a collective of which all[k] is the part of the first rank of class k, in a simulation that
 * was not created with classes of every rank k; nothing is kept of `all`. One with SYNCs only while
 * nothing is under way. E_INVALID, naming rank and step, when a message or sync has no other half;
 * races and spans are not looked at. E_NOMEM. */
POD_MUST pod_status pod_sim_add(pod_sim *sim, const pod_sched *const all[], pod_dtype t,
                                pod_sim_coll **out);
/* The same of an algorithm: builds what is needed, and shares it with those that were added with
 * the same arguments; where classes are near, also with those of another count that have the same
 * steps, scaled. E_INVALID as pod_coll_build. */
POD_MUST pod_status pod_sim_add_algo(pod_sim *sim, const pod_coll_algo *algo,
                                     const pod_coll_args *args, pod_sim_coll **out);

/* From now on nothing of it waits for what those do that are not preferred, on a link, a sender or
 * for sums; they wait for it (net/busy.h). */
void pod_sim_prefer(pod_sim_coll *c);

int pod_sim_coll_number(const pod_sim_coll *c); /* in the order in which they were added, from 0 */

/* Rank begins its part at this time: before the first pod_sim_next and after one that was false any
 * rank, not before pod_sim_now; in between the rank that has just been done, not before it was. A
 * collective can be started again when pod_sim_next has told of all its ranks. The first start
 * takes memory for the run, and the end of the last rank gives it back: E_NOMEM. */
POD_MUST pod_status pod_sim_start(pod_sim *sim, pod_sim_coll *c, int rank, int64_t at_ps);

typedef struct pod_sim_done {
    pod_sim_coll *coll;
    int rank;
    int64_t at_ps;
} pod_sim_done;

/* Goes on until a rank is done with its part: no peer reads or writes its buffer any more. False
 * when nothing more can happen. Of one rank what is done earlier comes earlier; of two, it may come
 * later by as long as news of one needs to the other. */
bool pod_sim_next(pod_sim *sim, pod_sim_done *out);

/* POD_OK unless a rank that started is not done, though nothing more can happen: E_INVALID with the
 * step that it waits in; E_NOMEM when memory for events was wanting. */
POD_MUST pod_status pod_sim_check_done(const pod_sim *sim, const pod_sim_coll *c);

/* When a rank was done that pod_sim_next has just told of; when it was false, of the last one. */
int64_t pod_sim_now(const pod_sim *sim);

typedef struct pod_sim_use { /* since create */
    int64_t n_events, n_messages;
    int64_t n_rerouted;   /* messages whose way meets a failed link */
    double message_bytes; /* counted once, however many links they pass */
    int busiest_link;     /* for pod_route_link_print */
    double busiest_s;     /* how long that link was held */
    double link_s;        /* how long all links were held, together */
    double link_bytes;    /* that all links carried, together: message_bytes, at each hop */
    double wait_link_s;   /* that messages waited for links, all together */
    double wait_sender_s; /* that messages waited for an earlier one of their sender */
    double wait_work_s;   /* that sums and copies waited for earlier ones of their rank */
} pod_sim_use;

pod_sim_use pod_sim_used(const pod_sim *sim); /* n_events are counted as they are simulated, all
                                                 else as if for every rank */
double pod_sim_link_busy_s(const pod_sim *sim, int link); /* how long that link was held */
double pod_sim_link_bytes(const pod_sim *sim, int link);  /* what it carried */

/* One collective of an algorithm, on its own. */
typedef struct pod_sim_report {
    double seconds; /* from when the first rank starts until the last is done */
    pod_sim_use use;
    double busiest_share; /* of the time, that the busiest link was held */
    char busiest_link[POD_LINK_TEXT_BYTES];
    double build_wall_s, run_wall_s; /* this host's time: of schedules, and of events */
} pod_sim_report;

/* start_s (ranks of the mesh) may be NULL: all start at 0. done_s (same) may be NULL. Without both,
 * one rank of each class of those that do alike (POD_SIM_EQUAL) is simulated. E_INVALID as
 * pod_coll_build_all and pod_sim_create; E_NOMEM. */
POD_MUST pod_status pod_sim_collective(const pod_net *net, const pod_mesh *m,
                                       const pod_coll_algo *algo, const pod_coll_args *args,
                                       const double start_s[], double done_s[],
                                       pod_sim_report *out);

/* The algorithm of args->coll that takes least time so; the earlier one in the table where two take
 * as long. */
POD_MUST pod_status pod_sim_cheapest(const pod_net *net, const pod_mesh *m,
                                     const pod_coll_args *args, const pod_coll_algo **out);

/* What the same without start_s and done_s takes of memory, as pod_sim_find_need. */
POD_MUST pod_status pod_sim_collective_need(const pod_net *net, const pod_mesh *m,
                                            const pod_coll_algo *algo, const pod_coll_args *args,
                                            pod_sim_need *out);

#endif
