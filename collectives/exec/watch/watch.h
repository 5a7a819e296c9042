/* What a rank that waits for others says, and when it ends the job. For collectives/exec only.
 *
 * Four who wait for ever must not, and a fifth is told to go:
 *
 *     a rank of this node died              ends the job, naming it
 *     a rank lives and does not come        is said after comm's patience, and waited for
 *     the same for the watchdog's seconds   ends the job, naming who did not come
 *     the wait is idle                      is as long as it takes; only a death ends it
 *     SIGTERM, SIGINT, SIGHUP in a wait     is said; then whatever was installed before it
 *
 * Who did not come? In a ring a rank waits for its neighbour, who waits for his. So each rank shows
 * on the mailbox of its node that it waits, and goes on showing it while it does: missing is who
 * shows nothing, since it works or hangs, and who has not looked for long, since it was stopped as
 * it waited. Where all of a node wait, its ranks ask those of the other nodes (roster.h).
 *
 * Time counts from look to look, and of a longer gap only as much as a look may take: a rank that
 * was stopped itself (a suspended job) has not waited meanwhile. Behind a gap that is long beside
 * the watchdog's seconds the wait begins anew, since other ranks may wake later than this one.
 *
 * Of a node one rank speaks: who ends the job says so on the mailbox, and the others are silent. */
#ifndef MINIPOD_COLLECTIVES_EXEC_WATCH_WATCH_H
#define MINIPOD_COLLECTIVES_EXEC_WATCH_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "collectives/exec/comm.h"

typedef struct pod__watch { /* one wait */
    pod_comm *comm;
    const char *what; /* "allreduce torus2d 4M"; borrowed */
    uint64_t number;  /* which of its kind */
    bool is_idle;
    bool naps; /* leaves its core to others between two looks, watched as any other */
    /* Ranks that are awaited, none twice and no more than max, into rank[]; answers how many. Safe
     * in a signal handler. NULL: nobody knows. */
    int (*awaited)(const void *of, int rank[], int max);
    const void *of;
    int64_t waited_ns; /* this rank ran and nothing came; -1: begins at the next look */
    int64_t looked_ns; /* when it looked at the mailbox */
    int64_t say_ns;    /* of waited_ns, when it is said for the next time */
} pod__watch;

void pod__watch_install(void); /* the handler, for what is not ignored; once a process */
/* SIGTERM, SIGINT or SIGHUP does not end this process if `is_ask` returns true; the handler calls
 * it. */
void pod__watch_ask_before_end(bool (*is_ask)(int signal_number));

/* Between these, what this process waits for; one at a time. */
void pod__watch_begin(pod__watch *w);
void pod__watch_end(pod__watch *w);

/* Something came: its time counts from now. */
static inline void pod__watch_moved(pod__watch *w) { w->waited_ns = -1; }

/* Nothing has come for so long that who waits may sleep, where nobody wakes him, and leave his core
 * to whoever works. As of the last look. */
bool pod__watch_is_long(const pod__watch *w);
void pod__watch_sleep(void); /* a millisecond */

/* To be called often: looks at the clock, now and then at the mailbox. Does not return when it ends
 * the job. */
void pod__watch_look(pod__watch *w);

/* All of it: polls until `poll` answers true, and leaves the CPU to others in between. */
void pod__watch_until(pod__watch *w, bool (*poll)(void *of), void *of);

#endif
