/* A vote of all ranks once per step, with the same result on all: so a signal that reached one
 * rank, or ranks at different steps, stops all of them after the same step.
 *
 * Each turn (a call of pod_vote_turn) takes a number from this rank, and returns the maximum over
 * all ranks of the numbers of `lag` turns before; lag is log2 of the number of ranks, rounded up.
 * By then the messages have arrived, so no step waits for them. */
#ifndef MINIPOD_COLLECTIVES_EXEC_WATCH_VOTE_H
#define MINIPOD_COLLECTIVES_EXEC_WATCH_VOTE_H

#include <stdint.h>

#include "collectives/exec/comm.h"

typedef struct pod_vote pod_vote;

POD_MUST pod_status pod_vote_open(pod_comm *c, pod_vote **out); /* collective */
/* Returns 0 in the first `lag` turns; with one rank returns `mine` at once. Cannot fail, and
 * allocates nothing. Waits for ranks that are more than a turn behind, under comm's watchdog.
 * Collective. */
uint32_t pod_vote_turn(pod_vote *v, uint32_t mine);
/* Collective; all ranks must have had the same number of turns. NULL is allowed. */
void pod_vote_close(pod_vote *v);

#endif
