/* Many jobs on pods, on a virtual clock: who starts when and where, who fails, is evicted or moved,
 * and where all chip-time went.
 *
 *   submit --> queue --> all chips at once: launch, steps, saves (attempt.h) --> end
 *                ^                             |
 *                +---- detect <--- a host fails, or the job is evicted
 *
 * The pods of one simulation are alike, and its jobs may go to any of them; a fleet of several kinds
 * is several simulations. At an instant ends come first, then failures and repairs, then
 * submissions, then starts. All times are whole nanoseconds; the ledger sums to capacity exactly,
 * which is asserted. Pure: the same plan gives the same result, bit for bit. */
#ifndef MINIPOD_RUNTIME_FLEET_FLEET_SIM_H
#define MINIPOD_RUNTIME_FLEET_FLEET_SIM_H

#include "runtime/fleet/attempt.h"
#include "runtime/fleet/ledger.h"
#include "runtime/fleet/place/place.h"
#include "runtime/study/fault_trace.h"

typedef struct pod_fleet_size { /* of a slice on which an elastic job runs, too */
    int64_t chips;
    pod_job_sim_plan plan; /* of as many steps */
} pod_fleet_size;

typedef struct pod_fleet_request { /* a job as it is submitted */
    const char *name;
    pod_stamp submit;
    int64_t chips;
    pod_slice_shape shape;         /* of its slice; not known: any of so many chips */
    int priority;                  /* higher is first */
    pod_job_sim_plan plan;         /* what it does (attempt.h) */
    const pod_fleet_size *smaller; /* (n_smaller), the largest first */
    int n_smaller;
    double estimate; /* its owner's estimate of a run / the run, 1: exact */
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

/* Their names; -1: there is none. */
int pod_order_find(const char *name);
int pod_backfill_find(const char *name);

typedef struct pod_fleet_policy {
    pod_order order;
    pod_backfill backfill;
    const pod_placement *placement;

    bool preempts;           /* with POD_ORDER_priority: jobs of lower priority are evicted */
    pod_stamp grace;         /* a job may run so long before */
    int64_t protected_chips; /* a job of so many or more is never evicted or moved; 0: all may be */

    bool moves;            /* jobs are moved where the head fits by count and not by shape */
    pod_stamp moves_after; /* the head has waited so long for a shape */
    double move_margin;    /* chip-time that it saves the head / chip-time that it costs */

    bool resizes; /* elastic jobs start smaller rather than wait, and grow */

    int64_t
        spare_chips; /* of all pods, which a first start leaves free for jobs that lost theirs */
} pod_fleet_policy;

typedef struct pod_fleet_faults { /* of hosts (cells); each fails by itself */
    double mtbf_s;                /* mean time from begin or repair to a failure; 0: none */
    double repair_s;
    const pod_fault_trace *trace; /* instead of both; NULL: none */
    int n_nodes;                  /* of the trace's cluster, with those that never fail */
    double link_mtbf_s;   /* of each link of a torus or cube, with which a host fails; 0: none */
    double switch_mtbf_s; /* of each of the 48 optical switches of a pod of cubes; 0: none fails */
} pod_fleet_faults;

/* Mean time between failures of a host and its links; 0: none fails. */
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

typedef struct pod_fleet_outcome { /* of a request, up to the horizon; nanoseconds, all its chips */
    pod_stamp first_start, end;    /* POD_NEVER: not by then */
    pod_stamp
        promised; /* by its first reservation (EASY) it starts then, or before; POD_NEVER: none */
    pod_stamp wait[POD_N_WAITS];         /* before the first start */
    pod_stamp rewait;                    /* for chips again, after a failure or an eviction */
    pod_stamp span[POD_N_JOB_SPANS];     /* with all its chips */
    pod_chip_ns partial;                 /* chip-time with only some */
    pod_chip_ns missed[POD_N_JOB_SPANS]; /* of `span` times the chips it asked for: it had fewer */
    double n_stepped;                    /* steps that are in STEP */
    int64_t n_kept;                      /* steps */
    int n_starts, n_failures, n_evictions, n_moves, n_resizes;
    pod_slice_shape shape; /* of its last slice; with `logs` */
    pod_wait reason;       /* of a job that waits at the horizon */
    bool waits;
} pod_fleet_outcome;

typedef struct pod_fleet_view {          /* of an instant */
    const pod_fleet_outcome *outcome;    /* (n_requests), as if it were the horizon */
    const pod_ledger *ledger;            /* likewise */
    int64_t free_chips, most_free_chips; /* of all pods, and of one */
    int64_t largest_slice;               /* that is free, in chips */
    int64_t down_chips;
    int n_running, n_queued;
    int64_t queued_chips;
} pod_fleet_view;

typedef void pod_fleet_mark_fn(void *ctx, int i, const pod_fleet_view *view); /* of mark i */

typedef struct pod_fleet_marks { /* instants at which the caller looks, before what happens then */
    int n;
    const pod_stamp *at; /* ascending, before the horizon */
    pod_fleet_mark_fn *call;
    void *ctx;
} pod_fleet_marks;

typedef struct pod_fleet_ticks { /* shows the progress */
    void (*call)(void *ctx, pod_stamp now);
    void *ctx;
} pod_fleet_ticks;

typedef struct pod_fleet_plan {
    const pod_topology *topology;
    int n_pods;
    int n_requests;
    const pod_fleet_request *request; /* by `submit`, and each fits a pod */
    pod_fleet_policy policy;
    pod_fleet_faults faults;
    pod_stamp horizon;
    uint64_t seed;
    uint32_t number; /* of this simulation among those of a fleet: it draws other numbers */
    bool logs;       /* events and stays are kept */
    pod_fleet_marks marks;
    pod_fleet_ticks ticks;
    const pod_fleet_request
        *asked; /* one of them: if it does not start when it is submitted, `promised`
                                       gets when it could as the head of the queue; NULL: none */
} pod_fleet_plan;

typedef enum pod_fleet_event_kind {
    POD_FLEET_SUBMIT,
    POD_FLEET_ALLOCATE, /* has `chips` now */
    POD_FLEET_END
} pod_fleet_event_kind;

typedef struct pod_fleet_event {
    pod_stamp at;
    int request;
    pod_fleet_event_kind kind;
    int64_t chips;
} pod_fleet_event;

typedef struct pod_fleet_stay { /* of a job, or of hosts that are down, in a row of a picture */
    pod_stamp from, until;
    int request; /* -1: down */
    int row;     /* through all pods */
    int n_cells;
} pod_fleet_stay;

typedef struct pod_fleet_result {     /* in the arena */
    const pod_fleet_outcome *outcome; /* (n_requests) */
    pod_ledger ledger;
    const pod_fleet_event *event; /* by time; none without `logs` */
    int64_t n_events;
    const pod_fleet_stay *stay; /* in the order of their ends; likewise */
    int64_t n_stays;
    int64_t n_failures, n_evictions, n_moves; /* of jobs */
    int64_t n_host_failures;
} pod_fleet_result;

/* E_NOMEM. E_INVALID naming a request that no pod has room for. */
POD_MUST pod_status pod_fleet_simulate(pod_arena *a, const pod_fleet_plan *plan,
                                       pod_fleet_result *out);

static inline pod_stamp pod_fleet_first_wait(const pod_fleet_outcome *o)
{
    pod_stamp sum = 0;
    for (int w = 0; w < POD_N_WAITS; w++) sum += o->wait[w];
    return sum;
}

#endif
