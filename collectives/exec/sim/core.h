/* What a simulation knows of its machine and of its collectives: what ranks do, and how far they
 * are.
 *
 * A core is a rank that is simulated: every rank, or one for each class (classes.h). What never
 * changes is kept once for a class, its column of a plan: a table of the steps, which are named by
 * their places in the schedule. What a run changes is a state for each core and step that needs
 * one. */
#ifndef MINIPOD_COLLECTIVES_EXEC_SIM_CORE_H
#define MINIPOD_COLLECTIVES_EXEC_SIM_CORE_H

#include "collectives/exec/sim/sim.h"
#include "collectives/mesh/detour.h"
#include "collectives/net/busy.h"
#include "collectives/net/engine.h"
#include "collectives/net/links.h"

typedef enum pod__sim_event {
    POD__SIM_SEND, /* a SEND begins */
    POD__SIM_HEAD, /* the head of its message comes to a link */
    POD__SIM_WORK, /* a step has all that it works on */
    POD__SIM_DONE  /* a rank, with all of its steps */
} pod__sim_event;

/* ---- what ranks do --------------------------------------------------------------------------- */

/* The time of a step is known as soon as the times of all that it waits for are, even if they are
 * to come: then its dependents learn it, without an event. A step waits for the steps in its
 * `after`, a receive for its message, and a step that comes after none for the start of its rank. */
typedef struct pod__sim_step { /* half a cache line */
    uint8_t kind;              /* pod_step_kind */
    uint8_t n_waits;
    bool is_rerouted;     /* SEND: for a core of the column at least it meets a failed link */
    int32_t peer;         /* SEND: where the class's first rank sends it; SYNC: its group */
    int32_t receive;      /* SEND: the place of its receive, at the peer */
    int32_t state;        /* in those of a core; -1: none is kept */
    int32_t n_dependents; /* of its own rank */
    int32_t dependent;    /* the place of the only one, or where they begin in the plan's list */
    int64_t cost;         /* SEND: bytes; of what works: ps */
} pod__sim_step;

typedef struct pod__sim_sync { /* the SYNCs of one tag of ranks that share */
    int32_t first, n;          /* in `sync_member` */
} pod__sim_sync;

typedef struct pod__sim_plan { /* of collectives that differ in their counts at most */
    int n_columns;
    int32_t n_places;          /* the longest schedule has */
    int32_t n_states;          /* of a core */
    int32_t *n_steps, *n_last; /* (n_columns); last: steps that have no dependents */
    pod__sim_step *step;       /* (n_columns, n_places) */
    size_t step_bytes;
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
    int64_t n_messages;   /* of one rank of each class, all together */
    double message_bytes;
} pod__sim_plan;

/* ---- a run ------------------------------------------------------------------------------------ */

typedef struct pod__sim_state { /* of a step of a core, in one run */
    uint64_t at_ps : 62; /* the latest of what it waits for, as far as known; of a SEND on its way,
                            when the tail of its message will be where the head is */
    uint64_t n_known : 2;
} pod__sim_state;

typedef struct pod__sim_part { /* of one core in one run */
    int64_t end_ps;            /* the latest of its last steps whose times are known */
    int32_t n_left;            /* of these, whose times are not */
    bool is_started;
} pod__sim_part;

typedef struct pod__sim_group { /* of ranks that share, at their SYNCs of one tag, in one run */
    int64_t at_ps;
    int32_t n_waits;
} pod__sim_group;

struct pod_sim_coll {
    uint32_t number;
    bool is_preferred;
    const pod__sim_plan *plan;
    double scale; /* of costs */
    double message_bytes;
    int64_t n_messages;
    int n_not_done;        /* cores; 0 when it does not run */
    pod__sim_part *part;   /* (n_cores) */
    pod__sim_group *group; /* (n_syncs) */
    pod__sim_state *state; /* (n_cores, n_states); NULL when it does not run */
};

/* A key of an event, from its high bits down: kind, collective, how far a head has come (as a
 * rank, counted from its sender at rank 0), place of the step, core. So ties are decided in that
 * order. */
enum {
    POD__SIM_KIND_SHIFT = 62,
    POD__SIM_COLL_SHIFT = 50,
    POD__SIM_FAR_SHIFT = 32,
    POD__SIM_MAX_COLLS = 1 << (POD__SIM_KIND_SHIFT - POD__SIM_COLL_SHIFT),
    POD__SIM_MAX_RANKS = 1 << (POD__SIM_COLL_SHIFT - POD__SIM_FAR_SHIFT)
};

typedef struct pod__sim_known { /* a step that is complete at this time */
    int64_t at_ps;
    int32_t place, core;
} pod__sim_known;

typedef struct pod__sim_shared { /* by collectives with the same arguments */
    struct pod__sim_shared *next;
    const pod_coll_algo *algo; /* NULL: of schedules from outside */
    pod_coll_args args;
    pod__sim_plan *plan;
} pod__sim_shared;

struct pod_sim {
    pod_arena *arena;
    pod_engine *engine;
    pod_net net;
    pod_sim_classes classes;
    pod_links *links;
    pod_detours *detours; /* NULL: no link has failed */
    int n_cores, n_core_bits;
    int n_meant;         /* ranks that a core stands for */
    pod_busy *sender;    /* (n_cores) a core sends one thing at a time */
    pod_busy *unit;      /* (n_cores) and adds and copies one */
    int32_t *rank;       /* (n_cores) */
    int32_t *column;     /* (n_cores) */
    pod_coord *moved_by; /* (n_cores) from the first rank of its class; NULL: all are first */
    int32_t *core_of;    /* (n_ranks) who stands for it */
    pod_coord *coord;    /* (n_ranks) */
    pod_sim_coll **coll;
    int n_colls, coll_capacity;
    pod__sim_shared *shared;
    int64_t message_ps, sync_ps;
    pod__sim_known *known; /* steps of one collective whose dependents are to learn their time */
    int32_t n_known, known_capacity;
    int64_t n_messages, n_rerouted, wait_sender_ps, wait_work_ps;
    double message_bytes;
};

static inline pod__sim_step *pod__sim_step_at(const pod__sim_plan *p, int32_t place, int column)
{
    return &p->step[(int64_t)column * p->n_places + place];
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

/* The rank that a core sends to, of whose class the first rank sends to `peer`. */
static inline int pod__sim_peer_of(const pod_sim *sim, int peer, int core)
{
    if (!sim->moved_by) return peer;
    return pod__sim_moved(sim, sim->coord[peer], sim->moved_by[core]);
}

/* Of which sched[k] is the schedule of the first rank of class k: messages and syncs paired,
 * dependents listed, costs of elements of type `t`. In the simulation's arena,
 * but for what free gives back. E_INVALID as
 * pod_sim_add. */
POD_MUST pod_status pod__sim_plan_build(const pod_sim *sim, const pod_sched *const sched[],
                                        pod_dtype t, pod__sim_plan **out);

void pod__sim_plan_free(pod__sim_plan *p); /* what is not in the arena */

void pod__sim_put_state(const pod_sim *sim, pod_sim_coll *c); /* when a run has ended, if it has */

/* Whether they are the same but for `count`. */
bool pod__sim_same_but_count(const pod_coll_args *a, const pod_coll_args *b);

#endif
