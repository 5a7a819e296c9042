#include "runtime/measure/timeline.h"

#include <inttypes.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "kernels/base/assert.h"

/* Events stand in blocks of max_events, one a step, used in turn: the i-th step of this run writes
 * into block i mod n_blocks. One block more than is kept, so that an open one harms none. */
struct pod_timeline {
    pod_arena *arena;
    pod_timeline_plan plan;
    pod_step_row *row;
    int64_t n_rows;
    pod_event *event;
    int64_t *n_events; /* by block */
    int64_t n_blocks;
    bool is_open;
};

pod_status pod_timeline_create(const pod_timeline_plan *plan, pod_timeline **out)
{
    POD_ASSERT(plan->max_steps >= 0 && plan->max_events >= 0 && plan->kept_steps >= 1,
               "%" PRId64 " steps, %" PRId64 " events, %" PRId64 " kept", plan->max_steps,
               plan->max_events, plan->kept_steps);
    pod_arena *arena;
    POD_TRY(pod_arena_create(NULL, &arena));
    pod_timeline *tl = POD_ARENA_NEW(arena, pod_timeline, 1);
    if (tl) {
        tl->arena = arena;
        tl->plan = *plan;
        tl->n_blocks = plan->kept_steps + 1;
        tl->row = POD_ARENA_NEW(arena, pod_step_row, plan->max_steps);
        tl->event = POD_ARENA_NEW(arena, pod_event, tl->n_blocks * plan->max_events);
        tl->n_events = POD_ARENA_NEW(arena, int64_t, tl->n_blocks);
    }
    if (!tl || !tl->row || !tl->event || !tl->n_events) {
        pod_arena_destroy(arena);
        return POD_E_NOMEM;
    }
    *out = tl;
    return POD_OK;
}

void pod_timeline_destroy(pod_timeline *tl)
{
    if (tl) pod_arena_destroy(tl->arena);
}

void pod_timeline_begin_step(pod_timeline *tl, int64_t step, pod_time at)
{
    POD_ASSERT(!tl->is_open && tl->n_rows < tl->plan.max_steps,
               "step %" PRId64 " begins in row %" PRId64 " of %" PRId64 "%s", step, tl->n_rows,
               tl->plan.max_steps, tl->is_open ? ", before the last one ended" : "");
    tl->is_open = true;
    tl->row[tl->n_rows] = (pod_step_row){.step = step, .begin = at};
    tl->n_events[tl->n_rows % tl->n_blocks] = 0;
}

void pod_timeline_add(pod_timeline *tl, pod_lane lane, pod_phase phase, int32_t instr,
                      pod_time begin, pod_time end)
{
    POD_ASSERT(tl->is_open && begin <= end, "event from %" PRId64 " to %" PRId64 " ps%s", begin,
               end, tl->is_open ? "" : " outside a step");
    pod_step_row *row = &tl->row[tl->n_rows];
    const int64_t block = tl->n_rows % tl->n_blocks;
    if (tl->n_events[block] == tl->plan.max_events) {
        row->n_dropped++;
        return;
    }
    tl->event[block * tl->plan.max_events + tl->n_events[block]++] =
        (pod_event){.begin = begin,
                    .end = end,
                    .step = row->step,
                    .rank = tl->plan.rank,
                    .instr = instr,
                    .phase = (uint8_t)phase,
                    .lane = (uint8_t)lane};
}

void pod_timeline_end_step(pod_timeline *tl, pod_time at)
{
    POD_ASSERT(tl->is_open, "a step ends that did not begin");
    pod_step_row *row = &tl->row[tl->n_rows];
    const int64_t block = tl->n_rows % tl->n_blocks;
    const pod_event *event = tl->event + block * tl->plan.max_events;
    row->end = at;
    row->other = at - row->begin;
    for (int64_t i = 0; i < tl->n_events[block]; i++) {
        const pod_time took = event[i].end - event[i].begin;
        if (event[i].lane == POD_LANE_COMM) row->comm += took;
        if (event[i].lane != POD_LANE_COMPUTE) continue;
        row->phase[event[i].phase] += took;
        row->other -= took;
    }
    POD_ASSERT(row->other >= 0, "events of step %" PRId64 " take %" PRId64 " ps more than the step",
               row->step, -row->other);
    tl->n_rows++;
    tl->is_open = false;
}

const pod_step_row *pod_timeline_rows(const pod_timeline *tl, int64_t *n)
{
    *n = tl->n_rows;
    return tl->row;
}

bool pod_timeline_is_virtual(const pod_timeline *tl) { return tl->plan.is_virtual; }

int pod_timeline_rank(const pod_timeline *tl) { return tl->plan.rank; }

int64_t pod_timeline_kept_room(const pod_timeline *tl)
{
    return tl->plan.kept_steps * tl->plan.max_events;
}

int64_t pod_timeline_copy_kept(const pod_timeline *tl, pod_event *out)
{
    const int64_t kept = tl->plan.kept_steps;
    int64_t n = 0;
    for (int64_t row = tl->n_rows > kept ? tl->n_rows - kept : 0; row < tl->n_rows; row++) {
        const int64_t block = row % tl->n_blocks;
        memcpy(out + n, tl->event + block * tl->plan.max_events,
               (size_t)tl->n_events[block] * sizeof out[0]);
        n += tl->n_events[block];
    }
    return n;
}
