/* What a simulation knows of a collective: its steps, of all ranks, in the form that is run. */
#ifndef MINIPOD_COLLECTIVES_EXEC_SIM_H
#define MINIPOD_COLLECTIVES_EXEC_SIM_H

#include "collectives/exec/exec_sim.h"
#include "collectives/net/engine.h"

enum { POD__SIM_NONE = -1 };

/* Steps are numbered so that those of one place in the schedules of a few ranks lie side by side:
 * ranks run alike, so what happens at one time lies together in memory. Numbers decide ties as
 * well, hence only a few: no part of a schedule goes before another part on all ranks.
 *
 * The time of a step is known as soon as the times of all that it waits for are, be they to come:
 * then those that wait for it are told, without an event. Besides the steps in its `after` a
 * receive waits for its message, and a step that comes after none for the start of its rank. */
typedef struct pod__sim_step { /* 32 bytes, two a cache line: what runs is bound by memory */
    int64_t at_ps;             /* the latest of what it waits for, as far as known; of a SEND that
                                  has begun, when the tail of its message follows the head */
    int32_t rank;
    int32_t partner;    /* SEND: its receive; SYNC: its group */
    int32_t edge;       /* its dependents: from here to where those of the next step begin */
    int32_t link;       /* SEND: the rank that the head of its message has come to; else the next in
                        the list of what is known to be complete */
    uint64_t cost : 56; /* SEND: bytes; RECV_REDUCE, COPY, REDUCE_*: ps of work, 20 hours at most */
    uint64_t kind : 4, n_after : 2, n_waits : 2;
} pod__sim_step;

typedef struct pod__sim_sync { /* the SYNCs of one tag of ranks that share */
    int32_t first, n;          /* in `sync_member` */
    int32_t n_waits;
    int64_t at_ps;
} pod__sim_sync;

typedef struct pod__sim_rank {
    int32_t n_steps, n_left;
    int32_t root;   /* its steps that come after none: in `root`, to those of the next rank */
    int64_t end_ps; /* the latest of its steps whose times are known */
    bool is_started;
} pod__sim_rank;

struct pod_sim_coll {
    uint32_t number;
    int n_ranks, n_not_done; /* n_not_done: 0 before the first start */
    int32_t n_steps;
    pod__sim_rank *rank; /* (n_ranks + 1) */
    pod__sim_step *step; /* (n_steps + 1) */
    int32_t *dependent;  /* (edges) */
    int32_t *root;       /* steps */
    pod__sim_sync *sync; /* groups */
    int32_t n_syncs;
    int32_t *sync_member; /* steps */
};

/* Steps numbered through, messages and syncs paired, dependents listed; in the arena. */
POD_MUST pod_status pod__sim_coll_build(pod_arena *a, const pod_net *net, const pod_mesh *m,
                                        const pod_sched *const all[], pod_dtype t,
                                        pod_sim_coll **out);

#endif
