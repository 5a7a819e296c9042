/* A plan under construction: the steps of all columns' schedules, and their partners. Schedules are
 * built one after another, and only what a plan needs of them is kept. */
#ifndef MINIPOD_COLLECTIVES_EXEC_SIM_PLAN_H
#define MINIPOD_COLLECTIVES_EXEC_SIM_PLAN_H

#include "collectives/exec/sim/core.h"

enum { POD__SIM_NONE = -1 };

typedef struct pod__sim_source { /* a pod_step without its position in the buffers */
    int64_t count;
    int32_t peer, tag, after[2];
    int32_t partner;        /* place of the other half of a message; number of a SYNC's group */
    uint8_t kind, src, dst; /* pod_step_kind and pod_bufs */
    uint8_t left_out; /* dropped `after`s: bit j: after[j]; bit 2: another step's on this one */
} pod__sim_source;

typedef struct pod__sim_sharers { /* the ranks that share memory with a column's */
    int32_t first, n;             /* n: 0 if there are none */
} pod__sim_sharers;

typedef struct pod__sim_builder {
    pod_arena *out, *work;
    pod_sim *sim;
    const pod_sim_classes *classes;
    const pod_coord *coord;          /* (n_ranks) */
    const int32_t *column_of, *rank; /* (n_ranks) and (n_columns) */
    const pod__sim_origin *origin;
    pod__sim_source **steps;   /* (n_columns, n_steps) of the schedules, in sim->source */
    pod__sim_sharers *sharers; /* (n_columns) */
    int32_t n_steps;           /* of all columns */
    pod__sim_plan *plan;
} pod__sim_builder;

static inline bool pod__sim_receives(const pod__sim_source *s)
{
    return s->kind == POD_STEP_RECV || s->kind == POD_STEP_RECV_REDUCE;
}

/* Builds the schedule of a column in the arena, or returns the given one. */
POD_MUST pod_status pod__sim_sched_of(const pod__sim_builder *b, pod_arena *a, int column,
                                      const pod_sched **out);

/* Fill `partner`; the second function also lists the groups of SYNCs in the plan. Fail with
 * E_INVALID, naming rank and step, if there is no other half. */
POD_MUST pod_status pod__sim_pair_messages(pod__sim_builder *b);
POD_MUST pod_status pod__sim_group_syncs(pod__sim_builder *b);

#endif
