/* What a simulation knows of a collective: what its ranks do, and how far they are.
 *
 * What never changes is kept once for all ranks of a class (sim_classes.h): a table of the steps of
 * each class, its column. What a run changes is a word for each step of each core that needs one,
 * where a core is a rank that is simulated: all, or one of each class. What is of one core lies
 * together: with a straggler no two are at the same place at the same time, and what a core needs
 * next is beside what it has just needed. The id of a step is its position in the schedule <<
 * n_slot_bits | core. Events at the same time run in the order of their ids. */
#ifndef MINIPOD_COLLECTIVES_EXEC_SIM_CORE_H
#define MINIPOD_COLLECTIVES_EXEC_SIM_CORE_H

#include "collectives/exec/sim/sim.h"
#include "collectives/mesh/detour.h"
#include "collectives/net/busy.h"
#include "collectives/net/engine.h"
#include "collectives/net/links.h"

/* Kinds; POD__SIM_HEAD and POD__SIM_DONE are no step's own. */
typedef enum pod__sim_event {
    POD__SIM_SEND, /* a SEND begins */
    POD__SIM_HEAD, /* the head of its message comes to a link */
    POD__SIM_WORK, /* a step has all that it works on */
    POD__SIM_DONE  /* a rank, with all of its steps */
} pod__sim_event;

enum {
    POD__SIM_PLACE_BITS = 24,
    POD__SIM_WAITS_BITS = 13,
    POD__SIM_MANY_WAITS = (1 << POD__SIM_WAITS_BITS) - 1, /* so many or more: `rest` tells */
    POD__SIM_NEAR_EDGES = 2,
    /* What is no event when it has been told everything. */
    POD__SIM_KNOWN = POD__SIM_HEAD, /* is complete: a RECV, a JOIN */
    POD__SIM_SYNC = POD__SIM_DONE
};

/* The time of a step is known as soon as the times of all that it waits for are, be they to come:
 * then those that wait for it are told, without an event. Besides the steps in its `after` a
 * receive waits for its message, and a step that comes after none for the start of its rank. But a
 * receive that comes after a SEND is not told by that when its message cannot come sooner. */
typedef struct pod__sim_edge { /* a word: who is told, with what is asked of it then */
    uint64_t place : POD__SIM_PLACE_BITS;
    uint64_t word : POD__SIM_PLACE_BITS + 1; /* in `state`, of a step of which something is kept */
    uint64_t n_waits : POD__SIM_WAITS_BITS;
    uint64_t then : 2; /* event, KNOWN, SYNC */
} pod__sim_edge;

typedef struct pod__sim_step { /* half a cache line: what most events need */
    int64_t cost;              /* SEND: bytes; RECV_REDUCE, COPY, REDUCE_*: ps of work */
    /* Those that come after it, as many as there is room for. SEND: the first is its receive. */
    pod__sim_edge edge[POD__SIM_NEAR_EDGES];
    int32_t more; /* the others, from here on in `more` */
    uint32_t is_send : 1;
    uint32_t dim : 2, is_down : 1, is_near : 1; /* SEND: the first hop; it is the only one */
    uint32_t is_rerouted : 1; /* SEND: for a core of the column at least it meets a failed link */
    uint32_t is_silent : 1;   /* those that come after it are told by others: no edges, not last */
    uint32_t n_edges : 25;    /* of its own rank */
} pod__sim_step;

typedef struct pod__sim_rest { /* of a step, what few events need */
    int32_t peer; /* SEND: where the class's representative sends it; SYNC: its group */
    int32_t word, n_waits;
    pod_step_kind kind;
} pod__sim_rest;

typedef struct pod__sim_sync { /* the SYNCs of one tag of ranks that share */
    int32_t first, n;          /* in `sync_member` */
} pod__sim_sync;

typedef struct pod__sim_plan { /* of collectives that differ in their counts at most */
    int n_columns;
    int32_t n_places;          /* the longest schedule has */
    int32_t n_words;           /* of a core, that a run keeps */
    int32_t *n_steps, *n_last; /* (n_columns); last: steps after which none comes */
    pod__sim_step *step;       /* (n_columns, n_places) */
    size_t step_bytes;
    pod__sim_rest *rest; /* (n_columns, n_places) */
    pod__sim_edge *more;
    int32_t *first_root; /* (n_columns + 1) */
    pod__sim_edge *root; /* steps that come after none */
    pod__sim_sync *sync; /* ranks that share are a class each */
    int32_t n_syncs;
    struct pod__sim_member {
        int32_t place, core;
    } * sync_member;
    int32_t n_most_known; /* steps that can become known at one event */
    int64_t n_rerouted;   /* messages of all cores that meet a failed link */
    int64_t n_messages;   /* of one rank of each class, all together */
    double message_bytes;
} pod__sim_plan;

typedef struct pod__sim_part { /* of one core in one run */
    int64_t end_ps;            /* the latest of its last steps whose times are known */
    int32_t n_left;            /* of these, whose times are not */
    bool is_started;
} pod__sim_part;

/* Of a step in one run: the latest time of what it waits for, as far as known (of a SEND on its way
 * when the tail of its message follows the head), and how many have told theirs. */
typedef uint64_t pod__sim_state;
enum { POD__SIM_TOLD_BITS = 2 };

/* Waits for more than is counted in these bits: for that it has a word more. */
static inline bool pod__sim_is_wide(int32_t n_waits) { return n_waits >= 1 << POD__SIM_TOLD_BITS; }

typedef struct pod__sim_group { /* of ranks that share, at their SYNCs of one tag, in one run */
    int64_t at_ps;
    int32_t n_waits;
} pod__sim_group;

struct pod_sim_coll {
    uint32_t number;
    bool is_preferred;
    int32_t n_places, n_words; /* of the plan, as its steps are */
    const pod__sim_step *step;
    const pod__sim_plan *plan;
    double scale; /* of costs */
    double message_bytes;
    int64_t n_messages;
    int n_cores, n_not_done; /* n_not_done: 0 when it does not run */
    pod__sim_part *part;     /* (n_slots) */
    pod__sim_group *group;   /* (n_syncs) */
    pod__sim_state *state;   /* (n_slots, n_words); NULL when it does not run */
};

/* What a key of an event is of, from its high bits down: kind, collective, how far a head has come
 * (as a rank, counted from its sender at rank 0), step or core. */
enum {
    POD__SIM_KIND_SHIFT = 62,
    POD__SIM_COLL_SHIFT = 50,
    POD__SIM_FAR_SHIFT = 32,
    POD__SIM_MAX_COLLS = 1 << (POD__SIM_KIND_SHIFT - POD__SIM_COLL_SHIFT),
    POD__SIM_MAX_RANKS = 1 << (POD__SIM_COLL_SHIFT - POD__SIM_FAR_SHIFT),
    POD__SIM_MAX_WINDOW_BITS = 30 /* a millisecond, that windows and places have room in an order */
};

typedef struct pod__sim_known { /* when a step is complete */
    int64_t at_ps;
    uint32_t id;
} pod__sim_known;

typedef struct pod__sim_shared { /* by collectives with the same arguments */
    struct pod__sim_shared *next;
    const pod_coll_algo *algo; /* NULL: of schedules from outside */
    pod_coll_args args;
    pod__sim_plan *plan;
} pod__sim_shared;

typedef struct pod__sim_next { /* of a core, on one side */
    int32_t core;              /* who stands for the next; -1: no core */
    int32_t link;              /* to it, as pod_links_kept numbers it */
} pod__sim_next;

struct pod_sim {
    pod_arena *arena;
    pod_engine *engine;
    pod_net net;
    pod_sim_classes classes;
    pod_links *links;
    pod_detours *detours; /* NULL: no link has failed */
    int n_cores;
    int n_slots, n_slot_bits;      /* numbers of cores are below n_slots; not each is one */
    uint32_t slot_mask;            /* of n_slot_bits */
    int n_member_bits;             /* cores that lie together are numbered by the lowest bits */
    int n_columns, n_column_shift; /* of plans and costs: the column of a core is its number, or
                                      that of those who lie together */
    int n_meant;                   /* ranks that a core stands for */
    pod_busy *sender;              /* (n_slots) a core sends one thing at a time */
    pod_busy *unit;                /* (n_slots) and adds and copies one */
    int32_t *rank;                 /* (n_slots); -1: no core */
    pod__sim_next *next;           /* (2 n_dims, n_slots) up and down */
    int16_t *queue_place; /* (n_slots) of their events in the queue; NULL: all are at one */
    pod_coord *moved_by;  /* (n_slots) from the first rank of its class; NULL: all are first */
    int32_t *name;        /* (n_slots) what callers call it: a rank, or a class */
    int32_t *core_named;  /* (n_cores) */
    int32_t *core_of;     /* (n_ranks) who stands for it */
    int32_t *column_of;   /* (n_ranks) */
    int32_t *column_rank; /* (n_columns); -1: no core */
    pod_coord *coord;     /* (n_ranks) */
    pod_sim_coll **coll;
    int n_colls, coll_capacity;
    pod__sim_shared *shared;
    int64_t message_ps, sync_ps, now_ps;
    pod__sim_known *known; /* steps of the collective that the event is of, whose dependents are to
                              be told of their time */
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

/* The rank that lies from rank a as b from rank 0, round the mesh. */
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

/* The rank that a core sends to, of whose class the representative sends to `peer`. */
static inline int pod__sim_peer_of(const pod_sim *sim, int peer, int core)
{
    if (!sim->moved_by) return peer;
    return pod__sim_moved(sim, sim->coord[peer], sim->moved_by[core]);
}

/* Of which sched[k] is the schedule of rank column_rank[k] (NULL: no core): steps numbered,
 * messages and syncs paired, dependents listed, costs of elements of type `t`. In the arena but for
 * what free gives back. E_INVALID as pod_sim_add. */
POD_MUST pod_status pod__sim_plan_build(pod_arena *a, const pod_sim *sim,
                                        const pod_sched *const sched[], pod_dtype t,
                                        pod__sim_plan **out);
void pod__sim_plan_free(pod__sim_plan *p);

/* Tells the queue where the events of each core are, once it and the cores are there. */
POD_MUST pod_status pod__sim_set_places(pod_sim *sim);

void pod__sim_put_state(const pod_sim *sim, pod_sim_coll *c); /* when a run has ended, if it has */

/* All 0; NULL: none. NULL may be put. */
void *pod__sim_take_pages(size_t bytes);
void pod__sim_put_pages(void *at, size_t bytes);

/* Whether they are the same but for `count`. */
bool pod__sim_same_but_count(const pod_coll_args *a, const pod_coll_args *b);

#endif
