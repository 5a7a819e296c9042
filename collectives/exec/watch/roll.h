/* Calling the roll: where boards end, a rank that has waited too long asks all others whether they
 * wait too. Who does answers, by a few bytes. Who does not answer is missing. For collectives/exec
 * only.
 *
 * The lowest of those who call speaks: who has been called does not call itself, and of two who
 * called at once the higher is silent. Everything here is local. */
#ifndef MINIPOD_COLLECTIVES_EXEC_WATCH_ROLL_H
#define MINIPOD_COLLECTIVES_EXEC_WATCH_ROLL_H

#include <stdbool.h>
#include <stdint.h>

#include "collectives/exec/comm.h"

typedef struct pod__roll pod__roll;

POD_MUST pod_status pod__roll_create(pod_comm *c, pod__roll **out);
void pod__roll_destroy(pod__roll *r); /* NULL is allowed */

void pod__roll_forget(pod__roll *r); /* something else came than answers: all is well */

/* Takes in what came and answers calls. For ranks that wait, at every look. */
void pod__roll_listen(pod__roll *r);

typedef enum pod__roll_state {
    POD__ROLL_OPEN,   /* called; answers are on their way */
    POD__ROLL_CALLED, /* another one calls or ends the job, and speaks */
    POD__ROLL_OVER    /* who will answer has answered */
} pod__roll_state;

/* Calls at the first time, then tells what has come of it. */
pod__roll_state pod__roll_call(pod__roll *r, int64_t now_ns);
/* This rank ends the job: the others hear of it, and are silent. */
void pod__roll_end(pod__roll *r);
bool pod__roll_has_answered(const pod__roll *r, int rank);
/* A rank calls or ends the job, this one or another. Safe in a signal handler. */
bool pod__roll_is_ending(const pod__roll *r);

#endif
