/* The part of pod_sched_verify that checks which elements steps access. */
#ifndef MINIPOD_COLLECTIVES_SCHED_RACES_H
#define MINIPOD_COLLECTIVES_SCHED_RACES_H

#include <stdbool.h>

#include "collectives/sched/order.h"

/* Fails with E_INVALID and the text of pod_sched_verify. Spans must be within their buffers. */
POD_MUST pod_status pod__sched_check_races(pod_arena *work, const pod_sched *const all[],
                                           int n_ranks, const pod_sched_order *order);

/* Returns E_INVALID, with the text "schedule: rank 1 step 2 (recv ...): FAULT". */
pod_status pod__sched_blame(const pod_sched *const all[], int rank, int32_t i, const char *fault);

static inline bool pod__step_sums(const pod_step *s)
{
    return s->kind == POD_STEP_REDUCE_FROM || s->kind == POD_STEP_REDUCE_ALL;
}

static inline bool pod__step_reads(const pod_step *s)
{
    return s->count > 0 && s->kind != POD_STEP_RECV && s->kind != POD_STEP_JOIN;
}

static inline bool pod__step_writes(const pod_step *s)
{
    return s->count > 0 && s->kind != POD_STEP_SEND && s->kind != POD_STEP_JOIN;
}

#endif
