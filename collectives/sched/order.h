/* What happens when the parts of all ranks run together: the messages paired, the SYNCs met, and
 * all events in one order in which nothing waits.
 *
 * The order is that of a world with rendezvous (see pod_sched_verify) in which all ranks advance
 * in step: sorted by round, and within a round so that what depends stands behind. The one-process
 * executor walks it, the drawing walks it, and that it exists is what the verifier calls free of
 * deadlock. */
#ifndef MINIPOD_COLLECTIVES_SCHED_ORDER_H
#define MINIPOD_COLLECTIVES_SCHED_ORDER_H

#include "collectives/sched/sched.h"

typedef struct pod_sched_event { /* a message, or a step of one rank */
    int32_t rank, step;          /* for a message: of the receive; its peer is the sender */
    int32_t send_step;           /* for a message: the sender's step; else POD_NO_STEP */
    int32_t round;               /* moves from rank to rank (messages, REDUCE_FROM, REDUCE_ALL) that
                                    follow from one another, this one included, from 1 */
} pod_sched_event;

/* The SYNCs of one tag, which complete together, are events side by side, in the order of the ranks
 * that share. */

typedef struct pod_sched_order {
    const pod_sched_event *event;
    int32_t n_events, n_rounds;
} pod_sched_order;

/* Into the arena, with working memory of its own. E_INVALID as pod_sched_verify says for messages,
 * sharing and deadlock; E_NOMEM. */
POD_MUST pod_status pod_sched_order_build(pod_arena *a, const pod_sched *const all[], int n_ranks,
                                          pod_sched_order *out);

#endif
