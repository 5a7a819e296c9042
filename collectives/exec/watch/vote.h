/* A word that ranks raise and all see at the same turn: how a signal that reached one rank, or
 * each at another step, stops all of them behind the same step.
 *
 * Each turn hands out this rank's word and answers the maximum over all ranks of the words handed
 * out `lag` turns before: log2 of the ranks, rounded up. By then the messages are there: nobody
 * waits for them in a step. */
#ifndef MINIPOD_COLLECTIVES_EXEC_WATCH_VOTE_H
#define MINIPOD_COLLECTIVES_EXEC_WATCH_VOTE_H

#include <stdint.h>

#include "collectives/exec/comm.h"

typedef struct pod_vote pod_vote;

POD_MUST pod_status pod_vote_open(pod_comm *c, pod_vote **out); /* collective */
/* Collective, without failing; allocates nothing. 0 in the first `lag` turns; with one rank the
 * word itself at once. Waits for ranks that are more than a turn behind, under comm's watchdog. */
uint32_t pod_vote_turn(pod_vote *v, uint32_t mine);
/* Collective: every rank had as many turns. NULL is allowed. */
void pod_vote_close(pod_vote *v);

#endif
