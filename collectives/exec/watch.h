/* What a rank that waits says: for whom, and in which collective. For collectives/exec only.
 *
 * Three who wait for ever must not: a rank of this node died, so nobody will ring; a rank is alive
 * and does not come; or the job is being ended, since a rank of another node died, and this one is
 * told to go. The first ends the job, the second is said and waited for still, the third is said by
 * the handler of SIGTERM, before it hands on to whatever was installed before it. */
#ifndef MINIPOD_COLLECTIVES_EXEC_WATCH_H
#define MINIPOD_COLLECTIVES_EXEC_WATCH_H

#include "collectives/exec/run.h"

typedef struct pod__watch {
    int64_t since_ns; /* 0: not yet looked at the clock */
    int64_t say_ns;   /* when it is said for the next time */
} pod__watch;

void pod__watch_install(void); /* the handler; once a process */

/* The run that this process waits for, NULL for none. */
void pod__watch_set(const pod_coll_run *r);

/* Looks at the clock and at the ranks of the node; does not return when one of them died. */
void pod__watch_look(pod__watch *w, const pod_coll_run *r);

#endif
