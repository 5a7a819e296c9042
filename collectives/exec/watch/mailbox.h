/* State that the ranks of a node show each other, independently of collectives: which rank sleeps
 * and must be woken, which is alive, which waits, and whether one of them ends the job. For
 * collectives/exec only. */
#ifndef MINIPOD_COLLECTIVES_EXEC_WATCH_MAILBOX_H
#define MINIPOD_COLLECTIVES_EXEC_WATCH_MAILBOX_H

#include "collectives/exec/comm.h"

typedef struct pod__mailbox pod__mailbox;

POD_MUST pod_status pod__mailbox_open(pod_comm *c, pod__mailbox **out); /* collective */
void pod__mailbox_close(pod__mailbox *b); /* collective; NULL is allowed */

/* Returns whether this node has more ranks than CPUs that they may run on. */
bool pod__mailbox_is_crowded(const pod__mailbox *b);

/* Returns a rank of this node that ended, by a signal or otherwise, before it closed its mailbox;
 * -1: none. Every rank holds a lock that the kernel marks when the holder dies. */
int pod__mailbox_find_dead(const pod__mailbox *b);

/* Shows that this rank waits and looked at the mailbox at this time; 0: it does not wait. */
void pod__mailbox_show_wait(const pod__mailbox *b, int64_t looked_ns);
void pod__mailbox_show_step(const pod__mailbox *b, int64_t step);
/* Return what a rank of this node shows. */
int64_t pod__mailbox_wait_of(const pod__mailbox *b, int rank);
int64_t pod__mailbox_step_of(const pod__mailbox *b, int rank);

/* Returns true for the first rank of this node that calls it: this rank ends the job and prints
 * why. Safe in a signal handler, like the next function. */
bool pod__mailbox_claim_end(const pod__mailbox *b);
bool pod__mailbox_is_ending(const pod__mailbox *b); /* a rank has claimed the end */

/* Returns the doorbell of a rank of this node: 1 while the rank sleeps or is about to. */
uint32_t *pod__mailbox_doorbell(const pod__mailbox *b, int rank);

void pod__doorbell_ring(uint32_t *doorbell); /* wakes the rank that sleeps there */

/* A rank that waits sets its doorbell, checks once more for what it waits for, and then sleeps. A
 * rank that posts something uses a sequentially consistent operation, and then reads the other
 * rank's doorbell. In the total order of these operations, either the check comes after the post,
 * or the doorbell is set before it is read: so no rank sleeps although its post has arrived. The
 * post is also a release: a rank that sees it sees all that was written before. */
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
