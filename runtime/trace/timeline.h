/* The timeline of one rank: executors record events in it and measurements read it, by the clock of
 * this host or of a simulated machine.
 *
 * Because a run is long, events are kept only for the last few steps (for a trace); at its end each
 * step is summed up in one row. All memory is allocated at creation: a step allocates nothing.
 *
 * Within a step the compute lane does one thing at a time, so that its events do not overlap and
 * the row adds up: end - begin = sum of the phases + other, in whole picoseconds. Concurrent work
 * (collectives in flight, threads that prepare batches and write checkpoints) is in lanes of its
 * own. The time of the compute lane in phase REDUCE is communication that was not hidden. */
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
    POD_LANE_DATA,  /* batches being prepared, by thread */
    POD_LANE_FILE,  /* checkpoints being copied, written, completed */
    POD_LANE_STEPS, /* steps, evaluations, attempts, faults */
    POD_N_LANES
} pod_lane;

typedef struct pod_event {
    pod_time begin, end;
    int64_t step; /* from 0; of a deed: pod_done.number */
    int32_t rank;
    int32_t instr;       /* of the program; -1: none, as in a wait for input */
    uint8_t phase, lane; /* pod_phase, pod_lane */
    uint8_t deed;        /* pod_deed; NONE for events of a step */
    uint8_t thread;      /* of the deed: number in its lane, from 1; 0: the step loop */
} pod_event;

typedef struct pod_step_row {
    int64_t step;
    pod_time begin, end;
    pod_time phase[POD_N_PHASES]; /* of the compute lane */
    pod_time other;               /* of the compute lane, outside events */
    pod_time comm;                /* sum of the comm lane's events: hidden or not */
    int32_t n_dropped;            /* dropped events; their time is in `other` */
} pod_step_row;

typedef struct pod_timeline_plan {
    int rank;
    int64_t max_steps;  /* rows */
    int64_t max_events; /* of one step */
    int64_t kept_steps; /* number of last steps whose events are kept, at least 1 */
} pod_timeline_plan;

typedef struct pod_timeline pod_timeline;

/* Creates a timeline. E_NOMEM; E_INVALID if the kept steps need too much memory for a rank: the
 * text names the option --trace-steps. */
POD_MUST pod_status pod_timeline_create(const pod_timeline_plan *plan, pod_timeline **out);
void pod_timeline_destroy(pod_timeline *tl); /* NULL is allowed */

/* Record a step: begin, events, end. Steps do not overlap, times never go back, and there are at
 * most max_steps steps. */
void pod_timeline_begin_step(pod_timeline *tl, int64_t step, pod_time at);
void pod_timeline_add(pod_timeline *tl, pod_lane lane, pod_phase phase, int32_t instr,
                      pod_time begin, pod_time end);
void pod_timeline_end_step(pod_timeline *tl, pod_time at);

/* ---- deeds: events outside the instructions of a step (pod_deed), by any thread ---- */

enum { POD_TIMELINE_TRACKS = 160 };

/* Records a deed of the calling thread, within a step or between two. A deed without duration in
 * the lane of steps is drawn as an instant. */
void pod_timeline_mark(pod_timeline *tl, pod_lane lane, pod_deed deed, int64_t number,
                       pod_time begin, pod_time end);
/* Adds a track, which is one thread of its lane: its entries are collected at the end of each step.
 * At most POD_TIMELINE_TRACKS. Borrowed until pod_timeline_forget. */
void pod_timeline_follow(pod_timeline *tl, pod_lane lane, pod_track *track);
/* Collects the entries of all tracks for the last time and releases the tracks. Call it before
 * their owners end. */
void pod_timeline_forget(pod_timeline *tl);
/* Returns the number of dropped events so far, and of dropped entries of tracks. */
int64_t pod_timeline_n_dropped(const pod_timeline *tl);

/* ---- reading ---- */

/* Returns the rows of the steps that have ended, oldest first. Borrowed; grows with the next
 * step. */
const pod_step_row *pod_timeline_rows(const pod_timeline *tl, int64_t *n);

/* pod_timeline_n_kept returns how many of the last rows have events, pod_timeline_kept the *n
 * events of the i-th of those, oldest first, in an array with room for pod_timeline_max_events,
 * which is equal on ranks with equal plans. The wait for a collective in the compute lane and that
 * collective in the comm lane are adjacent. Borrowed until the next step begins. */
int64_t pod_timeline_n_kept(const pod_timeline *tl);
const pod_event *pod_timeline_kept(const pod_timeline *tl, int64_t i, int64_t *n);
int64_t pod_timeline_max_events(const pod_timeline *tl);

/* pod_timeline_copy_kept copies the events of all kept steps to `out`, which has room for
 * pod_timeline_kept_room events, and returns their number. */
int64_t pod_timeline_kept_room(const pod_timeline *tl);
int64_t pod_timeline_copy_kept(const pod_timeline *tl, pod_event *out);

/* Copies the deeds to `out`, at most pod_timeline_beside_room of them, in the order in which they
 * were collected, and returns their number. If there were steps before the first kept one, deeds
 * that ended before that one began are skipped. */
int64_t pod_timeline_beside_room(const pod_timeline *tl);
int64_t pod_timeline_copy_beside(const pod_timeline *tl, pod_event *out);

/* ---- statistics from rows ---- */

typedef struct pod_step_stats { /* seconds per step */
    pod_spread step;
    pod_spread phase[POD_N_PHASES]; /* phase[POD_PHASE_REDUCE] is communication that was not hidden,
                                       phase[POD_PHASE_INPUT] the wait for data */
    pod_spread other;               /* the means of phases and other sum to that of step */
    pod_spread comm;                /* collectives in flight, hidden or not */
    int64_t n_dropped;              /* dropped events */
} pod_step_stats;

/* Computes statistics of n rows. The caller omits the first step after a start, which is startup.
 * E_NOMEM. */
POD_MUST pod_status pod_step_stats_of(const pod_step_row *rows, int64_t n, pod_step_stats *out);

/* Returns the share of a phase in the time of all steps; 0 without steps. */
double pod_step_share(const pod_step_stats *s, pod_phase phase);

#endif
