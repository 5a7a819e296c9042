/* Queries to other nodes, beyond mailboxes: a rank that has waited too long asks all ranks of other
 * nodes whether they wait, too. Ranks that wait answer with a few bytes; ranks that do not answer
 * are missing. For collectives/exec only.
 *
 * Only the lowest rank that asks reports: a rank that was asked does not ask itself, and of two
 * ranks that asked at the same time the higher one is silent. All functions are local. */
#ifndef MINIPOD_COLLECTIVES_EXEC_WATCH_ROSTER_H
#define MINIPOD_COLLECTIVES_EXEC_WATCH_ROSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "collectives/exec/comm.h"

typedef struct pod__roster pod__roster;

POD_MUST pod_status pod__roster_create(pod_comm *c, pod__roster **out);
void pod__roster_destroy(pod__roster *r); /* NULL is allowed */

/* Discards all answers, because another message arrived. */
void pod__roster_forget(pod__roster *r);

/* Receives answers, and answers queries. Ranks that wait call it often. */
void pod__roster_listen(pod__roster *r);

typedef enum pod__roster_state {
    POD__ROSTER_OPEN,   /* asked; answers may still arrive */
    POD__ROSTER_CALLED, /* another rank asks or ends the job, and reports */
    POD__ROSTER_OVER    /* the time for answers is over */
} pod__roster_state;

/* Asks at the first call; returns the state of the query. */
pod__roster_state pod__roster_call(pod__roster *r, int64_t now_ns);
/* Tells the others that this rank ends the job, so that they do not report. */
void pod__roster_end(pod__roster *r);
bool pod__roster_has_answered(const pod__roster *r, int rank);
/* Returns whether some rank asks or ends the job. Safe in a signal handler. */
bool pod__roster_is_ending(const pod__roster *r);

#endif
