/* The state of a simulated fleet, which the files of the simulation share. */
#ifndef MINIPOD_RUNTIME_FLEET_FLEET_STATE_H
#define MINIPOD_RUNTIME_FLEET_FLEET_STATE_H

#include "kernels/base/rng.h"
#include "runtime/fleet/fleet_sim.h"
#include "runtime/fleet/rank_set.h"
#include "runtime/fleet/timers.h"

typedef enum pod__job_is {
    POD__JOB_AHEAD, /* not submitted yet */
    POD__JOB_QUEUED,
    POD__JOB_RUNNING,
    POD__JOB_BROKEN, /* holds what is left of its slice until the failure is detected */
    POD__JOB_DONE
} pod__job_is;

typedef struct pod__fleet_job {
    pod__job_is is;
    int rank; /* its position among all jobs in the queue's order */
    int size; /* 0: it has the slice that it asked for; else smaller[size - 1] of its request */
    int n_cells, n_held, most_cells;
    int size_of; /* index in size_cells of most_cells, the cells that it asked for */
    int *cell;   /* (n_cells), of which it holds the first n_held; NULL before the first start or
                    reservation */
    pod_attempt attempt;
    pod_stamp held_since;  /* since when it holds these n_held cells */
    pod_stamp begin;       /* of the attempt; BROKEN: the last failure */
    pod_stamp expected;    /* its end, by its estimate */
    pod_stamp since;       /* QUEUED: since when it waits for `reason` */
    pod_stamp retry_moves; /* others are not moved for it before this time */
    int stuck_in; /* the pass of the scheduler in which no other cells were found to move it to */
    pod_stamp reserved_at,
        reserved_until; /* when it has a reservation of `cell`; reserved_at POD_NEVER: none */
    pod_wait reason;
    uint32_t epoch; /* of its valid timer; timers of other epochs are void */
} pod__fleet_job;

typedef struct pod__fault_replay pod__fault_replay;

typedef struct pod__candidate { /* to be evicted or moved */
    double cost;                /* chip-nanoseconds */
    int job;
} pod__candidate;

enum { POD__MOST_SIZES = 64 };

typedef struct pod__fleet {
    const pod_fleet_plan *plan;
    pod_arena *arena;
    pod_stamp now;
    pod_status status; /* E_NOMEM once an allocation has failed */

    pod_occupancy occupancy;
    int *owner;       /* (cells): a job, or -1 */
    uint8_t *is_down; /* (cells) */
    int *n_down;      /* (pods) */
    pod_placer *placer;

    pod__fleet_job *job;
    pod_fleet_outcome *outcome;
    pod_rank_set queue; /* ranks of the queued jobs */
    int *by_rank;       /* (jobs): the job of each rank */
    double *needs;      /* (ranks): a queued job's length by its estimate, nanoseconds */
    int n_sizes; /* sizes of slices that jobs ask for; the last may stand for all larger ones */
    int size_cells[POD__MOST_SIZES];
    pod_rank_set queue_of[POD__MOST_SIZES]; /* the queued jobs of each size */
    int64_t queued_cells;
    int head;     /* the queued job that blocked the last pass; -1: none */
    int *running; /* jobs that hold cells, by `expected` */
    int n_running;

    int pass;
    int *failed_in; /* by number of cells: the pass in which no slice of any shape was found */
    int idle[POD_N_IDLE]; /* cells by category, since the last event */

    /* memory for trying what would fit */
    pod_occupancy trial, shadow;
    uint8_t *reserved;                /* (cells) */
    int *cells, *more_cells, *victim; /* (cells), (cells), (jobs) */
    pod__candidate *candidates;       /* (jobs) */

    /* reservations (conservative.c) */
    int *reserved_jobs; /* (jobs), in any order */
    int n_reserved;
    pod_stamp *times; /* (2 jobs + 1) */
    bool is_upset;    /* an event was not as estimated: make reservations again */

    /* copies for marks, (jobs) */
    pod__fleet_job *seen_job;
    pod_fleet_outcome *seen_outcome;

    pod__fault_replay *replay; /* NULL: failures are drawn */
    pod_timers timers;
    double host_mtbf_s;  /* of a host with its links */
    pod_rng *rng;        /* (cells) */
    pod_rng *switch_rng; /* (pods) */

    pod_ledger ledger;
    pod_fleet_event *event;
    int64_t n_events;
    pod_fleet_stay *stay;
    int64_t n_stays;
    pod_stamp *down_since; /* (cells) */
    pod_fleet_result result;
} pod__fleet;

/* Timers of the same time go off in this order. */
enum {
    POD__TIMER_END,
    POD__TIMER_RELEASE,
    POD__TIMER_REPAIR,
    POD__TIMER_FAILURE,
    POD__TIMER_SWITCH,
    POD__TIMER_PASS
};

/* ---- set_up.c: the state before the first event ---- */

POD_MUST pod_status pod__fleet_allocate(pod__fleet *f);
/* Finds the number of cells of each job. E_INVALID if a pod has no such slice. */
POD_MUST pod_status pod__fleet_size(pod__fleet *f);
POD_MUST pod_status pod__fleet_rank(pod__fleet *f); /* sets the queue's order and the sizes */

/* ---- hold.c: jobs that wait, and jobs that hold cells ---- */

/* Puts a job into the queue. */
void pod__fleet_enqueue(pod__fleet *f, int job);
/* Notes that a queued job waits for this reason from now on. */
void pod__fleet_wait_for(pod__fleet *f, int job, pod_wait reason);
/* Counts the time for which a queued job waited. */
void pod__fleet_end_wait(pod__fleet *f, int job);

/* Starts a queued job on these cells, which are free. */
void pod__fleet_start(pod__fleet *f, int job, const int cells[]);
/* Ends a running job's attempt, which loses the steps after its last complete checkpoint, frees its
 * cells, and queues it again. */
void pod__fleet_evict(pod__fleet *f, int job);
/* Moves the n_jobs running jobs, and starts the queued job `head` on head_cells. `to` has the new
 * cells of the jobs, concatenated. All new cells are free once these jobs have left their old
 * ones. */
void pod__fleet_move(pod__fleet *f, const int job[], int n_jobs, const int to[], int head,
                     const int head_cells[]);

/* The two halves of a move: the job saves and leaves its cells; it resumes on other cells. */
void pod__fleet_leave(pod__fleet *f, int job);
void pod__fleet_resume(pod__fleet *f, int job, const int cells[]);

/* Returns what a running job has done by now. */
pod_attempt_state pod__fleet_state_of(const pod__fleet *f, int job);
/* Adds the attempt up to now to the outcome and the ledger; `lost` of its time in steps is lost. */
void pod__fleet_count_attempt(pod__fleet *f, int job, const pod_attempt_state *s, pod_stamp lost);
/* Ends the attempt; the job continues from its last complete checkpoint. */
void pod__fleet_lose_attempt(pod__fleet *f, int job);
/* Insert a job into `running`, and remove it. */
void pod__fleet_list(pod__fleet *f, int job);
void pod__fleet_unlist(pod__fleet *f, int job);
void pod__fleet_free(pod__fleet *f, int job); /* all cells that it holds */

void pod__fleet_log(pod__fleet *f, int job, pod_fleet_event_kind kind, int64_t chips);
/* Log that the job held its cells up to now, or that these cells were down. */
void pod__fleet_log_stay(pod__fleet *f, int job);
void pod__fleet_log_down(pod__fleet *f, int cell);
void pod__fleet_timer(pod__fleet *f, pod_stamp at, int kind, int id, uint32_t epoch);

static inline int64_t pod__fleet_chips_of(const pod__fleet *f, int n_cells)
{
    return (int64_t)n_cells * f->plan->topology->chips_per_cell;
}

/* Returns the slice that the job has or waits for now. */
static inline pod_slice pod__fleet_slice(const pod__fleet *f, int job)
{
    return (pod_slice){f->job[job].n_cells, f->plan->request[job].shape};
}

static inline void pod__fleet_count(pod__fleet *f, pod_idle i, int64_t chips, pod_stamp ns)
{
    f->ledger.idle[i] += (pod_chip_ns)chips * ns;
}

/* ---- fault_replay.c ---- */

POD_MUST pod_status pod__replay_create(pod__fleet *f);
pod_stamp pod__replay_next_failure(pod__fleet *f, int cell); /* at least `now`; POD_NEVER: none */
pod_stamp pod__replay_repair(pod__fleet *f, int cell);       /* end of the current outage */

/* ---- faults.c ---- */

POD_MUST pod_status pod__fleet_draw_failures(pod__fleet *f); /* sets the first timer of each host */
void pod__fleet_fail(pod__fleet *f, int cell);
void pod__fleet_repair(pod__fleet *f, int cell);
void pod__fleet_fail_switch(pod__fleet *f, int pod);
void pod__fleet_release(pod__fleet *f, int job); /* a broken job frees its cells, and is queued */
void pod__fleet_count_broken(pod__fleet *f, int job); /* counts the time since its last failure */

static inline int64_t pod__fleet_chips(const pod__fleet *f, int job)
{
    const int size = f->job[job].size;
    return size == 0 ? f->plan->request[job].chips : f->plan->request[job].smaller[size - 1].chips;
}

/* ---- schedule.c: a pass of the scheduler ---- */

void pod__schedule(pod__fleet *f);
/* Returns whether the job fits now, and sets `cells` to its slice; else notes why it waits. */
bool pod__schedule_fits(pod__fleet *f, int job);
/* Starts the job after evicting or moving others, if the policy allows it. Returns whether it
 * did. */
bool pod__make_room(pod__fleet *f, int job);

/* Returns whether policy.spare_chips are free once n_cells more are taken of this occupancy. */
bool pod__leaves_spare_beside(const pod__fleet *f, int n_cells, const pod_occupancy *o);

/* Returns the same for the start of a job; true if the job starts again. */
bool pod__leaves_spare(const pod__fleet *f, int job, const pod_occupancy *o);
int pod__count_free(const pod_occupancy *o); /* cells of all pods */

/* ---- backfill.c ---- */

/* Returns when the job could start by the estimates of the running jobs, and sets `shadow` to the
 * occupancy at that time; POD_NEVER if it could not start even after all others have ended. */
pod_stamp pod__shadow(pod__fleet *f, int job);
/* Starts jobs behind the head that do not delay it. */
void pod__backfill_easy(pod__fleet *f, int head);

/* ---- elastic.c ---- */

void pod__elastic_reset(pod__fleet *f,
                        int job); /* back to the size that it asked for; it holds no cells */
bool pod__elastic_start(pod__fleet *f, int job); /* starts it on a smaller slice, if one fits */
void pod__elastic_grow(pod__fleet *f);           /* moves running jobs to larger slices */

/* ---- conservative.c ---- */

void pod__backfill_conservative(pod__fleet *f); /* a whole pass of the scheduler */

/* ---- evict.c ---- */

/* Evict, or also move, other jobs and start this one; false: it cannot start, and no job has
 * changed. */
bool pod__preempt(pod__fleet *f, int job);
bool pod__defragment(pod__fleet *f, int job);

#endif
