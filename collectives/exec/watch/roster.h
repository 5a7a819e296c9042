/* Asking the other nodes: where mailboxes end, a rank that has waited too long asks all others
 * whether they wait too. Who does answers, by a few bytes. Who does not answer is missing. For
 * collectives/exec only.
 *
 * The lowest of those who call speaks: who has been called does not call itself, and of two who
 * called at once the higher is silent. Everything here is local. */
#ifndef MINIPOD_COLLECTIVES_EXEC_WATCH_ROSTER_H
#define MINIPOD_COLLECTIVES_EXEC_WATCH_ROSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "collectives/exec/comm.h"

typedef struct pod__roster pod__roster;

POD_MUST pod_status pod__roster_create(pod_comm *c, pod__roster **out);
void pod__roster_destroy(pod__roster *r); /* NULL is allowed */

void pod__roster_forget(pod__roster *r); /* something else came than answers: all is well */

/* Takes in what came and answers calls. For ranks that wait, at every look. */
void pod__roster_listen(pod__roster *r);

typedef enum pod__roster_state {
    POD__ROSTER_OPEN,   /* called; answers are on their way */
    POD__ROSTER_CALLED, /* another one calls or ends the job, and speaks */
    POD__ROSTER_OVER    /* who will answer has answered */
} pod__roster_state;

/* Calls at the first time, then tells what has come of it. */
pod__roster_state pod__roster_call(pod__roster *r, int64_t now_ns);
/* This rank ends the job: the others hear of it, and are silent. */
void pod__roster_end(pod__roster *r);
bool pod__roster_has_answered(const pod__roster *r, int rank);
/* A rank calls or ends the job, this one or another. Safe in a signal handler. */
bool pod__roster_is_ending(const pod__roster *r);

#endif
