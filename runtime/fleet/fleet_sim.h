/* Simulates many jobs on pods, on a virtual clock: when and where each job starts, which jobs fail,
 * are evicted or moved, and how all chip-time is spent.
 *
 *   submit --> queue --> all chips at once: launch, steps, saves (attempt.h) --> end
 *                ^                             |
 *                +---- detect <--- a host fails, or the job is evicted
 *
 * All pods of a simulation have the same topology, and a job may run on any of them; a fleet with
 * several kinds of pods is several simulations. Events at the same time are processed in this
 * order: ends of jobs, repairs, failures, submissions, starts. All times are whole nanoseconds, so
 * that the categories of the ledger sum to the capacity exactly; an assertion checks that. Pure:
 * the same plan gives the same result, bit for bit. */
#ifndef MINIPOD_RUNTIME_FLEET_FLEET_SIM_H
#define MINIPOD_RUNTIME_FLEET_FLEET_SIM_H

#include "runtime/fleet/attempt.h"
#include "runtime/fleet/ledger.h"
#include "runtime/fleet/place/place.h"
#include "runtime/study/fault_trace.h"

typedef struct pod_fleet_size { /* a smaller slice on which an elastic job may run */
    int64_t chips;
    pod_job_sim_plan plan; /* the job's on this slice: the same number of steps */
} pod_fleet_size;

typedef struct pod_fleet_request { /* a job as it is submitted */
    const char *name;
    pod_stamp submit;
    int64_t chips;
    pod_slice_shape shape;         /* of its slice; not known: any shape with this many chips */
    int priority;                  /* a higher one comes first */
    pod_job_sim_plan plan;         /* its steps, saves and starts (attempt.h) */
    const pod_fleet_size *smaller; /* (n_smaller), largest first; for an elastic job */
    int n_smaller;
    double estimate; /* run time that its owner estimates / its run time; 1: exact */
} pod_fleet_request;

typedef enum pod_order {
#define POD_ORDER(name, about) POD_ORDER_##name,
#include "runtime/fleet/orders.def"
    POD_N_ORDERS
} pod_order;

typedef enum pod_backfill {
#define POD_BACKFILL(name, about) POD_BACKFILL_##name,
#include "runtime/fleet/backfills.def"
    POD_N_BACKFILLS
} pod_backfill;

/* Return the order or backfill of this name; -1 if there is none. */
int pod_order_find(const char *name);
int pod_backfill_find(const char *name);

typedef struct pod_fleet_policy {
    pod_order order;
    pod_backfill backfill;
    const pod_placement *placement;

    bool preempts;   /* with POD_ORDER_priority: jobs of lower priority are evicted for others */
    pod_stamp grace; /* a job is not evicted before its attempt has run this long */
    int64_t protected_chips; /* jobs with at least this many chips are never evicted or moved; 0:
                                all may be */

    /* Running jobs are moved to make room for a job for which no pod has enough free chips, or none
     * has them in a shape that fits. */
    bool moves;
    /* The least time that a job waits for that reason before others are moved for it, and the least
     * time between two attempts for it. */
    pod_stamp moves_after;
    double move_margin; /* the chip-time that the job gains must exceed this times the cost */

    bool resizes; /* elastic jobs start on a smaller slice rather than wait, and grow later */

    int64_t spare_chips; /* a job's first start, and the growth of an elastic job, leave this many
                            chips free for jobs that restart */
} pod_fleet_policy;

typedef struct pod_fleet_faults { /* of hosts (cells), which fail independently */
    double mtbf_s; /* mean time of a host from the begin or its repair to its failure; 0: none */
    double repair_s;
    const pod_fault_trace *trace; /* replaces drawn failures and repairs; NULL: none */
    int n_nodes;                  /* of the trace's cluster, including those without a fault */
    double link_mtbf_s;   /* of each link of a torus or cube; the failure of a link is a failure of
                             its host; 0: none fails */
    double switch_mtbf_s; /* of each of the 48 optical switches of a pod of cubes; 0: none fails */
} pod_fleet_faults;

/* Returns the mean time between failures of a host and its links; 0 if neither fails. */
double pod_fleet_host_mtbf_s(const pod_fleet_faults *f, const pod_topology *t);

/* Why a job waits: X(NAME, "name in files", "what it is") */
#define POD_WAIT_MAP(X)                                                             \
    X(ORDER, "order", "others are before it, or it would delay the head")           \
    X(BUSY, "busy", "not enough free chips in any pod")                             \
    X(SHAPE, "fragmented", "enough free chips in a pod, but in no shape that fits") \
    X(DOWN, "down", "enough chips were it not for failed hosts")                    \
    X(SPARE, "spare", "enough chips, but some are held for jobs that lost theirs")

typedef enum pod_wait {
#define POD_X(name, text, what) POD_WAIT_##name,
    POD_WAIT_MAP(POD_X)
#undef POD_X
        POD_N_WAITS
} pod_wait;

const char *pod_wait_name(pod_wait w);

typedef struct pod_fleet_outcome { /* of a request, up to the horizon; times in nanoseconds */
    pod_stamp first_start, end;    /* POD_NEVER: not before the horizon */
    pod_stamp
        promised; /* the start in its first reservation (EASY, conservative); POD_NEVER: none */
    pod_stamp wait[POD_N_WAITS];     /* before the first start */
    pod_stamp rewait;                /* waits for chips after a failure or an eviction */
    pod_stamp span[POD_N_JOB_SPANS]; /* time with all chips of its current slice */
    pod_chip_ns partial;             /* chip-time while a part of its slice had failed */
    /* An elastic job may have fewer chips than it asked for. span[k] times the chips that it asked
     * for, minus missed[k], is the chip-time that it had. */
    pod_chip_ns missed[POD_N_JOB_SPANS];
    double n_stepped; /* steps, also parts of a step, in span[POD_JOB_STEP] */
    int64_t n_kept;   /* steps that the last complete checkpoint has */
    int n_starts, n_failures, n_evictions, n_moves, n_resizes;
    pod_slice_shape shape; /* of its last slice; set only with `logs` */
    pod_wait reason;       /* why it waits at the horizon */
    bool waits;            /* it waits at the horizon */
} pod_fleet_outcome;

typedef struct pod_fleet_view {          /* the state of the fleet at one time */
    const pod_fleet_outcome *outcome;    /* (n_requests), as if this time were the horizon */
    const pod_ledger *ledger;            /* likewise */
    int64_t free_chips, most_free_chips; /* of all pods; of the pod with the most */
    int64_t largest_slice;               /* chips of the largest slice that is free */
    int64_t down_chips;
    int n_running, n_queued;
    int64_t queued_chips;
} pod_fleet_view;

typedef void pod_fleet_mark_fn(void *ctx, int i, const pod_fleet_view *view); /* of mark i */

typedef struct pod_fleet_marks { /* times at which `call` sees the fleet, before their events */
    int n;
    const pod_stamp *at; /* ascending, before the horizon */
    pod_fleet_mark_fn *call;
    void *ctx;
} pod_fleet_marks;

typedef struct pod_fleet_ticks { /* called now and then, to show the progress */
    void (*call)(void *ctx, pod_stamp now);
    void *ctx;
} pod_fleet_ticks;

typedef struct pod_fleet_plan {
    const pod_topology *topology;
    int n_pods;
    int n_requests;
    const pod_fleet_request *request; /* in the order of `submit`; each fits into a pod */
    pod_fleet_policy policy;
    pod_fleet_faults faults;
    pod_stamp horizon;
    uint64_t seed;
    uint32_t number; /* of this simulation in its fleet: each draws other random numbers */
    bool logs;       /* the result has events and stays */
    pod_fleet_marks marks;
    pod_fleet_ticks ticks;
    const pod_fleet_request
        *asked; /* one of `request`. If it does not start when it is submitted and has no
                   reservation, its `promised` becomes the earliest start by the estimates of the
                   running jobs, as if it were the head of the queue. NULL: none */
} pod_fleet_plan;

typedef enum pod_fleet_event_kind {
    POD_FLEET_SUBMIT,
    POD_FLEET_ALLOCATE, /* the job has `chips` from now on */
    POD_FLEET_END
} pod_fleet_event_kind;

typedef struct pod_fleet_event {
    pod_stamp at;
    int request;
    pod_fleet_event_kind kind;
    int64_t chips;
} pod_fleet_event;

typedef struct pod_fleet_stay { /* for a picture: a job held cells, or hosts were down */
    pod_stamp from, until;
    int request; /* -1: hosts were down */
    int row;     /* of the picture (pod_topology_row_cells), counted through all pods */
    int n_cells; /* how many cells of that row */
} pod_fleet_stay;

typedef struct pod_fleet_result {     /* in the arena */
    const pod_fleet_outcome *outcome; /* (n_requests) */
    pod_ledger ledger;
    const pod_fleet_event *event; /* by time; only with `logs` */
    int64_t n_events;
    const pod_fleet_stay *stay; /* by `until`; likewise */
    int64_t n_stays;
    int64_t n_failures, n_evictions, n_moves; /* of jobs */
    int64_t n_host_failures;
} pod_fleet_result;

/* Fails with E_NOMEM, and with E_INVALID, naming the request, if one fits into no pod. */
POD_MUST pod_status pod_fleet_simulate(pod_arena *a, const pod_fleet_plan *plan,
                                       pod_fleet_result *out);

/* Returns the time from submission to the first start, or to the horizon. */
static inline pod_stamp pod_fleet_first_wait(const pod_fleet_outcome *o)
{
    pod_stamp sum = 0;
    for (int w = 0; w < POD_N_WAITS; w++) sum += o->wait[w];
    return sum;
}

#endif
