/* A fleet of jobs: schedules that are worked out by hand. */
#include "tests/unit/runtime/fleet/fleets.h"

static void check_starts(const char *what, const pod_fleet_result *r, const int starts[], int n)
{
    for (int i = 0; i < n; i++)
        POD_CHECK(r->outcome[i].first_start == S(starts[i]), "%s: job %d starts at %g s, want %d",
                  what, i, (double)r->outcome[i].first_start * 1e-9, starts[i]);
}

/* Ten chips: 8 for 100 s; then one of 10, which waits; then small ones that could pass it. */
static void orders_and_backfill(void)
{
    static const line jobs[] = {
        {0, 8, 100, 0}, {10, 10, 50, 0}, {20, 2, 30, 0}, {25, 1, 90, 0}, {30, 1, 60, 0}};
    static const int fifo[] = {0, 100, 150, 150, 150}, skip[] = {0, 140, 20, 50, 50},
                     easy[] = {0, 100, 20, 150, 150}, sjf[] = {0, 100, 20, 0, 50},
                     conservative[] = {0, 100, 20, 150, 150};
    begin();
    pod_fleet_plan p = plan_of("pool:10", jobs, 5);
    pod_fleet_result r = simulate(&p);
    check_starts("fifo", &r, fifo, 5);
    /* 10 x 1000: 8 x 100 + 10 x 50 + 2 x 30 + 90 + 60 = 1510; 2 chips wait 10 to 100 behind the head,
     * and of 150 on nobody waits. */
    CU_ASSERT_EQUAL(chip_s(pod_ledger_together(&r.ledger)), 1510);
    CU_ASSERT_EQUAL(chip_s(r.ledger.idle[POD_IDLE_POLICY]), 180);
    CU_ASSERT_EQUAL(chip_s(r.ledger.idle[POD_IDLE_FRAGMENTED]), 0);
    CU_ASSERT_EQUAL(chip_s(r.ledger.idle[POD_IDLE_NO_DEMAND]), 10000 - 1510 - 180);
    CU_ASSERT_EQUAL(r.outcome[1].wait[POD_WAIT_BUSY], S(90));
    CU_ASSERT_EQUAL(r.outcome[2].wait[POD_WAIT_ORDER], S(80)); /* then the head runs: */
    CU_ASSERT_EQUAL(r.outcome[2].wait[POD_WAIT_BUSY], S(50));
    p.policy.backfill = POD_BACKFILL_skip;
    r = simulate(&p);
    check_starts("skip", &r, skip, 5);
    p.policy.backfill = POD_BACKFILL_easy;
    r = simulate(&p);
    check_starts("easy", &r, easy, 5);
    CU_ASSERT_EQUAL(r.outcome[1].promised, S(100));
    p.policy.backfill = POD_BACKFILL_conservative;
    r = simulate(&p);
    check_starts("conservative", &r, conservative, 5);
    CU_ASSERT_EQUAL(r.outcome[3].promised, S(150));
    p.policy.backfill = POD_BACKFILL_none;
    p.policy.order =
        POD_ORDER_sjf; /* the job of 30 s is before that of 50, those of 60 and 90 not */
    r = simulate(&p);
    CU_ASSERT_EQUAL(r.outcome[2].first_start, S(sjf[2]));
    CU_ASSERT_EQUAL(r.outcome[1].first_start, S(sjf[1]));
    end();
}

/* A mesh of 2x2 hosts: two single hosts in opposite corners leave no free pair. */
static void fragmentation_and_moves(void)
{
    static const line jobs[] = {
        {0, 4, 100, 0}, {0, 4, 10, 0}, {0, 4, 10, 0}, {0, 4, 100, 0}, {20, 8, 50, 0}};
    begin();
    pod_fleet_plan p = plan_of("mesh:4x4", jobs, 5);
    pod_fleet_result r = simulate(&p);
    CU_ASSERT_EQUAL(r.outcome[4].first_start, S(100));
    CU_ASSERT_EQUAL(r.outcome[4].wait[POD_WAIT_SHAPE], S(80));
    CU_ASSERT_EQUAL(chip_s(r.ledger.idle[POD_IDLE_FRAGMENTED]), 8 * 80);
    p.policy.moves = true;
    p.policy.move_margin = 1;
    r = simulate(&p);
    CU_ASSERT_EQUAL(r.outcome[4].first_start, S(20));
    CU_ASSERT_EQUAL(r.n_moves, 1);
    CU_ASSERT_EQUAL(r.outcome[0].n_moves + r.outcome[3].n_moves, 1);
    CU_ASSERT_EQUAL(chip_s(r.ledger.idle[POD_IDLE_FRAGMENTED]), 0);
    CU_ASSERT_EQUAL(r.outcome[0].end, S(100)); /* a move without a cost */
    CU_ASSERT_EQUAL(r.outcome[3].end, S(100));
    end();
}

/* Two lines of four hosts. No pod has room for the job of four hosts, which all moves together find: on the first
 * pod one job goes before it in priority and is moved to the host that the second has left, one is evicted. The one
 * of three hosts on the second is dearer to move, and finds no room. */
static void moves_between_pods(void)
{
    static const line jobs[] = {
        {0, 16, 10, 3}, {0, 12, 200, 3}, {15, 4, 100, 3}, {15, 4, 100, 1}, {20, 16, 50, 2}};
    begin();
    pod_fleet_plan p = plan_of("mesh:8x2", jobs, 5);
    for (int i = 0; i < 5; i++) ((pod_fleet_request *)p.request)[i].plan.launch = S(1);
    p.n_pods = 2;
    p.policy.order = POD_ORDER_priority;
    pod_fleet_result r = simulate(&p);
    CU_ASSERT_EQUAL(r.outcome[4].first_start, S(116));
    p.policy.preempts = true;
    CU_ASSERT_EQUAL(simulate(&p).outcome[4].first_start, S(116));
    p.policy.moves = true;
    p.policy.move_margin = 1;
    r = simulate(&p);
    CU_ASSERT_EQUAL(r.outcome[4].first_start, S(20));
    CU_ASSERT_EQUAL(r.outcome[2].n_moves, 1);
    CU_ASSERT_EQUAL(r.outcome[3].n_evictions, 1);
    CU_ASSERT_EQUAL(r.outcome[1].n_moves, 0);
    CU_ASSERT_EQUAL(r.outcome[2].end, S(15 + 101 + 1)); /* it is launched twice */
    p.policy.protected_chips = 4;
    CU_ASSERT_EQUAL(simulate(&p).outcome[4].first_start, S(116));
    end();
}

/* The job of low priority loses what it has not saved: saves every 10 s of steps, 1 s each. */
static void preemption(void)
{
    static const line jobs[] = {{0, 6, 100, 1}, {0, 4, 200, 2}, {37, 6, 20, 3}};
    begin();
    pod_fleet_plan p = plan_of("pool:10", jobs, 3);
    pod_fleet_request r0 = p.request[0];
    r0.plan.every = 10;
    r0.plan.save = S(1);
    r0.plan.restore = S(5);
    ((pod_fleet_request *)p.request)[0] = r0;
    p.policy.order = POD_ORDER_priority;
    pod_fleet_result r = simulate(&p);
    CU_ASSERT_EQUAL(r.outcome[2].first_start, S(110)); /* 100 s of steps, 10 saves */
    p.policy.preempts = true;
    r = simulate(&p);
    CU_ASSERT_EQUAL(r.outcome[2].first_start, S(37));
    CU_ASSERT_EQUAL(r.outcome[0].n_evictions, 1);
    CU_ASSERT_EQUAL(r.outcome[1].n_evictions, 0);
    CU_ASSERT_EQUAL(r.outcome[0].span[POD_JOB_LOST_STEP], S(4)); /* 3 saves until 33 */
    CU_ASSERT_EQUAL(r.outcome[0].rewait, S(20));
    CU_ASSERT_EQUAL(r.outcome[0].end, S(57 + 5 + 77)); /* 70 steps and 7 saves are left */
    CU_ASSERT_EQUAL(r.outcome[0].span[POD_JOB_STEP], S(100));
    p.policy.grace = S(60);
    r = simulate(&p);
    CU_ASSERT_EQUAL(r.outcome[0].first_start, 0);
    CU_ASSERT_EQUAL(r.outcome[2].first_start, S(110)); /* the next event is too late to evict */
    p.policy.grace = 0;
    p.policy.protected_chips = 6;
    r = simulate(&p);
    CU_ASSERT_EQUAL(r.outcome[0].n_evictions, 0);
    end();
}

/* Four chips are held for jobs that lost theirs: the second job waits until the first has ended. */
static void spare_chips(void)
{
    static const line jobs[] = {{0, 6, 100, 1}, {10, 4, 50, 1}};
    begin();
    pod_fleet_plan p = plan_of("pool:10", jobs, 2);
    p.policy.spare_chips = 4;
    pod_fleet_result r = simulate(&p);
    CU_ASSERT_EQUAL(r.outcome[1].first_start, S(100));
    CU_ASSERT_EQUAL(r.outcome[1].wait[POD_WAIT_SPARE], S(90));
    CU_ASSERT_EQUAL(chip_s(r.ledger.idle[POD_IDLE_POLICY]), 4 * 90);
    p.policy.backfill = POD_BACKFILL_easy;
    r = simulate(&p);
    CU_ASSERT_EQUAL(r.outcome[1].first_start, S(100));
    end();
}

/* Ten hosts play a node that was down from 100 to 150 and from 130 to 160 of 1,000 s, each from another tenth
 * on: in 1,000 s all are down for 60 s; in 1,500 s the first five are twice. */
static void replayed_faults(void)
{
    static const pod_node_event event[] = {
        {S(100), 0, true}, {S(130), 0, true}, {S(150), 0, false}, {S(160), 0, false}};
    const pod_fault_trace trace = {
        .n_nodes = 1, .n_faults = 2, .n_events = 4, .event = event, .end = S(1000)};
    static const line jobs[] = {{0, 10, 2000, 0}};
    begin();
    pod_fleet_plan p = plan_of("pool:10", jobs, 0);
    p.faults = (pod_fleet_faults){.trace = &trace, .n_nodes = 1};
    CU_ASSERT_EQUAL(chip_s(simulate(&p).ledger.idle[POD_IDLE_DOWN]), 10 * 60);
    p.horizon = S(1500);
    CU_ASSERT_EQUAL(chip_s(simulate(&p).ledger.idle[POD_IDLE_DOWN]), 15 * 60);
    /* Two nodes, one of which never fails: five of the hosts. */
    p.faults.n_nodes = 2;
    p.horizon = S(1000);
    const pod_fleet_result r = simulate(&p);
    CU_ASSERT_EQUAL(chip_s(r.ledger.idle[POD_IDLE_DOWN]), 5 * 60);
    CU_ASSERT_EQUAL(r.n_host_failures, 5);
    end();
}

/* A switch fails about each 1,000 / 48 s: the job of two cubes starts again and again, in the same second, and the
 * one beside it in a cube of its own does not notice. */
static void switches(void)
{
    static const line jobs[] = {{0, 128, 2000, 0}, {0, 64, 900, 0}};
    begin();
    pod_fleet_plan p = plan_of("cubes:3", jobs, 2);
    p.faults.switch_mtbf_s = 1000;
    pod_fleet_result r = simulate(&p);
    POD_CHECK(r.outcome[0].n_failures > 25 && r.outcome[0].n_failures < 80, "%d failures",
              r.outcome[0].n_failures);
    CU_ASSERT_EQUAL(r.outcome[0].rewait, 0);
    CU_ASSERT_EQUAL(r.outcome[1].end, S(900));
    CU_ASSERT_EQUAL(r.n_host_failures, 0);
    p.policy.placement = pod_placement_find("best");
    ((pod_fleet_request *)p.request)[0].plan.detect = S(1);
    r = simulate(&p);
    CU_ASSERT(chip_s(r.ledger.idle[POD_IDLE_PARTIAL]) > 128 * 20);
    end();
}

/* Eight of ten chips are taken until 100; a job of four with 60 s of steps starts on two, where they take 120 s, and
 * grows at 100, when 35 steps are left. */
static void elastic_jobs(void)
{
    static const line jobs[] = {{0, 8, 100, 0}, {50, 4, 60, 0}};
    begin();
    pod_fleet_plan p = plan_of("pool:10", jobs, 2);
    pod_fleet_size smaller = {.chips = 2, .plan = p.request[1].plan};
    smaller.plan.step = S(2);
    ((pod_fleet_request *)p.request)[1].smaller = &smaller;
    ((pod_fleet_request *)p.request)[1].n_smaller = 1;
    pod_fleet_result r = simulate(&p);
    CU_ASSERT_EQUAL(r.outcome[1].first_start, S(100));
    p.policy.resizes = true;
    r = simulate(&p);
    CU_ASSERT_EQUAL(r.outcome[1].first_start, S(50));
    CU_ASSERT_EQUAL(r.outcome[1].end, S(100 + 35));
    CU_ASSERT_EQUAL(r.outcome[1].n_resizes, 2);
    CU_ASSERT_EQUAL(chip_s(r.ledger.span[POD_JOB_STEP]), 8 * 100 + 2 * 50 + 4 * 35);
    CU_ASSERT_EQUAL(chip_s(r.outcome[1].missed[POD_JOB_STEP]), 2 * 50);
    p.request++; /* alone; its whole slice would leave six chips free */
    p.n_requests = 1;
    p.policy.spare_chips = 8;
    r = simulate(&p);
    CU_ASSERT_EQUAL(r.outcome[0].first_start, S(50));
    CU_ASSERT_EQUAL(r.outcome[0].end, S(50 + 120));
    CU_ASSERT_EQUAL(r.outcome[0].n_resizes, 1);
    static const line beside[] = {{0, 2, 100, 0}, {50, 4, 60, 0}};
    p = plan_of("pool:10", beside, 2);
    ((pod_fleet_request *)p.request)[1].smaller = &smaller;
    ((pod_fleet_request *)p.request)[1].n_smaller = 1;
    p.policy.resizes = true;
    p.policy.spare_chips = 6; /* as many are left when the other job has ended and it has grown */
    r = simulate(&p);
    CU_ASSERT_EQUAL(r.outcome[1].first_start, S(50));
    CU_ASSERT_EQUAL(r.outcome[1].end, S(100 + 35));
    end();
}

static void refusals(void)
{
    static const line jobs[] = {{0, 4, 100, 0}, {0, 11, 10, 0}};
    begin();
    pod_fleet_result r;
    const pod_fleet_plan p = plan_of("pool:10", jobs, 2);
    POD_CHECK_FAILS(pod_fleet_simulate(arena, &p, &r), POD_E_INVALID,
                    "job 'job' asks for 11 chips, but a pool:10 pod has 10");
    CU_ASSERT_EQUAL(pod_order_find("fifo"), POD_ORDER_fifo);
    CU_ASSERT_EQUAL(pod_order_find("lifo"), -1);
    CU_ASSERT_EQUAL(pod_backfill_find("easy"), POD_BACKFILL_easy);
    CU_ASSERT_PTR_NULL(pod_placement_find("worst"));
    end();
}

POD_TEST_SUITE("runtime.fleet_sim", {"orders and backfill", orders_and_backfill},
               {"fragmentation and moves", fragmentation_and_moves},
               {"moves between pods", moves_between_pods}, {"preemption", preemption},
               {"spare chips", spare_chips}, {"replayed faults", replayed_faults},
               {"switches", switches}, {"elastic jobs", elastic_jobs}, {"refusals", refusals});
