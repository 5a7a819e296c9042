/* What the ranks of a node show each other, whichever collectives they are in: who sleeps and wants
 * to be woken, who is alive, who waits, and whether one of them ends the job. For collectives/exec
 * only. */
#ifndef MINIPOD_COLLECTIVES_EXEC_WATCH_BOARD_H
#define MINIPOD_COLLECTIVES_EXEC_WATCH_BOARD_H

#include "collectives/exec/comm.h"

typedef struct pod__board pod__board;

POD_MUST pod_status pod__board_open(pod_comm *c, pod__board **out); /* collective */
void pod__board_close(pod__board *b); /* collective; NULL is allowed */

/* Whether the ranks of this node outnumber the CPUs that they may run on. */
bool pod__board_is_crowded(const pod__board *b);

/* A rank of this node that ended before it closed its board, by a signal or otherwise; -1: none.
 * Every rank holds a lock that the kernel marks when its holder is gone. */
int pod__board_find_dead(const pod__board *b);

/* This rank waits, and has looked around at this time; 0: it does not wait. */
void pod__board_show_wait(const pod__board *b, int64_t looked_ns);
void pod__board_show_step(const pod__board *b, int64_t step);
/* What a rank of this node shows. */
int64_t pod__board_wait_of(const pod__board *b, int rank);
int64_t pod__board_step_of(const pod__board *b, int rank);

/* True for the first rank of this node that asks: it ends the job, and says why. Safe in a signal
 * handler, as is the next. */
bool pod__board_claim_end(const pod__board *b);
bool pod__board_is_ending(const pod__board *b); /* one of them has claimed it */

/* The bell of a rank of this node: 1 while it sleeps or is about to. */
uint32_t *pod__board_bell(const pod__board *b, int rank);

void pod__bell_ring(uint32_t *bell); /* wakes who sleeps there */

/* Who waits sets its bell, then looks once more at what it waits for, then sleeps. Who posts what
 * another may wait for does so by an operation that is sequentially consistent, then looks at the
 * bell. In the one order of all such operations either the look comes after the post, or the bell
 * was set before it is looked at: nobody sleeps over what is there. Being sequentially consistent
 * the post is a release too: what was written before it is seen by who sees it. */
static inline void pod__bell_look(uint32_t *bell)
{
    if (__atomic_load_n(bell, __ATOMIC_SEQ_CST)) pod__bell_ring(bell);
}

static inline void pod__bell_set(uint32_t *bell)
{
    __atomic_store_n(bell, 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline void pod__bell_clear(uint32_t *bell) { __atomic_store_n(bell, 0, __ATOMIC_RELAXED); }

#endif
