/* Decides when a rank that waits for others reports this, and when it ends the job. For
 * collectives/exec only.
 *
 * The five cases:
 *
 *     a rank of this node died              ends the job, and names the rank
 *     a rank lives and does not arrive      is reported after comm's patience; the wait continues
 *     the same for the watchdog's time      ends the job, and names the missing rank
 *     the wait is idle                      has no limit; only a death ends it
 *     SIGTERM, SIGINT, SIGHUP in a wait     is reported; then the earlier handler runs
 *
 * Which rank is missing? In a ring each rank waits for its neighbour. So while a rank waits, it
 * shows this in the mailbox of its node, with the time of its last look at the mailbox. A rank is
 * missing if it does not show that it waits, because it works or hangs, or if its last look is long
 * ago, because it was stopped while it waited. If all ranks of a node wait, they ask those of the
 * other nodes (roster.h).
 *
 * Waiting time is added up from look to look, with an upper limit for each gap, so the time for
 * which a rank was stopped itself (a suspended job) does not count. After a gap that is long
 * compared with the watchdog's time, the waiting time restarts from 0, because other ranks may wake
 * later than this one.
 *
 * One rank per node reports: the rank that ends the job claims this in the mailbox, and the others
 * are silent. */
#ifndef MINIPOD_COLLECTIVES_EXEC_WATCH_WATCH_H
#define MINIPOD_COLLECTIVES_EXEC_WATCH_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "collectives/exec/comm.h"

typedef struct pod__watch { /* one wait */
    pod_comm *comm;
    const char *what; /* "allreduce torus2d 4M"; borrowed */
    uint64_t number;  /* number of this wait among those of `what` */
    bool is_idle;
    bool naps; /* sleeps between looks; watched like other waits */
    /* Writes the awaited ranks to rank[], without duplicates and at most max; returns their number.
     * Safe in a signal handler. NULL: unknown. */
    int (*awaited)(const void *of, int rank[], int max);
    const void *of;
    int64_t waited_ns; /* time in which this rank ran and nothing arrived; -1: restarts */
    int64_t looked_ns; /* time of the last look at the mailbox */
    int64_t say_ns;    /* value of waited_ns at the next report */
} pod__watch;

/* Installs the handler for signals that are not ignored; call it once per process. */
void pod__watch_install(void);
/* The handler calls `is_ask`; if it returns true, SIGTERM, SIGINT or SIGHUP does not end this
 * process. */
void pod__watch_ask_before_end(bool (*is_ask)(int signal_number));

/* Begin and end a wait of this process; one at a time. */
void pod__watch_begin(pod__watch *w);
void pod__watch_end(pod__watch *w);

/* Something arrived: restarts the waiting time. */
static inline void pod__watch_moved(pod__watch *w) { w->waited_ns = -1; }

/* Returns whether nothing has arrived for so long, by the last look, that the rank may sleep
 * without being woken, and leave its core to others. */
bool pod__watch_is_long(const pod__watch *w);
void pod__watch_sleep(void); /* a millisecond */

/* Reads the clock, and now and then the mailbox; call it often. Does not return if it ends the
 * job. */
void pod__watch_look(pod__watch *w);

/* Does a whole wait: polls until `poll` returns true, and yields the CPU in between. */
void pod__watch_until(pod__watch *w, bool (*poll)(void *of), void *of);

#endif
