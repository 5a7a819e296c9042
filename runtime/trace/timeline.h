/* What one rank did and when: the one record that executors write and measurements read, whether
 * the clock is this host's or a simulated machine's.
 *
 * A run is long, so events are kept for the last few steps only (for a trace); each step is folded
 * into one row when it ends. All memory is taken at creation: a step allocates nothing.
 *
 * Within a step the compute lane does one thing at a time, so its events do not overlap and the
 * row closes: end - begin = sum of the phases + other, in whole picoseconds. What runs beside it
 * (messages in flight, the threads that make batches and write checkpoints) stands in lanes of its
 * own. Time that the compute lane spends in the reduce phase is the all-reduce that was not
 * hidden. */
#ifndef MINIPOD_RUNTIME_TRACE_TIMELINE_H
#define MINIPOD_RUNTIME_TRACE_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/status.h"
#include "runtime/core/clock.h"
#include "runtime/core/spread.h"
#include "runtime/core/track.h"
#include "runtime/graph/phase.h"

typedef enum pod_lane {
    POD_LANE_COMPUTE,
    POD_LANE_COMM,  /* collectives in flight */
    POD_LANE_DATA,  /* batches in the making, by thread */
    POD_LANE_FILE,  /* checkpoints: copied, written, committed */
    POD_LANE_STEPS, /* steps, evaluations, and what strikes */
    POD_N_LANES
} pod_lane;

typedef struct pod_event {
    pod_time begin, end;
    int64_t step; /* from 0; of a deed its number */
    int32_t rank;
    int32_t instr;       /* of the program; -1: none, as when waiting for input */
    uint8_t phase, lane; /* pod_phase, pod_lane */
    uint8_t deed;        /* pod_deed; NONE in a step's own events */
    uint8_t thread;      /* that did the deed: of the lane, from 1; 0: the one that steps */
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
    int64_t max_steps;  /* rows */
    int64_t max_events; /* of one step */
    int64_t kept_steps; /* whose events are kept: the last ones, at least 1 */
} pod_timeline_plan;

typedef struct pod_timeline pod_timeline;

/* E_NOMEM; E_INVALID where the kept steps take more than a rank should give: the text speaks of the
 * option --trace-steps. */
POD_MUST pod_status pod_timeline_create(const pod_timeline_plan *plan, pod_timeline **out);
void pod_timeline_destroy(pod_timeline *tl); /* NULL is allowed */

/* Steps do not overlap: begin, events, end. Times never go back. Before the rows are used up, at
 * most max_steps times. */
void pod_timeline_begin_step(pod_timeline *tl, int64_t step, pod_time at);
void pod_timeline_add(pod_timeline *tl, pod_lane lane, pod_phase phase, int32_t instr,
                      pod_time begin, pod_time end);
void pod_timeline_end_step(pod_timeline *tl, pod_time at);

/* ---- beside the steps: the latest deeds, whoever did them ---- */

enum { POD_TIMELINE_TRACKS = 160 };

/* What this thread did, within a step or between two. In the lane of steps what takes no time is
 * drawn as an instant. */
void pod_timeline_mark(pod_timeline *tl, pod_lane lane, pod_deed deed, int64_t number,
                       pod_time begin, pod_time end);
/* The end of each step takes what a track has; at most POD_TIMELINE_TRACKS of them. Each is a
 * thread of its lane. Borrowed until they are forgotten. */
void pod_timeline_follow(pod_timeline *tl, pod_lane lane, pod_track *track);
/* Takes what all tracks have, and lets go of them: before their owners end. */
void pod_timeline_forget(pod_timeline *tl);
/* What found no room so far: events of steps, and deeds of tracks that were followed. */
int64_t pod_timeline_n_dropped(const pod_timeline *tl);

/* ---- reading ---- */

/* Steps that ended, oldest first. Borrowed; grows with the next step. */
const pod_step_row *pod_timeline_rows(const pod_timeline *tl, int64_t *n);

/* How many of the last rows have their events, and the events of the i-th of those, oldest first:
 * *n of them, in memory for pod_timeline_max_events, which is the same on ranks with the same
 * plan. Side by side in it: a collective's wait in the compute lane, and that collective in
 * flight. Borrowed until the next step begins. */
int64_t pod_timeline_n_kept(const pod_timeline *tl);
const pod_event *pod_timeline_kept(const pod_timeline *tl, int64_t i, int64_t *n);
int64_t pod_timeline_max_events(const pod_timeline *tl);

/* The same of all kept steps in one, at most pod_timeline_kept_room of them. Answers how many. */
int64_t pod_timeline_kept_room(const pod_timeline *tl);
int64_t pod_timeline_copy_kept(const pod_timeline *tl, pod_event *out);

/* The deeds that did not end before the first kept step began, where there were steps before it; at
 * most pod_timeline_beside_room of them, in the order in which they became known. */
int64_t pod_timeline_beside_room(const pod_timeline *tl);
int64_t pod_timeline_copy_beside(const pod_timeline *tl, pod_event *out);

/* ---- statistics, from the rows of a timeline, whoever wrote it ---- */

typedef struct pod_step_stats { /* all in seconds of one step */
    pod_spread step;
    pod_spread phase[POD_N_PHASES]; /* phase[POD_PHASE_REDUCE] is the all-reduce that was not
                                       hidden, phase[POD_PHASE_INPUT] the wait for data */
    pod_spread other;               /* the means of phases and other sum to the step's mean */
    pod_spread comm;                /* all-reduces in flight, hidden or not */
    int64_t n_dropped;              /* events that found no room */
} pod_step_stats;

/* Leave the first step after a start out of `rows`: it is startup. E_NOMEM. */
POD_MUST pod_status pod_step_stats_of(const pod_step_row *rows, int64_t n, pod_step_stats *out);

/* Of the whole time of the steps; 0 when there were none. */
double pod_step_share(const pod_step_stats *s, pod_phase phase);

#endif
