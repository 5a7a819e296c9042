/* What a simulation knows of a collective: what its ranks do, and how far they are.
 *
 * What never changes is kept once for all ranks of a class (sim_classes.h): a table with a column for
 * each class and a row for each place in a schedule. What a run changes is a word for each step of
 * each core, where a core is a rank that is simulated: all, or one of each class. Of both, columns
 * lie one after another, but cores of a class side by side at each place, and where every rank is a
 * class, those along dimensions that wrap: they run alike, so what happens at one time lies together
 * in memory, and what follows it next to it. A step is named by place << n_slot_bits | core; names
 * decide ties as well. */
#ifndef MINIPOD_COLLECTIVES_EXEC_SIM_H
#define MINIPOD_COLLECTIVES_EXEC_SIM_H

#include "collectives/exec/exec_sim.h"
#include "collectives/mesh/detour.h"
#include "collectives/net/engine.h"
#include "collectives/net/links.h"

/* The time of a step is known as soon as the times of all that it waits for are, be they to come:
 * then those that wait for it are told, without an event. Besides the steps in its `after` a
 * receive waits for its message, and a step that comes after none for the start of its rank. */
typedef struct pod__sim_step {
    int32_t edge;    /* its dependents: n_edges from here on in `dependent` */
    int32_t partner; /* SEND: place of its receive; SYNC: its group */
    int32_t peer;    /* SEND: where the class's representative sends it */
    uint32_t kind : 4, n_waits : 2;
    uint32_t dim : 2, is_down : 1, is_near : 1; /* SEND: the first hop; it is the only one */
    uint32_t is_rerouted : 1; /* SEND: for a core of the column at least it meets a failed link */
    uint32_t n_edges : 21;
} pod__sim_step;

typedef struct pod__sim_sync { /* the SYNCs of one tag of ranks that share */
    int32_t first, n;          /* in `sync_member` */
} pod__sim_sync;

typedef struct pod__sim_plan { /* of collectives that differ in their counts at most */
    int n_columns, n_bits;
    int32_t n_places;    /* the longest schedule has */
    int32_t *n_steps;    /* (n_columns) */
    pod__sim_step *step; /* (n_places, n_columns) */
    int32_t *dependent;  /* places */
    int32_t *first_root; /* (n_columns + 1) */
    int32_t *root;       /* places of steps that come after none */
    pod__sim_sync *sync; /* ranks that share are a class each */
    int32_t n_syncs;
    struct pod__sim_member {
        int32_t place, core;
    } * sync_member;
    int32_t n_most_known; /* steps that can become known at one event */
    int64_t n_rerouted;   /* messages of all cores that meet a failed link */
} pod__sim_plan;

typedef struct pod__sim_costs {
    int64_t *cost; /* (n_places, n_columns) SEND: bytes; RECV_REDUCE, COPY, REDUCE_*: ps of work */
    int64_t n_messages; /* of one rank of each class, all together */
    double message_bytes;
} pod__sim_costs;

typedef struct pod__sim_part { /* of one core in one run */
    int64_t end_ps;            /* the latest of its steps whose times are known */
    int32_t n_left;
    bool is_started;
} pod__sim_part;

/* Of a step in one run: the latest time of what it waits for, as far as known (of a SEND on its way
 * when the tail of its message follows the head), and how many have told theirs. */
typedef uint64_t pod__sim_state;
enum { POD__SIM_TOLD_BITS = 2 };

typedef struct pod__sim_group { /* of ranks that share, at their SYNCs of one tag, in one run */
    int64_t at_ps;
    int32_t n_waits;
} pod__sim_group;

struct pod_sim_coll {
    uint32_t number;
    const pod__sim_plan *plan;
    const int64_t *cost;
    double scale; /* of costs */
    double message_bytes;
    int64_t n_messages;
    int n_cores, n_not_done; /* n_not_done: 0 when it does not run */
    pod__sim_part *part;     /* (n_slots) */
    pod__sim_group *group;   /* (n_syncs) */
    pod__sim_state *state;   /* (n_places, n_slots); NULL when it does not run */
};

/* What a key of an event is of, from its high bits down: kind, collective, how far a head has come
 * (as a rank, counted from its sender at rank 0), step or core. */
enum { POD__SIM_KIND_SHIFT = 62, POD__SIM_COLL_SHIFT = 50, POD__SIM_FAR_SHIFT = 32 };

typedef struct pod__sim_core { /* what a rank does one thing at a time with */
    int64_t sender_free_ps, unit_free_ps;
} pod__sim_core;

typedef struct pod__sim_shared { /* by collectives with the same arguments */
    struct pod__sim_shared *next;
    const pod_coll_algo *algo; /* NULL: of schedules from outside */
    pod_coll_args args;
    pod__sim_plan *plan;
    pod__sim_costs costs;
} pod__sim_shared;

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
    pod__sim_core *core;           /* (n_slots) */
    int32_t *rank;                 /* (n_slots); -1: no core */
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
    uint32_t *known; /* steps of the collective that the event is of, whose dependents are to be
                        told of their time */
    int32_t n_known, known_capacity;
    int64_t n_messages, n_rerouted, wait_sender_ps, wait_work_ps;
    double message_bytes;
};

/* Where a table with so many places has a step, with 2^bits columns side by side. */
static inline int64_t pod__sim_at(int32_t place, int column, int32_t n_places, int bits)
{
    /* Place by place of n_places, and within one the lowest bits of the column: the higher ones stand
     * in the column, which is added, once already. */
    return (((int64_t)(column >> bits) * (n_places - 1) + place) << bits) + column;
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

/* The rank that a core sends to. */
static inline int pod__sim_peer_of(const pod_sim *sim, const pod__sim_step *send, int core)
{
    if (!sim->moved_by) return send->peer;
    return pod__sim_moved(sim, sim->coord[send->peer], sim->moved_by[core]);
}

/* Of which sched[k] is the schedule of rank column_rank[k] (NULL: no core): steps numbered, messages and syncs
 * paired, dependents listed. In the arena but for what free gives back. E_INVALID as pod_sim_add. */
POD_MUST pod_status pod__sim_plan_build(pod_arena *a, const pod_sim *sim,
                                        const pod_sched *const sched[], pod__sim_plan **out);
void pod__sim_plan_free(pod__sim_plan *p);

/* What the steps of a plan cost: created, then put for each class. */
POD_MUST pod_status pod__sim_costs_create(const pod__sim_plan *p, pod__sim_costs *out);
void pod__sim_costs_put(const pod__sim_plan *p, const pod_net *net, int k, const pod_sched *s,
                        pod_dtype t, pod__sim_costs *to);
void pod__sim_costs_free(pod__sim_costs *c);

/* Whether they are the same but for `count`. */
bool pod__sim_same_but_count(const pod_coll_args *a, const pod_coll_args *b);

#endif
