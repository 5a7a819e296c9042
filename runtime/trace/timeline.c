#include "runtime/trace/timeline.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "kernels/base/assert.h"

enum { BESIDE_A_STEP = 64 }; /* deeds that are kept, for each kept step and one more */

static const double MAX_KEPT_BYTES = 1 << 30; /* of a rank */

typedef struct followed {
    pod_track *track;
    uint8_t lane, thread;
} followed;

/* Events stand in blocks of max_events, one a step, used in turn: the i-th step of this run writes
 * into block i mod n_blocks. One block more than is kept, so that an open one harms none. Deed i of
 * all stands at i mod max_beside. */
struct pod_timeline {
    pod_arena *arena;
    pod_timeline_plan plan;
    pod_step_row *row;
    int64_t n_rows;
    pod_event *event;
    int64_t *n_events; /* by block */
    int64_t n_blocks;
    pod_event *beside;
    int64_t n_beside, max_beside;
    followed followed[POD_TIMELINE_TRACKS];
    int n_followed;
    int64_t n_forgotten; /* deeds dropped by tracks that are not followed any more */
    bool is_open;
};

static pod_status check_room(const pod_timeline_plan *plan)
{
    const double step_bytes =
        (double)(plan->max_events + BESIDE_A_STEP) * (double)sizeof(pod_event);
    const double bytes = (double)plan->kept_steps * step_bytes;
    if (bytes <= MAX_KEPT_BYTES) return POD_OK;
    return pod_fail(POD_E_INVALID,
                    "trace-steps: %" PRId64 " steps of %" PRId64
                    " events take %.3g GiB of a rank; the most that fit into 1 are %.0f",
                    plan->kept_steps, plan->max_events, bytes / MAX_KEPT_BYTES,
                    floor(MAX_KEPT_BYTES / step_bytes));
}

static pod_timeline_plan no_more_than_there_are(pod_timeline_plan plan)
{
    const int64_t most = plan.max_steps > 1 ? plan.max_steps : 1;
    if (plan.kept_steps > most) plan.kept_steps = most;
    return plan;
}

static bool take_memory(pod_timeline *tl)
{
    const pod_timeline_plan *plan = &tl->plan;
    tl->n_blocks = plan->kept_steps + 1;
    tl->max_beside = tl->n_blocks * BESIDE_A_STEP;
    tl->row = POD_ARENA_NEW(tl->arena, pod_step_row, plan->max_steps);
    tl->event = POD_ARENA_NEW(tl->arena, pod_event, tl->n_blocks * plan->max_events);
    tl->n_events = POD_ARENA_NEW(tl->arena, int64_t, tl->n_blocks);
    tl->beside = POD_ARENA_NEW(tl->arena, pod_event, tl->max_beside);
    return tl->row && tl->event && tl->n_events && tl->beside;
}

pod_status pod_timeline_create(const pod_timeline_plan *plan, pod_timeline **out)
{
    POD_ASSERT(plan->max_steps >= 0 && plan->max_events >= 0 && plan->kept_steps >= 1,
               "%" PRId64 " steps, %" PRId64 " events, %" PRId64 " kept", plan->max_steps,
               plan->max_events, plan->kept_steps);
    const pod_timeline_plan fitted = no_more_than_there_are(*plan);
    POD_TRY(check_room(&fitted));
    pod_arena *arena;
    POD_TRY(pod_arena_create(NULL, &arena));
    pod_timeline *tl = POD_ARENA_NEW(arena, pod_timeline, 1);
    if (tl) *tl = (pod_timeline){.arena = arena, .plan = fitted};
    if (!tl || !take_memory(tl)) {
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

/* ---- beside the steps ------------------------------------------------------------------------ */

static void keep_deed(pod_timeline *tl, int lane, int thread, const pod_done *d)
{
    POD_ASSERT(d->begin <= d->end, "%s from %" PRId64 " to %" PRId64 " ps", pod_deed_name(d->deed),
               d->begin, d->end);
    tl->beside[tl->n_beside++ % tl->max_beside] = (pod_event){.begin = d->begin,
                                                              .end = d->end,
                                                              .step = d->number,
                                                              .rank = tl->plan.rank,
                                                              .instr = -1,
                                                              .lane = (uint8_t)lane,
                                                              .deed = (uint8_t)d->deed,
                                                              .thread = (uint8_t)thread};
}

void pod_timeline_mark(pod_timeline *tl, pod_lane lane, pod_deed deed, int64_t number,
                       pod_time begin, pod_time end)
{
    const pod_done done = {.begin = begin, .end = end, .number = number, .deed = deed};
    keep_deed(tl, (int)lane, 0, &done);
}

void pod_timeline_follow(pod_timeline *tl, pod_lane lane, pod_track *track)
{
    POD_ASSERT(tl->n_followed < POD_TIMELINE_TRACKS, "more than %d tracks", POD_TIMELINE_TRACKS);
    int thread = 1; /* 0 is the one that steps */
    for (int i = 0; i < tl->n_followed; i++) thread += tl->followed[i].lane == lane;
    tl->followed[tl->n_followed++] =
        (followed){.track = track, .lane = (uint8_t)lane, .thread = (uint8_t)thread};
}

static void take_deeds(pod_timeline *tl)
{
    pod_done done;
    for (int i = 0; i < tl->n_followed; i++) {
        const followed *f = &tl->followed[i];
        while (pod_track_take(f->track, &done)) keep_deed(tl, f->lane, f->thread, &done);
    }
}

void pod_timeline_forget(pod_timeline *tl)
{
    take_deeds(tl);
    for (int i = 0; i < tl->n_followed; i++)
        tl->n_forgotten += pod_track_dropped(tl->followed[i].track);
    tl->n_followed = 0;
}

int64_t pod_timeline_n_dropped(const pod_timeline *tl)
{
    int64_t n = tl->n_forgotten;
    for (int64_t i = 0; i < tl->n_rows; i++) n += tl->row[i].n_dropped;
    for (int i = 0; i < tl->n_followed; i++) n += pod_track_dropped(tl->followed[i].track);
    return n;
}

/* ---- the end of a step ----------------------------------------------------------------------- */

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
    take_deeds(tl);
}

const pod_step_row *pod_timeline_rows(const pod_timeline *tl, int64_t *n)
{
    *n = tl->n_rows;
    return tl->row;
}

int64_t pod_timeline_n_kept(const pod_timeline *tl)
{
    return tl->n_rows < tl->plan.kept_steps ? tl->n_rows : tl->plan.kept_steps;
}

int64_t pod_timeline_max_events(const pod_timeline *tl) { return tl->plan.max_events; }

const pod_event *pod_timeline_kept(const pod_timeline *tl, int64_t i, int64_t *n)
{
    const int64_t n_kept = pod_timeline_n_kept(tl);
    POD_ASSERT(i >= 0 && i < n_kept, "step %" PRId64 " of %" PRId64 " that are kept", i, n_kept);
    const int64_t block = (tl->n_rows - n_kept + i) % tl->n_blocks;
    *n = tl->n_events[block];
    return tl->event + block * tl->plan.max_events;
}

int64_t pod_timeline_kept_room(const pod_timeline *tl)
{
    return tl->plan.kept_steps * tl->plan.max_events;
}

int64_t pod_timeline_copy_kept(const pod_timeline *tl, pod_event *out)
{
    int64_t n = 0;
    for (int64_t i = 0; i < pod_timeline_n_kept(tl); i++) {
        int64_t n_events;
        const pod_event *event = pod_timeline_kept(tl, i, &n_events);
        memcpy(out + n, event, (size_t)n_events * sizeof out[0]);
        n += n_events;
    }
    return n;
}

int64_t pod_timeline_beside_room(const pod_timeline *tl) { return tl->max_beside; }

int64_t pod_timeline_copy_beside(const pod_timeline *tl, pod_event *out)
{
    const int64_t n_kept = pod_timeline_n_kept(tl);
    const int64_t first = tl->n_rows - n_kept;
    const pod_time since = first > 0 ? tl->row[first].begin : INT64_MIN;
    int64_t i = tl->n_beside > tl->max_beside ? tl->n_beside - tl->max_beside : 0, n = 0;
    for (; i < tl->n_beside; i++) {
        const pod_event *e = &tl->beside[i % tl->max_beside];
        if (e->end >= since) out[n++] = *e;
    }
    return n;
}

/* ---- statistics ------------------------------------------------------------------------------ */

/* The spread of the pod_time that stands `offset` bytes into each row. */
static pod_spread spread_of_field(const pod_step_row *rows, int64_t n, size_t offset,
                                  double *values)
{
    for (int64_t i = 0; i < n; i++) {
        const pod_time *field = (const pod_time *)(const void *)((const char *)&rows[i] + offset);
        values[i] = pod_time_seconds(*field);
    }
    return pod_spread_of(values, n);
}

pod_status pod_step_stats_of(const pod_step_row *rows, int64_t n, pod_step_stats *out)
{
    double *values = malloc((size_t)(n > 0 ? n : 1) * sizeof values[0]);
    if (!values) return pod_fail(POD_E_NOMEM, "step statistics: out of memory");
    pod_step_stats s = {0};
    for (int64_t i = 0; i < n; i++) {
        values[i] = pod_time_seconds(rows[i].end - rows[i].begin);
        s.n_dropped += rows[i].n_dropped;
    }
    s.step = pod_spread_of(values, n);
    for (size_t p = 0; p < POD_N_PHASES; p++)
        s.phase[p] =
            spread_of_field(rows, n, offsetof(pod_step_row, phase) + p * sizeof(pod_time), values);
    s.other = spread_of_field(rows, n, offsetof(pod_step_row, other), values);
    s.comm = spread_of_field(rows, n, offsetof(pod_step_row, comm), values);
    free(values);
    *out = s;
    return POD_OK;
}

double pod_step_share(const pod_step_stats *s, pod_phase phase)
{
    return s->step.mean > 0 ? s->phase[phase].mean / s->step.mean : 0;
}
