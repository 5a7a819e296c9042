/* Published figures of what pods and clusters offer while hosts fail, in closed form and simulated. */
#include <math.h>

#include "bench/fleet/validate.h"
#include "runtime/core/file.h"
#include "runtime/fleet/availability.h"

const char pod_in_faults[] = "trace-infinitehbd";

typedef struct figure {
    const char *what, *unit;
    double published, tolerance, predicted;
} figure;

static void add_all(pod_validation *v, const figure f[], int n, const char *source)
{
    for (int i = 0; i < n; i++)
        pod_validation_add(v, f[i].what, f[i].unit, f[i].published, f[i].tolerance, f[i].predicted,
                           source);
}

#define ADD_ALL(v, f, source) add_all((v), (f), (int)(sizeof(f) / sizeof(f)[0]), (source))

/* ---- pods of TPU v4 -------------------------------------------------------------------------- */

static const double HOST_UP = 1 - 0.0078; /* fits both points of NSDI 2024's figure 1 */

/* The share of 3,000 days in which a job that never ends has so many cubes, any that are up. */
static pod_status share_with(pod_validation *v, int n_cubes, double *share)
{
    static const pod_stamp hour = INT64_C(3600000000000);
    const double mtbf_s = 1000 * 3600;
    const pod_fleet_request job = {.name = "one",
                                   .chips = n_cubes * 64,
                                   .estimate = 1,
                                   .plan = {.n_steps = 100000, .every = 1, .step = hour}};
    pod_topology t;
    pod_fleet_result x;
    POD_TRY(pod_topology_parse("tpu-v4", &t));
    const pod_fleet_plan plan = {
        .topology = &t,
        .n_pods = 1,
        .n_requests = 1,
        .request = &job,
        .policy = {.placement = pod_placement_find("best")},
        .faults = {.mtbf_s = mtbf_s, .repair_s = mtbf_s * (1 - HOST_UP) / HOST_UP},
        .horizon = 3000 * 24 * hour,
        .seed = 1};
    POD_TRY(pod_fleet_simulate(v->arena, &plan, &x));
    *share = (double)pod_ledger_together(&x.ledger) / (double)job.chips / (double)plan.horizon;
    return POD_OK;
}

/* Figures to two digits are met within half of the last. */
static pod_status add_pods(pod_validation *v)
{
    const double cube_up = pow(HOST_UP, 16), a_day = 6.5e-3 / 24;
    const double good = pow(0.999, 16), fair = pow(0.995, 16);
    static const int quarter[] = {2, 2, 4}, half[] = {2, 4, 4};
    enum { DRAWS = 100000 };
    double of_52, of_57;
    POD_TRY(share_with(v, 52, &of_52));
    POD_TRY(share_with(v, 57, &of_57));
    const figure guaranteed[] = {
        {"guaranteed: slices of 1,024, hosts 99.9 %, OCS", "", 0.75, 0.005,
         pod_guaranteed_switched(16, 0.999, 0.97)},
        {"the same, fixed groups of cubes", "", 0.25, 0.005, pod_guaranteed_fixed(16, 0.999, 0.97)},
        {"guaranteed: slices of 2,048, hosts 99 %, OCS", "", 0.50, 0.005,
         pod_guaranteed_switched(32, 0.99, 0.97)},
        {"the same, slices of 3,072", "", 0.75, 0.005, pod_guaranteed_switched(48, 0.99, 0.97)},
    };
    const figure placed[] = {
        {"P(a job of 52 cubes has room), hosts 99.22 %", "", 0.97, 0.02,
         pod_binomial_at_least(64, cube_up, 52)},
        {"  simulated: share of 3,000 days", "", 0.97, 0.02, of_52},
        {"the same, 57 cubes", "", 0.51, 0.02, pod_binomial_at_least(64, cube_up, 57)},
        {"  simulated: share of 3,000 days", "", 0.51, 0.02, of_57},
    };
    const figure boxes[] = {
        {"P(a free box of 2x2x4 cubes), hosts 99.9 %, no OCS", "", 1.00, 0.01,
         pod_box_probability(quarter, good, DRAWS, 1)},
        {"the same, hosts 99.5 %", "", 0.957, 0.01, pod_box_probability(quarter, fair, DRAWS, 1)},
        {"P(a free box of 2x4x4 cubes), hosts 99.9 %, no OCS", "", 0.96, 0.01,
         pod_box_probability(half, good, DRAWS, 1)},
        {"the same, hosts 99.5 %", "", 0.35, 0.01, pod_box_probability(half, fair, DRAWS, 1)},
    };
    const figure mtbf[] = {
        {"mean time between failures, 128 nodes", "h", 28.8, 0.05, pod_job_mtbf(128, a_day)},
        {"the same, 2,048 nodes", "h", 1.80, 0.005, pod_job_mtbf(2048, a_day)},
        {"the same, 16,384 nodes", "h", 0.225, 0.0005, pod_job_mtbf(16384, a_day)},
    };
    ADD_ALL(v, guaranteed, "Jouppi et al., ISCA 2023; Liu et al., SIGCOMM 2023");
    ADD_ALL(v, placed, "Zu et al., NSDI 2024, figure 1");
    ADD_ALL(v, boxes, "an open grid of 4x4x4 cubes, draws");
    ADD_ALL(v, mtbf, "Kokolis et al., HPCA 2025");
    return POD_OK;
}

/* ---- a cluster's faults ---------------------------------------------------------------------- */

enum { NODES = 400, OF_JOB = 32, WORST = 40 };

typedef struct cluster { /* NaN: not at hand */
    double lost[3], any, fixed, mean_down, most_down;
    double replayed; /* the share of node-time that is down in a fleet that replays the trace */
    double per_1000_days, mean_days, median_days, worst;
} cluster;

/* From the first fault on, as the exact figure has it. */
static pod_status replay(pod_validation *v, const pod_fault_trace *t, double *down)
{
    pod_topology pool;
    pod_fleet_result x;
    POD_TRY(pod_topology_parse("pool:400", &pool));
    const pod_fleet_plan plan = {.topology = &pool,
                                 .n_pods = 1,
                                 .policy = {.placement = pod_placement_find("best")},
                                 .faults = {.trace = t, .n_nodes = NODES},
                                 .horizon = t->end,
                                 .seed = 1};
    POD_TRY(pod_fleet_simulate(v->arena, &plan, &x));
    *down = (double)x.ledger.idle[POD_IDLE_DOWN] / NODES / (double)(t->end - t->event[0].at);
    return POD_OK;
}

static pod_status read_cluster(pod_validation *v, cluster *c)
{
    static const int blocks[] = {1, 8, 16};
    char path[POD_PATH_BYTES];
    pod_fault_trace t;
    pod_fault_figures f;
    POD_TRY(pod_path_join(v->traces, "trace-infinitehbd/fault_trace.json", path));
    POD_TRY(pod_fault_trace_read(v->arena, path, &t));
    for (int i = 0; i < 3; i++) {
        const pod_cluster_use u = pod_cluster_use_of(&t, NODES, blocks[i], OF_JOB);
        c->lost[i] = u.blocks_lost;
        c->any = u.any_nodes;
        c->fixed = u.fixed_nodes;
        c->mean_down = u.mean_down;
        c->most_down = u.most_down;
    }
    POD_TRY(pod_fault_figures_of(&t, NODES, WORST, v->arena, &f));
    c->per_1000_days = 1000 * f.per_node_day;
    c->mean_days = f.mean_days;
    c->median_days = f.median_days;
    c->worst = f.worst_share;
    return replay(v, &t, &c->replayed);
}

static pod_status add_cluster(pod_validation *v)
{
    const double no = (double)NAN;
    cluster c = {{no, no, no}, no, no, no, no, no, no, no, no, no};
    if (pod_validation_has(v, pod_in_faults)) POD_TRY(read_cluster(v, &c));
    const figure rows[] = {
        {"capacity lost if a fault takes 1 node", "%", 2.34, 0.005, 100 * c.lost[0]},
        {"  replayed by a fleet", "%", 2.34, 0.005, 100 * c.replayed},
        {"the same, a block of 8 nodes", "%", 16.62, 0.005, 100 * c.lost[1]},
        {"the same, a block of 16 nodes", "%", 29.40, 0.005, 100 * c.lost[2]},
        {"used by jobs of 32 nodes, any healthy nodes", "%", 94.6, 0.05, 100 * c.any},
        {"the same, fixed groups of nodes", "%", 50.3, 0.05, 100 * c.fixed},
        {"nodes down of 400, mean", "", 9.4, 0.05, c.mean_down},
        {"  most", "", 35, 0, c.most_down},
        {"faults a 1,000 node-days", "", 4.2, 0.05, c.per_1000_days},
        {"  until repair, mean", "d", 5.5, 0.05, c.mean_days},
        {"  until repair, median", "d", 0.85, 0.005, c.median_days},
        {"  of the 40 nodes with most", "%", 41, 0.5, 100 * c.worst},
    };
    ADD_ALL(v, rows, "InfiniteHBD's fault trace, exact");
    return POD_OK;
}

pod_status pod_validation_add_pods(pod_validation *v)
{
    POD_TRY(add_pods(v));
    return add_cluster(v);
}
