/* Schedules on a virtual clock: numbers made by hand, and what must hold of every algorithm. */
#include "collectives/exec/sim/core.h"
#include "collectives/exec/sim/sim.h"
#include "collectives/net/engine.h"
#include "tests/unit/collectives/coll_cases.h"

/* A byte a nanosecond on a link, 2 bytes added and 4 bytes copied a nanosecond; a hop of 1 us. An
 * element is a byte: u8. */
static const pod_net plain = {.link_bytes_per_s = {1e9, 1e9, 1e9},
                              .link_latency_s = {1e-6, 1e-6, 1e-6},
                              .reduce_bytes_per_s = 2e9,
                              .memory_bytes_per_s = 4e9,
                              .sync_s = 3e-6};

enum { MAX_RANKS = 8, MAX_STEPS = 9 };

typedef struct script { /* steps by hand; a rank's list ends with a JOIN */
    const char *what, *mesh;
    pod_step step[MAX_RANKS][MAX_STEPS];
    bool shares; /* all ranks */
    double message_s;
    bool is_chip_shared;
    int failed; /* a link's number + 1; 0: none */
    double start_us[MAX_RANKS], want_us[MAX_RANKS];
    double wait_link_us, wait_sender_us;
} script;

/* The i of `after` counts from 1 here, so that what is left out is no step. */
#define FREE             .after = {0, 0}
#define AFTER(i)         .after = {(i) + 1, 0}
#define AFTER_BOTH(i, j) .after = {(i) + 1, (j) + 1}
#define SEND(to, n, ...)                                               \
    {                                                                  \
        .kind = POD_STEP_SEND, .peer = (to), .count = (n), __VA_ARGS__ \
    }
#define RECV(from, n, ...)                                               \
    {                                                                    \
        .kind = POD_STEP_RECV, .peer = (from), .count = (n), __VA_ARGS__ \
    }
#define RECV_ADD(from, n, ...)                                                  \
    {                                                                           \
        .kind = POD_STEP_RECV_REDUCE, .peer = (from), .count = (n), __VA_ARGS__ \
    }
#define DO(what, n, ...)                                   \
    {                                                      \
        .kind = POD_STEP_##what, .count = (n), __VA_ARGS__ \
    }
#define SYNC(name, ...)                                   \
    {                                                     \
        .kind = POD_STEP_SYNC, .tag = (name), __VA_ARGS__ \
    }
#define END                   \
    {                         \
        .kind = POD_STEP_JOIN \
    }

static const script scripts[] = {
    {"a message of 1000 bytes: the tail leaves after 1 us, comes after 1 + 1, is added in 0.5",
     "2o", .step = {{SEND(1, 1000, FREE), END}, {RECV_ADD(0, 1000, FREE), END}},
     .want_us = {1, 2.5}},
    {"two hops and cut-through: 1 + 1 + 1 us", "3o",
     .step = {{SEND(2, 1000, FREE), END}, {END}, {RECV(0, 1000, FREE), END}}, .want_us = {1, 0, 3}},
    {"a link that is held: 1 holds its own for 2 us, the head from 0 comes at 1 and waits "
     "for 1 us, then 2 + 1; behind it the link of 0 is free after 2 as ever",
     "3o",
     .step = {{SEND(2, 2000, FREE), END},
              {SEND(2, 2000, FREE), END},
              {RECV(0, 2000, FREE), RECV(1, 2000, FREE), END}},
     .want_us = {2, 2, 5}, .wait_link_us = 1},
    {"a receive waits for its step too: the first message takes 4 + 1 us, the second came after 2",
     "3o",
     .step = {{SEND(1, 4000, FREE), END},
              {RECV(0, 4000, FREE), RECV_ADD(2, 1000, AFTER(0)), END},
              {SEND(1, 1000, FREE), END}},
     .want_us = {4, 5.5, 1}},
    {"a receive after the SEND that it answers: 1 + 1, and back, 1 + 1", "2o",
     .step = {{SEND(1, 1000, FREE), RECV(1, 1000, AFTER(0)), END},
              {RECV(0, 1000, FREE), SEND(0, 1000, AFTER(0)), END}},
     .want_us = {4, 3}},
    {"what it answers is one SEND, it waits for another: that has left after 1 + 8", "2o",
     .step = {{SEND(1, 1000, .tag = 1, FREE), SEND(1, 8000, .tag = 2, AFTER(0)),
               RECV(1, 1000, .tag = 1, AFTER(1)), END},
              {RECV(0, 1000, .tag = 1, FREE), RECV(0, 8000, .tag = 2, FREE),
               SEND(0, 1000, .tag = 1, AFTER(0)), END}},
     .want_us = {9, 10}},
    {"and for its message: it has begun after 0, the message after 7", "2o",
     .step = {{SEND(1, 1000, FREE), END}, {RECV(0, 1000, FREE), END}}, .start_us = {7, 0},
     .want_us = {8, 9}},
    {"a message to who has not started: there after 2, taken at 5", "2o",
     .step = {{SEND(1, 1000, FREE), END}, {RECV_ADD(0, 1000, FREE), END}}, .start_us = {0, 5},
     .want_us = {1, 5.5}},
    {"a sender prepares one message at a time: they leave after 2 and 4 us, and take 1 + 1", "3o",
     .step = {{RECV(1, 1000, FREE), END},
              {SEND(0, 1000, FREE), SEND(2, 1000, FREE), END},
              {RECV(1, 1000, FREE), END}},
     .message_s = 2e-6, .want_us = {4, 5, 6}, .wait_sender_us = 2},
    {"a rank adds one thing at a time: both come after 2, 0.5 us each", "3o",
     .step = {{SEND(1, 1000, FREE), END},
              {RECV_ADD(0, 1000, FREE), RECV_ADD(2, 1000, FREE), END},
              {SEND(1, 1000, FREE), END}},
     .want_us = {1, 3, 1}},
    {"a copy reads and writes 1000 bytes, 0.5 us; a JOIN only waits; a send after both", "2o",
     .step = {{DO(COPY, 1000, FREE), DO(COPY, 1000, FREE), DO(JOIN, 0, AFTER_BOTH(0, 1)),
               SEND(1, 1000, AFTER(2)), END},
              {RECV(0, 1000, FREE), END}},
     .want_us = {2, 3}},
    {"JOINs of JOINs wait for four copies, and the message leaves after 2", "2o",
     .step = {{DO(COPY, 1000, FREE), DO(COPY, 1000, FREE), DO(COPY, 1000, FREE),
               DO(COPY, 1000, FREE), DO(JOIN, 0, AFTER_BOTH(0, 1)), DO(JOIN, 0, AFTER_BOTH(4, 2)),
               DO(JOIN, 0, AFTER_BOTH(5, 3)), SEND(1, 1000, AFTER(6)), END},
              {RECV(0, 1000, FREE), END}},
     .want_us = {3, 4}},
    {"shared memory: the last comes after 5, 3 us later all go on; 2 ranks read and written by "
     "each "
     "other are 4000 bytes, 1 us; again 3",
     "2o",
     .step = {{SYNC(0, FREE), DO(REDUCE_ALL, 1000, AFTER(0)), SYNC(1, AFTER(1)), END},
              {SYNC(0, FREE), DO(REDUCE_FROM, 1000, AFTER(0)), SYNC(1, AFTER(1)), END}},
     .shares = true, .start_us = {0, 5}, .want_us = {12, 12}},
    {"two cores of a chip and its one link: 1 us each, 1 us to get there", "2ox2ox1",
     .step = {{SEND(2, 1000, FREE), END},
              {SEND(3, 1000, FREE), END},
              {RECV(0, 1000, FREE), END},
              {RECV(1, 1000, FREE), END}},
     .is_chip_shared = true, .want_us = {1, 2, 2, 3}, .wait_link_us = 1},
    {"a link for each core", "2ox2ox1",
     .step = {{SEND(2, 1000, FREE), END},
              {SEND(3, 1000, FREE), END},
              {RECV(0, 1000, FREE), END},
              {RECV(1, 1000, FREE), END}},
     .want_us = {1, 1, 2, 2}},
    {"who comes first goes first: a message of 1 us from 0 and one of 10 us from 1, who starts at "
     "1.5, share a link; 2 works for 10 us on the first, 1 + 1 + 1 + 10",
     "3o",
     .step = {{SEND(2, 1000, FREE), END},
              {SEND(2, 10000, FREE), END},
              {RECV(0, 1000, FREE), DO(COPY, 20000, AFTER(0)), RECV(1, 10000, FREE), END}},
     .start_us = {0, 1.5}, .want_us = {1, 12, 13}, .wait_link_us = 0.5},
    {"and so 1 us of delay may cost more: it comes second now, waits till 11.5, then 1 + 1 + 10",
     "3o",
     .step = {{SEND(2, 1000, FREE), END},
              {SEND(2, 10000, FREE), END},
              {RECV(0, 1000, FREE), DO(COPY, 20000, AFTER(0)), RECV(1, 10000, FREE), END}},
     .start_us = {1, 1.5}, .want_us = {2, 11.5, 23.5}, .wait_link_us = 9.5},
    {"the shorter way round: 0 to 4 of 5 is one hop", "5",
     .step = {{SEND(4, 1000, FREE), END}, {END}, {END}, {END}, {RECV(0, 1000, FREE), END}},
     .want_us = {1, 0, 0, 0, 2}},
    {"halfway round neighbours go opposite ways: nobody waits", "4",
     .step = {{SEND(2, 1000, FREE), RECV(2, 1000, FREE), END},
              {SEND(3, 1000, FREE), RECV(3, 1000, FREE), END},
              {SEND(0, 1000, FREE), RECV(0, 1000, FREE), END},
              {SEND(1, 1000, FREE), RECV(1, 1000, FREE), END}},
     .want_us = {3, 3, 3, 3}},
    {"the link up from 0 has failed: round over 3 and 2, 1 + 3 us", "4",
     .step = {{SEND(1, 1000, FREE), END}, {RECV(0, 1000, FREE), END}, {END}, {END}}, .failed = 1,
     .want_us = {1, 4, 0, 0}},
    {"and back: over 2, where the message of 2 holds the link till 4, and 3: 4 + 1 + 1 + 1", "4",
     .step = {{RECV(1, 1000, FREE), END},
              {SEND(0, 1000, FREE), END},
              {SEND(3, 4000, FREE), END},
              {RECV(2, 4000, FREE), END}},
     .failed = 1, .want_us = {7, 1, 4, 5}, .wait_link_us = 3},
    {"the one link of two cores of a chip: both go round, over the chip above or below", "2ox3x1",
     .step = {{SEND(2, 1000, FREE), END},
              {SEND(3, 1000, FREE), END},
              {RECV(0, 1000, FREE), END},
              {RECV(1, 1000, FREE), END},
              {END},
              {END}},
     .is_chip_shared = true, .failed = 12 + 1, .want_us = {1, 2, 3, 4}, .wait_link_us = 1},
};

static void build_script(pod_arena *a, const script *s, int n_ranks, const pod_sched *all[])
{
    static const int everyone[MAX_RANKS] = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int r = 0; r < n_ranks; r++) {
        pod_sched *sched;
        POD_CHECK_OK(pod_sched_create(a, 4000, &sched));
        if (s->shares) pod_sched_share(sched, everyone, n_ranks);
        for (int i = 0; i < MAX_STEPS; i++) {
            pod_step step = s->step[r][i];
            step.after[0]--;
            step.after[1]--;
            if (step.kind == POD_STEP_JOIN && step.after[0] == POD_NO_STEP) break;
            pod_sched_add(sched, step);
        }
        POD_CHECK_OK(pod_sched_finish(sched));
        all[r] = sched;
    }
}

/* On the script's mesh and net. */
static pod_sim *open_sim(const script *s)
{
    pod_sim *sim = NULL;
    const pod_mesh m = coll_mesh(s->mesh);
    pod_net net = plain;
    net.message_s = s->message_s;
    net.is_chip_shared = s->is_chip_shared;
    POD_CHECK_OK(pod_sim_create(&net, &m, &sim));
    const int failed = s->failed - 1;
    if (s->failed) POD_CHECK_OK(pod_sim_fail_links(sim, &failed, 1));
    return sim;
}

static pod_status add_script(pod_sim *sim, const script *s, pod_sim_coll **out)
{
    const pod_sched *all[MAX_RANKS];
    const pod_mesh m = coll_mesh(s->mesh);
    build_script(pod_test_arena(), s, pod_mesh_size(&m), all);
    return pod_sim_add(sim, all, POD_U8, out);
}

static void test_by_hand(void)
{
    for (int k = 0; k < N_OF(scripts); k++) {
        const script *s = &scripts[k];
        pod_sim *sim = open_sim(s);
        pod_sim_coll *c;
        POD_CHECK_OK(add_script(sim, s, &c));
        const int n_ranks = pod_sim_n_cores(sim);
        for (int r = 0; r < n_ranks; r++)
            POD_CHECK_OK(pod_sim_start(sim, c, r, pod_ps(s->start_us[r] * 1e-6)));
        pod_sim_done done;
        int n_done = 0;
        for (; pod_sim_next(sim, &done); n_done++)
            POD_CHECK(done.at_ps == pod_ps(s->want_us[done.rank] * 1e-6) && done.coll == c,
                      "%s: rank %d is done after %g us, want %g", s->what, done.rank,
                      pod_ps_seconds(done.at_ps) * 1e6, s->want_us[done.rank]);
        CU_ASSERT_EQUAL(n_done, n_ranks);
        POD_CHECK_OK(pod_sim_check_done(sim, c));
        const pod_sim_use use = pod_sim_used(sim);
        CU_ASSERT_DOUBLE_EQUAL(use.wait_link_s * 1e6, s->wait_link_us, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(use.wait_sender_s * 1e6, s->wait_sender_us, 1e-9);
        pod_sim_destroy(sim);
    }
}

/* Rank 0 sends 4000 bytes and then 2000, which 1 adds: 4 us and 2 on the link, 2 and 1 of sums. At
 * 1 us another collective sends 1000 the same way, 1 us, to be added in 0.5. */
static void test_preferred(void)
{
    static const script large = {"", "2",
                                 .step = {{SEND(1, 4000, .tag = 1, FREE),
                                           SEND(1, 2000, .tag = 2, AFTER(0)), END},
                                          {RECV_ADD(0, 4000, .tag = 1, FREE),
                                           RECV_ADD(0, 2000, .tag = 2, FREE), END}}},
                        small = {
                            "", "2",
                            .step = {{SEND(1, 1000, FREE), END}, {RECV_ADD(0, 1000, FREE), END}}};
    static const struct {
        bool is_preferred;
        double want_us[2][2], wait_link_us;
    } cases[] = {
        /* The small one comes when 4000 are under way, and leaves after 4 + 1, which 2000 await. */
        {false, {{7, 9}, {5, 7.5}}, 3 + 1},
        /* It leaves at once, after 1 + 1, and what comes behind 4000 a microsecond later. */
        {true, {{7, 9}, {2, 3.5}}, 1},
    };
    for (int k = 0; k < 2; k++) {
        pod_sim *sim = open_sim(&large);
        pod_sim_coll *c[2];
        POD_CHECK_OK(add_script(sim, &large, &c[0]));
        POD_CHECK_OK(add_script(sim, &small, &c[1]));
        if (cases[k].is_preferred) pod_sim_prefer(c[1]);
        for (int i = 0; i < 2; i++)
            for (int r = 0; r < 2; r++)
                POD_CHECK_OK(pod_sim_start(sim, c[i], r, i == 0 ? 0 : pod_ps(1e-6)));
        int n_done = 0;
        for (pod_sim_done done; pod_sim_next(sim, &done); n_done++) {
            const int i = pod_sim_coll_number(done.coll);
            POD_CHECK(done.at_ps == pod_ps(cases[k].want_us[i][done.rank] * 1e-6),
                      "case %d, collective %d: rank %d is done after %g us, want %g", k, i,
                      done.rank, pod_ps_seconds(done.at_ps) * 1e6, cases[k].want_us[i][done.rank]);
        }
        CU_ASSERT_EQUAL(n_done, 4);
        CU_ASSERT_DOUBLE_EQUAL(pod_sim_used(sim).wait_link_s * 1e6, cases[k].wait_link_us, 1e-9);
        pod_sim_destroy(sim);
    }
}

/* A ring of 3 over 3000 bytes: 2 rounds of 1 + 1 + 0.5 us, then 2 of 1 + 1. */
static void test_ring_of_three(void)
{
    const pod_mesh m = coll_mesh("3");
    pod_coll_args args = coll_args(&m, POD_ALLREDUCE, 3000);
    args.dtype = POD_U8;
    const pod_coll_algo *ring = pod_coll_find(POD_ALLREDUCE, "ring");
    pod_sim_report r = {0};
    double done_s[3];
    POD_CHECK_OK(pod_sim_collective(&plain, &m, ring, &args, NULL, done_s, &r));
    CU_ASSERT_DOUBLE_EQUAL(r.seconds, 9e-6, 1e-15);
    for (int i = 0; i < 3; i++) CU_ASSERT_DOUBLE_EQUAL(done_s[i], 9e-6, 1e-15);
    CU_ASSERT_EQUAL(r.use.n_messages, 12);
    CU_ASSERT_EQUAL(r.use.message_bytes, 12000);
    /* Each of the three links up is held 4 times for 1 us, of 9. */
    CU_ASSERT_DOUBLE_EQUAL(r.use.link_s, 12e-6, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(r.busiest_share, 4.0 / 9, 1e-12);
    CU_ASSERT_STRING_EQUAL(r.busiest_link, "dimension 0 up from 0");
    /* All 2 s later is the same. */
    const double start_s[3] = {2, 2, 2};
    POD_CHECK_OK(pod_sim_collective(&plain, &m, ring, &args, start_s, done_s, &r));
    CU_ASSERT_DOUBLE_EQUAL(r.seconds, 9e-6, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(done_s[2], 2 + 9e-6, 1e-12);
}

static const script faults[] = {
    {"nobody sends it", "2", .step = {{END}, {RECV(0, 1, FREE), END}}},
    {"no receive takes it", "2", .step = {{SEND(1, 1, FREE), END}, {END}}},
    {"another number of elements", "2", .step = {{SEND(1, 2, FREE), END}, {RECV(0, 1, FREE), END}}},
    {"rank 0 step 1 (send", "2",
     .step = {{SEND(1, 1, FREE), SEND(1, 1, FREE), END}, {RECV(0, 1, FREE), END}}},
    {"a second message", "2",
     .step = {{SEND(1, 1, FREE), END}, {RECV(0, 1, FREE), RECV(0, 1, FREE), END}}},
    {"no such peer", "2", .step = {{SEND(2, 1, FREE), END}, {END}}},
    {"to itself", "2", .step = {{SEND(0, 1, FREE), END}, {END}}},
    {"shares nothing", "2", .step = {{SYNC(0, FREE), END}, {END}}},
    {"not every sharing rank", "2", .step = {{SYNC(0, FREE), END}, {SYNC(1, FREE), END}},
     .shares = true},
};

static void test_faults(void)
{
    for (int k = 0; k < N_OF(faults); k++) {
        pod_sim *sim = open_sim(&faults[k]);
        pod_sim_coll *c;
        POD_CHECK_FAILS(add_script(sim, &faults[k], &c), POD_E_INVALID, faults[k].what);
        pod_sim_destroy(sim);
    }
}

/* Each waits for the other before it sends; rank 0 waits for the answer of one that does not start. */
static void test_deadlock(void)
{
    static const script waits[] = {
        {"rank 0 waits for ever in step 0", "2",
         .step = {{RECV(1, 1, FREE), SEND(1, 1, AFTER(0)), END},
                  {RECV(0, 1, FREE), SEND(0, 1, AFTER(0)), END}}},
        {"rank 0 waits for ever for a message", "2",
         .step = {{SEND(1, 1, FREE), RECV(1, 1, AFTER(0)), END},
                  {RECV(0, 1, FREE), SEND(0, 1, AFTER(0)), END}}},
    };
    for (int k = 0; k < N_OF(waits); k++) {
        pod_sim *sim = open_sim(&waits[k]);
        pod_sim_coll *c;
        pod_sim_done done;
        POD_CHECK_OK(add_script(sim, &waits[k], &c));
        for (int r = 0; r < 2 - k; r++) POD_CHECK_OK(pod_sim_start(sim, c, r, 0));
        CU_ASSERT_FALSE(pod_sim_next(sim, &done));
        POD_CHECK_FAILS(pod_sim_check_done(sim, c), POD_E_INVALID, waits[k].what);
        pod_sim_destroy(sim);
    }
}

/* What was built of a collective whose places its engine has no memory for is the simulation's to
 * free. */
static void test_no_places(void)
{
    static const script s = {"", "2", .step = {{SYNC(0, FREE), END}, {SYNC(0, FREE), END}},
                             .shares = true};
    pod_test_budget budget = {.n_left = 2}; /* an engine and its one place */
    const pod_alloc scarce = pod_test_budget_alloc(&budget);
    pod_sim *sim = open_sim(&s);
    pod_sim_coll *c;
    pod_engine_destroy(sim->engine);
    POD_CHECK_OK(pod_engine_create(&scarce, &sim->engine));
    POD_CHECK_FAILS(add_script(sim, &s, &c), POD_E_NOMEM, "no memory for 1 places");
    POD_CHECK(sim->shared && sim->shared->plan, "its plan is nobody's");
    pod_sim_destroy(sim);
}

static void test_bad_nets(void)
{
    pod_sim *sim;
    const pod_mesh m = coll_mesh("2x2");
    pod_net net = plain;
    net.link_bytes_per_s[1] = 0;
    POD_CHECK_FAILS(pod_sim_create(&net, &m, &sim), POD_E_INVALID, "bandwidth is 0");
    net = plain;
    net.link_latency_s[0] = -1;
    POD_CHECK_FAILS(pod_sim_create(&net, &m, &sim), POD_E_INVALID, "latency is -1 s");
    net = plain;
    net.reduce_bytes_per_s = 0;
    POD_CHECK_FAILS(pod_sim_create(&net, &m, &sim), POD_E_INVALID, "the rate of sums");
    net = plain;
    net.link_bytes_per_s[2] = 0; /* of a dimension that is not there */
    POD_CHECK_OK(pod_sim_create(&net, &m, &sim));
    pod_sim_destroy(sim);
}

POD_TEST_SUITE("sim", {"by hand", test_by_hand}, {"a ring of three", test_ring_of_three},
               {"one is preferred", test_preferred}, {"faults", test_faults},
               {"deadlock", test_deadlock}, {"no memory for places", test_no_places},
               {"bad nets", test_bad_nets});
