/* The data of a simulation: the steps of collectives, and the state of their runs.
 *
 * A "core" is a simulated rank: every rank, or one per class (classes.h). Constant data are stored
 * once for all ranks with the same schedule, in a table of steps that is called a column. A run
 * changes one word per core for each step that needs one. The words of a core are consecutive in
 * memory: with a straggler no two cores are at the same step at the same time, and a core's next
 * word is close to its last one. The id of a step is its position in the schedule << n_slot_bits |
 * core. Events at the same time run in the order of their ids. */
#ifndef MINIPOD_COLLECTIVES_EXEC_SIM_CORE_H
#define MINIPOD_COLLECTIVES_EXEC_SIM_CORE_H

#include "collectives/exec/sim/sim.h"
#include "collectives/mesh/detour.h"
#include "collectives/net/busy.h"
#include "collectives/net/engine.h"
#include "collectives/net/links.h"

/* Kinds of events. No step begins with POD__SIM_HEAD or POD__SIM_DONE. */
typedef enum pod__sim_event {
    POD__SIM_SEND, /* a SEND begins */
    POD__SIM_HEAD, /* the head of its message arrives at a link */
    POD__SIM_WORK, /* all inputs of a step are there */
    POD__SIM_DONE  /* a rank has completed all of its steps */
} pod__sim_event;

enum {
    POD__SIM_PLACE_BITS = 24,
    POD__SIM_WAITS_BITS = 13,
    POD__SIM_MANY_WAITS = (1 << POD__SIM_WAITS_BITS) - 1, /* in an edge: see n_waits in `rest` */
    POD__SIM_NEAR_EDGES = 2,
    /* Further values of pod__sim_edge.then, for steps that need no event when all their inputs are
     * known. */
    POD__SIM_KNOWN = POD__SIM_HEAD, /* a RECV or JOIN: complete at once */
    POD__SIM_SYNC = POD__SIM_DONE
};

/* The time of a step is known as soon as the times of all that it waits for are known, even if they
 * are in the future: then its dependents are notified, without an event. A receive also waits for
 * its message, and a step without `after` for the start of its rank. A receive after a SEND is not
 * notified by this SEND if its message cannot arrive earlier. */
typedef struct pod__sim_edge { /* a word: a dependent, and how to notify it */
    uint64_t place : POD__SIM_PLACE_BITS;
    uint64_t word : POD__SIM_PLACE_BITS + 1; /* index in `state`, if the step has a word */
    uint64_t n_waits : POD__SIM_WAITS_BITS;
    uint64_t then : 2; /* pod__sim_event, KNOWN or SYNC */
} pod__sim_edge;

typedef struct pod__sim_step { /* half a cache line: the data that most events need */
    int64_t cost;              /* SEND: bytes; RECV_REDUCE, COPY, REDUCE_*: work in ps */
    /* The first of its dependents. SEND: edge[0] is its receive. */
    pod__sim_edge edge[POD__SIM_NEAR_EDGES];
    int32_t more; /* index in `more` of the other dependents */
    uint32_t is_send : 1;
    uint32_t dim : 2, is_down : 1, is_near : 1; /* SEND: first hop; is_near: it is the only one */
    uint32_t is_rerouted : 1; /* SEND: its route has a failed link for some core of the column */
    uint32_t is_silent : 1;   /* other steps notify its dependents; it is not a last step */
    uint32_t n_edges : 25;    /* dependents of its own rank */
} pod__sim_step;

typedef struct pod__sim_rest { /* data of a step that few events need */
    int32_t peer;              /* SEND: receiver, for the class's representative; SYNC: its group */
    int32_t word, n_waits;
    pod_step_kind kind;
} pod__sim_rest;

typedef struct pod__sim_sync { /* the SYNCs of one tag of sharing ranks */
    int32_t first, n;          /* in `sync_member` */
} pod__sim_sync;

typedef struct pod__sim_plan { /* of collectives that differ at most in their counts */
    int n_columns;
    int32_t n_places;          /* steps of the longest schedule */
    int32_t n_words;           /* words per core in a run */
    int32_t *n_steps, *n_last; /* (n_columns); n_last: steps without dependents */
    pod__sim_step *step;       /* (n_columns, n_places) */
    pod__sim_rest *rest;       /* (n_columns, n_places), behind `step` in the same pages */
    size_t bytes;              /* of both */
    pod__sim_edge *more;
    int32_t *first_root; /* (n_columns + 1) */
    pod__sim_edge *root; /* steps without `after` */
    pod__sim_sync *sync; /* sharing ranks are classes of their own */
    int32_t n_syncs;
    struct pod__sim_member {
        int32_t place, core;
    } * sync_member;
    int32_t n_most_known; /* the largest number of steps whose times become known at one event */
    int64_t n_rerouted;   /* messages of all cores whose routes have a failed link */
    int64_t n_messages;   /* sum over one rank of each class */
    double message_bytes;
} pod__sim_plan;

typedef struct pod__sim_part { /* state of one core in one run */
    int64_t end_ps;            /* latest known time of its last steps */
    int32_t n_left;            /* last steps whose times are unknown */
    bool is_started;
} pod__sim_part;

/* State of a step in one run: the latest known time of the steps it waits for, and how many of them
 * have notified it. While the message of a SEND is on its way, the time is that at which its tail
 * reaches the node where its head is. */
typedef uint64_t pod__sim_state;
enum { POD__SIM_TOLD_BITS = 2 };

/* Returns whether a step waits for more than these bits can count; it then has a second word. */
static inline bool pod__sim_is_wide(int32_t n_waits) { return n_waits >= 1 << POD__SIM_TOLD_BITS; }

typedef struct pod__sim_group { /* state of the SYNCs of one tag in one run */
    int64_t at_ps;
    int32_t n_waits;
} pod__sim_group;

struct pod_sim_coll {
    uint32_t number;
    bool is_preferred;
    int32_t n_places, n_words; /* copies from the plan, as `step` is */
    const pod__sim_step *step;
    const pod__sim_plan *plan;
    double scale; /* factor on costs */
    double message_bytes;
    int64_t n_messages;
    int n_cores, n_not_done; /* n_not_done: 0 if it does not run */
    pod__sim_part *part;     /* (n_slots) */
    pod__sim_group *group;   /* (n_syncs) */
    pod__sim_state *state;   /* (n_slots, n_words); NULL if it does not run */
};

/* The fields of an event's key, from its high bits down: kind, collective, position of a head
 * relative to its sender (as a rank, with the sender at 0), step or core. */
enum {
    POD__SIM_KIND_SHIFT = 62,
    POD__SIM_COLL_SHIFT = 50,
    POD__SIM_FAR_SHIFT = 32,
    POD__SIM_MAX_COLLS = 1 << (POD__SIM_KIND_SHIFT - POD__SIM_COLL_SHIFT),
    POD__SIM_MAX_RANKS = 1 << (POD__SIM_COLL_SHIFT - POD__SIM_FAR_SHIFT),
    POD__SIM_MAX_WINDOW_BITS = 30 /* a millisecond, so that window and place fit an order */
};

typedef struct pod__sim_known { /* a step that is complete at this time */
    int64_t at_ps;
    uint32_t id;
} pod__sim_known;

typedef struct pod__sim_shared { /* a plan, shared by collectives with the same arguments */
    struct pod__sim_shared *next;
    const pod_coll_algo *algo; /* NULL: of given schedules */
    pod_coll_args args;
    pod__sim_plan *plan;
} pod__sim_shared;

typedef struct pod__sim_next { /* the neighbour of a core on one side */
    int32_t core;              /* core that represents it; -1: none */
    int32_t link;              /* link to it: pod_links_kept */
} pod__sim_next;

struct pod_sim {
    pod_arena *arena;
    pod_engine *engine;
    pod_net net;
    pod_sim_classes classes;
    pod_links *links;
    pod_detours *detours; /* NULL: no link has failed */
    int n_cores;
    int n_slots, n_slot_bits; /* core numbers are below n_slots; some are unused */
    uint32_t slot_mask;       /* mask of n_slot_bits bits */
    int n_member_bits;        /* low bits of a core's number that count cores close in memory */
    int n_columns, n_column_shift; /* of plans and costs: the column of a core is its number, or
                                      that of its group in memory */
    int n_meant;                   /* ranks that a core represents */
    pod_busy *sender;              /* (n_slots) for sends: one at a time */
    pod_busy *unit;                /* (n_slots) for sums and copies: one at a time */
    int32_t *rank;                 /* (n_slots); -1: unused */
    pod__sim_next *next;           /* (2 n_dims, n_slots), up and down */
    int16_t *queue_place; /* (n_slots) place of their events in the queue; NULL: one place */
    pod_coord *moved_by;  /* (n_slots) shift from the first rank of the class; NULL: no shifts */
    int32_t *name;       /* (n_slots) the number of the core's rank or class for callers of sim.h */
    int32_t *core_named; /* (n_cores) */
    int32_t *core_of;    /* (n_ranks) the core that represents it */
    int32_t *column_of;  /* (n_ranks) */
    int32_t *column_rank; /* (n_columns); -1: unused */
    pod_coord *coord;     /* (n_ranks) */
    pod_sim_coll **coll;
    int n_colls, coll_capacity;
    pod__sim_shared *shared;
    struct pod__sim_source *source; /* memory for the plan that is built (plan.h) */
    int64_t source_capacity;
    int64_t message_ps, sync_ps, now_ps;
    pod__sim_known *known; /* steps of the event's collective whose dependents must be notified */
    int32_t n_known, known_capacity;
    int64_t n_messages, n_rerouted, wait_sender_ps, wait_work_ps;
    double message_bytes;
};

static inline pod__sim_step *pod__sim_step_at(const pod__sim_plan *p, int32_t place, int column)
{
    return &p->step[(int64_t)column * p->n_places + place];
}

static inline pod__sim_rest *pod__sim_rest_at(const pod__sim_plan *p, int32_t place, int column)
{
    return &p->rest[(int64_t)column * p->n_places + place];
}

/* Returns the rank at offset b from rank a, with wrap-around. */
static inline int pod__sim_moved(const pod_sim *sim, pod_coord a, pod_coord b)
{
    const pod_mesh *m = &sim->classes.mesh;
    int rank = 0, stride = 1;
    for (int d = 0; d < m->n_dims; d++) {
        const int at = a.at[d] + b.at[d];
        rank += (at >= m->extent[d] ? at - m->extent[d] : at) * stride;
        stride *= m->extent[d];
    }
    return rank;
}

/* Returns the receiver of a core's message, if the representative of its class sends to `peer`. */
static inline int pod__sim_peer_of(const pod_sim *sim, int peer, int core)
{
    if (!sim->moved_by) return peer;
    return pod__sim_moved(sim, sim->coord[peer], sim->moved_by[core]);
}

typedef struct pod__sim_origin {   /* of the schedules of a plan */
    const pod_coll_algo *algo;     /* NULL: they are given */
    pod_coll_args args;            /* of given ones only the dtype */
    const pod_sched *const *given; /* by class; borrowed until the plan is built */
} pod__sim_origin;

/* Builds a plan in the arena of the simulation: numbers steps, pairs messages and SYNCs, lists
 * dependents, and computes costs. pod__sim_plan_free releases memory outside the arena. Fails with
 * E_INVALID as pod_sim_add and pod_sim_add_algo do. */
POD_MUST pod_status pod__sim_plan_build(pod_sim *sim, const pod__sim_origin *from,
                                        pod__sim_plan **out);
void pod__sim_plan_free(pod__sim_plan *p);

/* Sets the queue's places for the events of each core; queue and cores must exist. */
POD_MUST pod_status pod__sim_set_places(pod_sim *sim);

void pod__sim_put_state(const pod_sim *sim,
                        pod_sim_coll *c); /* releases the state of a run that has ended */

/* Allocate zeroed pages (NULL without memory), and release them (NULL is allowed). */
void *pod__sim_take_pages(size_t bytes);
void pod__sim_put_pages(void *at, size_t bytes);

/* Returns whether they differ at most in `count`. */
bool pod__sim_same_but_count(const pod_coll_args *a, const pod_coll_args *b);

#endif
