/* The schedules of all ranks together: messages paired, SYNCs matched, and all events in one order
 * in which no event waits for a later one.
 *
 * The order assumes rendezvous (see pod_sched_verify) and ranks that advance in lockstep: it is
 * sorted by round, and within a round, events come after those on which they depend. The
 * one-process executor and the drawing follow it. For the verifier, schedules have no deadlock if
 * this order exists. */
#ifndef MINIPOD_COLLECTIVES_SCHED_ORDER_H
#define MINIPOD_COLLECTIVES_SCHED_ORDER_H

#include "collectives/sched/sched.h"

typedef struct pod_sched_event { /* a message, or a step of one rank */
    int32_t rank, step;          /* of a message: those of the receive, whose peer is the sender */
    int32_t send_step;           /* of a message: the sender's step; else POD_NO_STEP */
    int32_t round;               /* events that move data between ranks (messages, REDUCE_FROM,
                                    REDUCE_ALL) in the longest chain up to this one; from 1 */
} pod_sched_event;

/* The SYNCs of one tag complete together. They are consecutive events, in the order of the sharing
 * ranks. */

typedef struct pod_sched_order {
    const pod_sched_event *event;
    int32_t n_events, n_rounds;
} pod_sched_order;

/* Builds the order in the arena, with its own working memory. Fails with E_INVALID, with the texts
 * of pod_sched_verify, for unmatched messages or SYNCs, different lists of sharing ranks, or a
 * deadlock; with E_UNSUPPORTED for more than 2^30 - 1 steps in all; and with E_NOMEM. */
POD_MUST pod_status pod_sched_order_build(pod_arena *a, const pod_sched *const all[], int n_ranks,
                                          pod_sched_order *out);

#endif
