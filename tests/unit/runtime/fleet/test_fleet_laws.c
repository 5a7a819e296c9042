/* Simulated fleets against closed forms: queues, availability of gangs and of cubes, time between failures,
 * and jobs that save, fail and start again. Bounds are four standard errors of the simulated mean or more. */
#include <math.h>

#include "kernels/base/rng.h"
#include "runtime/fleet/availability.h"
#include "tests/unit/runtime/fleet/fleets.h"

static double draw_exponential(pod_rng *r, double mean)
{
    return -mean * log(((double)(pod_rng_u64(r) >> 11) + 0.5) * 0x1p-53);
}

/* Jobs of one chip that arrive at a constant rate; their lengths have this mean, exponential or all the same. */
static double mean_wait(const char *pod, int n, double between_s, double length_s,
                        bool is_exponential)
{
    pod_fleet_plan p = plan_of(pod, NULL, 0);
    pod_fleet_request *request = POD_ARENA_NEW(arena, pod_fleet_request, n);
    pod_rng r = pod_rng_at(21, (pod_place){.stream = POD_STREAM_TEST});
    double at_s = 0, sum_s = 0;
    for (int i = 0; i < n; i++) {
        at_s += draw_exponential(&r, between_s);
        const double run_s = is_exponential ? draw_exponential(&r, length_s) : length_s;
        request[i] = (pod_fleet_request){
            .name = "job",
            .submit = (pod_stamp)(at_s * 1e9),
            .chips = 1,
            .estimate = 1,
            .plan = {.n_steps = 1, .every = 1, .step = 1 + (pod_stamp)(run_s * 1e9)}};
    }
    p.request = request;
    p.n_requests = n;
    p.logs = false;
    p.horizon = POD_NEVER / 4;
    const pod_fleet_result x = simulate(&p);
    for (int i = 0; i < n; i++) sum_s += (double)pod_fleet_first_wait(&x.outcome[i]) * 1e-9;
    return sum_s / n;
}

/* M/M/c: Erlang's C over the spare rate of service. */
static double erlang_wait(int c, double load, double length_s)
{
    double term = 1, sum = 0;
    for (int k = 0; k < c; k++) {
        sum += term;
        term *= load / (k + 1);
    }
    const double tail = term * c / (c - load);
    return tail / (sum + tail) * length_s / (c - load);
}

static void queues(void)
{
    enum { N = 60000 }; /* a standard error of 2 % */
    begin();
    /* One server, load 0.5: Pollaczek and Khinchine have load x length / 2 / (1 - load) for equal lengths. */
    double got = mean_wait("pool:1", N, 20, 10, false), want = 0.5 * 10 / 2 / 0.5;
    POD_CHECK(fabs(got / want - 1) < 0.08, "M/D/1: %g s, want %g", got, want);
    got = mean_wait("pool:1", N, 20, 10, true);
    want = erlang_wait(1, 0.5, 10);
    POD_CHECK(fabs(got / want - 1) < 0.08, "M/M/1: %g s, want %g", got, want);
    got = mean_wait("pool:5", N, 10 / 3.5, 10, true);
    want = erlang_wait(5, 3.5, 10);
    POD_CHECK(fabs(got / want - 1) < 0.08, "M/M/5: %g s, want %g", got, want);
    /* Nodes of two GPUs have no shapes for jobs of one. */
    got = mean_wait("nodes:3x2", N, 10 / 4.5, 10, true);
    want = erlang_wait(6, 4.5, 10);
    POD_CHECK(fabs(got / want - 1) < 0.08, "M/M/6: %g s, want %g", got, want);
    end();
}

/* The share of the time in which one job that never ends has its chips; hosts fail after mtbf_s and are up again
 * after repair_s. */
static double share_with_all(const char *pod, int chips, double mtbf_s, double repair_s,
                             double days, int *n_failures)
{
    const line job = {0, chips, 1000000000, 0};
    pod_fleet_plan p = plan_of(pod, &job, 1);
    ((pod_fleet_request *)p.request)[0].plan.every = 1;
    p.logs = false;
    p.seed = 5;
    p.horizon = (pod_stamp)(days * 86400e9);
    p.faults = (pod_fleet_faults){.mtbf_s = mtbf_s, .repair_s = repair_s};
    const pod_fleet_result x = simulate(&p);
    *n_failures = x.outcome[0].n_failures;
    return (double)pod_ledger_together(&x.ledger) / chips / (double)p.horizon;
}

/* Of 8 hosts of 4 chips, each with 8 links: 1 / 2,000 + 8 / 16,000 is 1 / 1,000. A pool has no links. */
static void links(void)
{
    const line job = {0, 32, 900, 0};
    begin();
    pod_fleet_plan p = plan_of("torus:8x4", &job, 1);
    p.faults = (pod_fleet_faults){.mtbf_s = 1000, .repair_s = 20};
    const pod_fleet_result x = simulate(&p);
    p.faults = (pod_fleet_faults){.mtbf_s = 2000, .link_mtbf_s = 16000, .repair_s = 20};
    const pod_fleet_result y = simulate(&p);
    CU_ASSERT(x.n_host_failures > 2);
    CU_ASSERT_EQUAL(x.n_host_failures, y.n_host_failures);
    CU_ASSERT_EQUAL(x.n_events, y.n_events);
    p.faults = (pod_fleet_faults){.link_mtbf_s = 8000, .repair_s = 20};
    CU_ASSERT_EQUAL(simulate(&p).n_host_failures, x.n_host_failures);
    CU_ASSERT_EQUAL(pod_fleet_host_mtbf_s(&p.faults, plan_of("pool:8", &job, 1).topology), 0);
    CU_ASSERT_EQUAL(pod_topology_host_links(plan_of("tpu-v4", &job, 1).topology), 12);
    end();
}

/* A gang runs while all of its n hosts are up, a^n of the time. With switches a slice of k cubes runs while any k
 * cubes are up, each q = a^16 of the time. */
static void availability(void)
{
    int n;
    begin();
    const double a = 1000.0 / 1020;
    double got = share_with_all("pool:8", 8, 1000, 20, 20, &n), want = pow(a, 8);
    POD_CHECK(fabs(got - want) < 0.006, "8 hosts: all up for %g of the time, want %g", got, want);
    /* A host fails each 1,000 s that it is up; the job notices each failure while it runs. */
    const double rate = n / (got * 20 * 86400);
    POD_CHECK(fabs(rate * 1000 / 8 - 1) < 0.04, "a job on 8 hosts fails each %g s, want 125",
              1 / rate);
    got = share_with_all("mesh:8x4", 32, 1000, 20, 20, &n);
    POD_CHECK(fabs(got - want) < 0.006, "8 hosts of a mesh: %g, want %g", got, want);
    got = share_with_all("cubes:8", 6 * 64, 4000, 20, 5, &n);
    want = pod_binomial_at_least(8, pow(4000.0 / 4020, 16), 6);
    POD_CHECK(fabs(got - want) < 0.01, "6 of 8 cubes: %g of the time, want %g", got, want);
    end();
}

/* A job that saves each tau of steps, for delta, and after a failure starts again for R takes, with failures each M,
 * M exp(R/M) (exp((tau + delta)/M) - 1) for each tau (J. Daly, "A higher order estimate of the optimum checkpoint
 * interval for restart dumps", FGCS 2006, equation 20; exact for saves that block). */
static double daly_goodput(double tau_s, double delta_s, double restart_s, double mtbf_s)
{
    return tau_s / (mtbf_s * exp(restart_s / mtbf_s) * (exp((tau_s + delta_s) / mtbf_s) - 1));
}

static double goodput_at(int every_s, double mtbf_s)
{
    const line job = {0, 1, 20000000, 0};
    pod_fleet_plan p = plan_of("pool:1", &job, 1);
    pod_job_sim_plan *plan = &((pod_fleet_request *)p.request)[0].plan;
    *plan = (pod_job_sim_plan){.n_steps = job.run,
                               .every = every_s,
                               .step = S(1),
                               .save = S(5),
                               .launch = S(10),
                               .restore = S(20)};
    p.logs = false;
    p.horizon = POD_NEVER / 4;
    p.faults.mtbf_s = mtbf_s;
    const pod_fleet_result x = simulate(&p);
    return (double)x.outcome[0].span[POD_JOB_STEP] / (double)x.outcome[0].end;
}

static void checkpoints(void)
{
    begin();
    double at_best = 0;
    /* Young's interval: sqrt(2 x 5 x 1000) = 100. */
    static const int every[] = {100, 25, 400};
    for (int i = 0; i < 3; i++) {
        const double got = goodput_at(every[i], 1000), want = daly_goodput(every[i], 5, 30, 1000);
        POD_CHECK(fabs(got - want) < 0.005, "saved each %d s: goodput %g, want %g", every[i], got,
                  want);
        if (i == 0)
            at_best = got;
        else
            POD_CHECK(got < at_best - 0.03, "saved each %d s: goodput %g, at the best %g", every[i],
                      got, at_best);
    }
    /* E[ETTR] = (1 - N r (u0 + dt / 2)) / (1 + w / dt) of Kokolis et al. (HPCA 2025) is its first order. */
    const double first = (1 - (30 + 50) / 1000.0) / (1 + 5 / 100.0);
    POD_CHECK(fabs(at_best - first) < 0.01, "goodput %g, to first order %g", at_best, first);
    end();
}

/* Node 0 is down from day 1 to 5 by two faults, node 1 from day 4 to 11, of four nodes. */
static void faults_of_a_cluster(void)
{
    enum { DAY = 86400 };
    static const pod_node_event event[] = {{S(1 * DAY), 0, true},  {S(2 * DAY), 0, true},
                                           {S(3 * DAY), 0, false}, {S(4 * DAY), 1, true},
                                           {S(5 * DAY), 0, false}, {S(11 * DAY), 1, false}};
    static const pod_fault_trace t = {
        .n_nodes = 2, .n_faults = 3, .n_events = 6, .event = event, .end = S(11 * DAY)};
    pod_fault_figures f;
    begin();
    POD_CHECK_OK(pod_fault_figures_of(&t, 4, 1, arena, &f));
    CU_ASSERT_DOUBLE_EQUAL(f.per_node_day, 3 / 40.0, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(f.mean_days, (2 + 3 + 7) / 3.0, 1e-12); /* they end in their order */
    CU_ASSERT_DOUBLE_EQUAL(f.median_days, 3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(f.worst_share, 2 / 3.0, 1e-12);
    /* One node is down for 3 + 6 days and both for one: pairs of nodes are half up, or a sixth. */
    const pod_cluster_use u = pod_cluster_use_of(&t, 4, 1, 2);
    CU_ASSERT_DOUBLE_EQUAL(u.mean_down, (9 + 2) / 10.0, 1e-12);
    CU_ASSERT_EQUAL(u.most_down, 2);
    CU_ASSERT_DOUBLE_EQUAL(u.blocks_lost, 11 / 40.0, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(u.any_nodes, 0.5, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(u.fixed_nodes, (9 / 2.0 + 1 / 6.0) / 10, 1e-9);
    /* A box of all cubes wants all of them; one of a single cube any. */
    static const int all[] = {4, 4, 4}, one[] = {1, 1, 1};
    CU_ASSERT_EQUAL(pod_box_probability(all, 1, 10, 1), 1);
    POD_CHECK(fabs(pod_box_probability(all, 0.99, 20000, 1) - pow(0.99, 64)) < 0.015, "all cubes");
    POD_CHECK(fabs(pod_box_probability(one, 0.01, 20000, 1) - (1 - pow(0.99, 64))) < 0.015, "one");
    end();
}

POD_TEST_SUITE("runtime.fleet_laws", {"queues", queues},
               {"faults of a cluster", faults_of_a_cluster}, {"links", links},
               {"availability", availability}, {"checkpoints", checkpoints});
