/* A plan under construction: the steps of all classes' schedules, numbered consecutively, and their
 * partners. */
#ifndef MINIPOD_COLLECTIVES_EXEC_SIM_PLAN_H
#define MINIPOD_COLLECTIVES_EXEC_SIM_PLAN_H

#include "collectives/exec/sim/core.h"

enum { POD__SIM_NONE = -1 };

/* The number of a step is first[k] + place, so the steps of a class are consecutive. */
typedef struct pod__sim_builder {
    pod_arena *out, *work;
    const pod_sim *sim;
    const pod_sim_classes *classes;
    const pod_coord *coord;          /* (n_ranks) */
    const int32_t *column_of, *rank; /* (n_ranks) and (n_columns) */
    const pod_sched *const *sched;
    pod_dtype dtype;
    const pod_step **steps; /* (n_columns) of the schedules */
    int32_t *first;         /* (n_columns + 1) */
    int32_t *column;
    int32_t *partner;  /* by step */
    uint8_t *left_out; /* by step: which `after`s are left out; and whether another leaves it out */
    pod__sim_plan *plan;
} pod__sim_builder;

static inline const pod_step *pod__sim_source_of(const pod__sim_builder *b, int32_t i)
{
    const int k = b->column[i];
    return &b->steps[k][i - b->first[k]];
}

static inline int32_t pod__sim_place_of(const pod__sim_builder *b, int32_t i)
{
    return i - b->first[b->column[i]];
}

static inline bool pod__sim_receives(const pod_step *s)
{
    return s->kind == POD_STEP_RECV || s->kind == POD_STEP_RECV_REDUCE;
}

/* Fill `partner`: the other half of a message; the number of a SYNC's group in the plan, which
 * lists the groups. Fail with E_INVALID, naming rank and step, if there is no other half. */
POD_MUST pod_status pod__sim_pair_messages(pod__sim_builder *b);
POD_MUST pod_status pod__sim_group_syncs(pod__sim_builder *b);

#endif
