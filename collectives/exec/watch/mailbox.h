/* What the ranks of a node show each other, whichever collectives they are in: who sleeps and wants
 * to be woken, who is alive, who waits, and whether one of them ends the job. For collectives/exec
 * only. */
#ifndef MINIPOD_COLLECTIVES_EXEC_WATCH_MAILBOX_H
#define MINIPOD_COLLECTIVES_EXEC_WATCH_MAILBOX_H

#include "collectives/exec/comm.h"

typedef struct pod__mailbox pod__mailbox;

POD_MUST pod_status pod__mailbox_open(pod_comm *c, pod__mailbox **out); /* collective */
void pod__mailbox_close(pod__mailbox *b); /* collective; NULL is allowed */

/* Whether the ranks of this node outnumber the CPUs that they may run on. */
bool pod__mailbox_is_crowded(const pod__mailbox *b);

/* A rank of this node that ended before it closed its mailbox, by a signal or otherwise; -1: none.
 * Every rank holds a lock that the kernel marks when its holder is gone. */
int pod__mailbox_find_dead(const pod__mailbox *b);

/* This rank waits, and has looked around at this time; 0: it does not wait. */
void pod__mailbox_show_wait(const pod__mailbox *b, int64_t looked_ns);
void pod__mailbox_show_step(const pod__mailbox *b, int64_t step);
/* What a rank of this node shows. */
int64_t pod__mailbox_wait_of(const pod__mailbox *b, int rank);
int64_t pod__mailbox_step_of(const pod__mailbox *b, int rank);

/* True for the first rank of this node that asks: it ends the job, and says why. Safe in a signal
 * handler, as is the next. */
bool pod__mailbox_claim_end(const pod__mailbox *b);
bool pod__mailbox_is_ending(const pod__mailbox *b); /* one of them has claimed it */

/* The doorbell of a rank of this node: 1 while it sleeps or is about to. */
uint32_t *pod__mailbox_doorbell(const pod__mailbox *b, int rank);

void pod__doorbell_ring(uint32_t *doorbell); /* wakes who sleeps there */

/* Who waits sets its doorbell, then looks once more at what it waits for, then sleeps. Who posts
 * what another may wait for does so by an operation that is sequentially consistent, then looks at
 * the doorbell. In the one order of all such operations either the look comes after the post, or
 * the doorbell was set before it is looked at: nobody sleeps over what is there. Being
 * sequentially consistent the post is a release too: what was written before it is seen by who
 * sees it. */
static inline void pod__doorbell_look(uint32_t *doorbell)
{
    if (__atomic_load_n(doorbell, __ATOMIC_SEQ_CST)) pod__doorbell_ring(doorbell);
}

static inline void pod__doorbell_set(uint32_t *doorbell)
{
    __atomic_store_n(doorbell, 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline void pod__doorbell_clear(uint32_t *doorbell)
{
    __atomic_store_n(doorbell, 0, __ATOMIC_RELAXED);
}

#endif
