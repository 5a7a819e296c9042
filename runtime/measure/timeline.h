/* What one rank did and when: the one record that executors write and measurements read, whether
 * the clock is this host's or a simulated machine's.
 *
 * A run is long, so events are kept for the last few steps only (for a trace); each step is folded
 * into one row when it ends. All memory is taken at creation: a step allocates nothing.
 *
 * Within a step the compute lane does one thing at a time, so its events do not overlap and the
 * row closes: end - begin = sum of the phases + other, in whole picoseconds. What runs beside it
 * (messages in flight, the prefetch thread) stands in lanes of its own. Time that the compute lane
 * spends in the reduce phase is the all-reduce that was not hidden. */
#ifndef MINIPOD_RUNTIME_MEASURE_TIMELINE_H
#define MINIPOD_RUNTIME_MEASURE_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/status.h"
#include "runtime/core/clock.h"
#include "runtime/graph/phase.h"

typedef enum pod_lane { POD_LANE_COMPUTE, POD_LANE_COMM, POD_LANE_DATA, POD_N_LANES } pod_lane;

typedef struct pod_event {
    pod_time begin, end;
    int64_t step;
    int32_t rank;
    int32_t instr;       /* of the program; -1: none, as when waiting for input */
    uint8_t phase, lane; /* pod_phase, pod_lane */
} pod_event;

typedef struct pod_step_row {
    int64_t step;
    pod_time begin, end;
    pod_time phase[POD_N_PHASES]; /* of the compute lane */
    pod_time other;               /* of the compute lane, in no event */
    pod_time comm;                /* sum of the comm lane's events: hidden or not */
    int32_t n_dropped;            /* events that found no room; their time is in `other` */
} pod_step_row;

typedef struct pod_timeline_plan {
    int rank;
    bool is_virtual;
    int64_t max_steps;  /* rows */
    int64_t max_events; /* of one step */
    int64_t kept_steps; /* whose events are kept: the last ones, at least 1 */
} pod_timeline_plan;

typedef struct pod_timeline pod_timeline;

POD_MUST pod_status pod_timeline_create(const pod_timeline_plan *plan, pod_timeline **out);
void pod_timeline_destroy(pod_timeline *tl); /* NULL is allowed */

/* Steps do not overlap: begin, events, end. Times never go back. Before the rows are used up, at
 * most max_steps times. */
void pod_timeline_begin_step(pod_timeline *tl, int64_t step, pod_time at);
void pod_timeline_add(pod_timeline *tl, pod_lane lane, pod_phase phase, int32_t instr,
                      pod_time begin, pod_time end);
void pod_timeline_end_step(pod_timeline *tl, pod_time at);

/* Steps that ended, oldest first. Borrowed; grows with the next step. */
const pod_step_row *pod_timeline_rows(const pod_timeline *tl, int64_t *n);
bool pod_timeline_is_virtual(const pod_timeline *tl);
int pod_timeline_rank(const pod_timeline *tl);

/* The kept events of steps that ended, oldest first, at most pod_timeline_kept_room of them; that
 * is the same on ranks with the same plan, so that one rank can gather all. Answers how many. */
int64_t pod_timeline_kept_room(const pod_timeline *tl);
int64_t pod_timeline_copy_kept(const pod_timeline *tl, pod_event *out);

#endif
