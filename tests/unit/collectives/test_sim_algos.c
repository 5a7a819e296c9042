/* What must hold of every algorithm on a virtual clock, whatever it does. */
#include <stdio.h>
#include <string.h>

#include "collectives/exec/sim/sim.h"
#include "collectives/net/engine.h"
#include "tests/unit/collectives/coll_cases.h"

static const char *const meshes[] = {"2",   "2o",  "3",   "4",   "5",   "7",    "8",     "8o",
                                     "1x4", "2x2", "3x2", "4x4", "5x3", "4x3o", "2x3x4", "2ox2x4"};

static const pod_net nets[] = {
    {{70e9, 70e9, 70e9}, {1e-6, 1e-6, 1e-6}, 0, 150e9, 450e9, 1e-6, false},
    {{70e9, 10e9, 30e9}, {1e-6, 2e-6, 1e-7}, 0, 1e12, 450e9, 2e-6, true},
    {{70e9, 70e9, 70e9}, {1e-6, 1e-6, 1e-6}, 5e-7, 50e9, 450e9, 1e-6, false}};

static const int64_t counts[] = {1, 1000, 300000}; /* elements a rank */

enum {
    N_MESHES = sizeof meshes / sizeof meshes[0],
    N_NETS = sizeof nets / sizeof nets[0],
    N_COUNTS = sizeof counts / sizeof counts[0],
    MAX_RANKS = 32
};

typedef struct example {
    const pod_coll_algo *algo;
    pod_mesh mesh;
    pod_coll_args args;
    pod_net net;
    char what[160];
} example;

typedef void check_fn(const example *e, void *ctx);

/* Calls `check` for each algorithm on the meshes, nets and sizes that it takes. */
static void for_all(check_fn *check, void *ctx)
{
    int n_algos;
    const pod_coll_algo *algos = pod_coll_algos(&n_algos);
    for (int k = 0; k < n_algos * N_MESHES * N_NETS * N_COUNTS; k++) {
        if (!coll_is_tried(k)) continue;
        const int c = k % N_COUNTS, q = k / N_COUNTS % N_NETS, m = k / N_COUNTS / N_NETS % N_MESHES;
        example e = {.algo = &algos[k / N_COUNTS / N_NETS / N_MESHES], .net = nets[q]};
        e.mesh = coll_mesh(meshes[m]);
        const int size = pod_mesh_size(&e.mesh);
        e.args = coll_args(&e.mesh, e.algo->coll, counts[c] * size);
        e.args.node_size = size;
        if (e.algo->why_not(&e.mesh, &e.args)) e.args.node_size = e.mesh.extent[0];
        snprintf(e.what, sizeof e.what, "%s %s mesh %s net %d count %d",
                 pod_coll_name(e.algo->coll), e.algo->name, meshes[m], q, (int)e.args.count);
        if (!e.algo->why_not(&e.mesh, &e.args)) check(&e, ctx);
    }
}

static pod_sim_report simulate(const example *e, const pod_net *net, const double start_s[])
{
    pod_sim_report r = {0};
    POD_CHECK_OK(pod_sim_collective(net, &e->mesh, e->algo, &e->args, start_s, NULL, &r));
    return r;
}

/* ---- textbook formulas ---------------------------------------------------------------------- */

/* Of n ranks that wrap, for S bytes: a message takes a = message + hop and S / B. */
static void test_textbook(void)
{
    enum { N = 8, COUNT = 80000 };
    const pod_net net = nets[2];
    const double bytes = 4.0 * COUNT, block = bytes / N, sync_s = net.sync_s,
                 alpha_s = net.message_s + net.link_latency_s[0],
                 link_s = block / net.link_bytes_per_s[0], add_s = block / net.reduce_bytes_per_s,
                 whole_s = bytes / net.link_bytes_per_s[0],
                 memory_s = block / net.memory_bytes_per_s;
    const struct {
        pod_coll coll;
        const char *name;
        double want_s;
    } rows[] = {
        {POD_REDUCE_SCATTER, "ring", (N - 1) * (alpha_s + link_s + add_s)},
        {POD_ALLGATHER, "ring", (N - 1) * (alpha_s + link_s)},
        {POD_ALLREDUCE, "ring", (N - 1) * (2 * (alpha_s + link_s) + add_s)},
        /* The root serves its farthest child first: 4, 2 and 1 hops. */
        {POD_BROADCAST, "tree",
         3 * (net.message_s + whole_s) + (4 + 2 + 1) * net.link_latency_s[0]},
        {POD_REDUCE_SCATTER, "direct", 2 * sync_s + (N + 1) * memory_s},
        {POD_ALLREDUCE, "direct", 2 * sync_s + 2 * N * memory_s},
        {POD_ALLREDUCE, "oneshot", sync_s + N * (2 + N + 1) * memory_s},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        example e = {.algo = pod_coll_find(rows[i].coll, rows[i].name), .net = net};
        e.mesh = coll_mesh("8");
        e.args = coll_args(&e.mesh, rows[i].coll, COUNT);
        e.args.node_size = N;
        const double s = simulate(&e, &net, NULL).seconds;
        POD_CHECK(pod_test_near(s, rows[i].want_s, 1e-9), "%s %s: %.6f us, want %.6f",
                  pod_coll_name(rows[i].coll), rows[i].name, 1e6 * s, 1e6 * rows[i].want_s);
    }
}

/* Messages that cost but their hops: the torus where it is one, both ways round a row; where a
 * message costs 10 us, few of them. */
static void test_cheapest(void)
{
    static const struct {
        const char *mesh;
        int64_t count;
        double message_s;
        const char *want;
    } rows[] = {{"8x8", 1 << 10, 0, "torus2d"},
                {"8x8", 1 << 20, 0, "torus2d"},
                {"7", 1 << 20, 0, "ring2"},
                {"8x8", 1 << 10, 1e-5, "recursive_doubling"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pod_net net = nets[0];
        const pod_mesh m = coll_mesh(rows[i].mesh);
        const pod_coll_algo *algo = NULL;
        net.message_s = rows[i].message_s;
        pod_coll_args args = coll_args(&m, POD_ALLGATHER, rows[i].count);
        args.dtype = POD_BF16;
        POD_CHECK_OK(pod_sim_cheapest(&net, &m, &args, &algo));
        POD_CHECK(algo && strcmp(algo->name, rows[i].want) == 0, "%s, %d elements: %s, want %s",
                  rows[i].mesh, (int)rows[i].count, algo ? algo->name : "none", rows[i].want);
    }
}

/* ---- stragglers and faster links ------------------------------------------------------------ */

static const double rounding_s = 1e-9; /* times are rounded to 1 ps at each of many steps */

static double waits(const pod_sim_use *use)
{
    return use->wait_link_s + use->wait_sender_s + use->wait_work_s;
}

/* However late one rank starts, the end comes no later than that, but for what is waited. */
static void check_straggler(const example *e, void *ctx)
{
    int *n_without_waits = ctx;
    const int size = pod_mesh_size(&e->mesh);
    const double base_s = simulate(e, &e->net, NULL).seconds;
    const double delays_s[] = {1e-7, 0.1 * base_s, 0.7 * base_s, 3 * base_s};
    for (int k = 0; k < 8; k++) {
        double start_s[MAX_RANKS] = {0};
        const int late[] = {0, size - 1};
        const double delay_s = delays_s[k / 2];
        start_s[late[k % 2]] = delay_s;
        const pod_sim_report r = simulate(e, &e->net, start_s);
        POD_CHECK(r.seconds <= base_s + delay_s + waits(&r.use) + rounding_s,
                  "%s: rank %d starts %g us late: %g us instead of %g", e->what, late[k % 2],
                  1e6 * delay_s, 1e6 * r.seconds, 1e6 * base_s);
        *n_without_waits += waits(&r.use) == 0;
    }
}

static void test_stragglers(void)
{
    int n_without_waits = 0;
    for_all(check_straggler, &n_without_waits);
    CU_ASSERT_TRUE(n_without_waits > 1000 / COLL_TRIED_OF);
}

/* And where all start at 0, one rank of each class stands for all. */
static void check_monotone(const example *e, void *ctx)
{
    static const double at_zero[MAX_RANKS];
    int *n_without_waits = ctx;
    const pod_sim_report base = simulate(e, &e->net, NULL), each = simulate(e, &e->net, at_zero);
    const double base_s = base.seconds;
    POD_CHECK(
        base_s == each.seconds && base.use.n_messages == each.use.n_messages &&
            base.use.message_bytes == each.use.message_bytes &&
            base.use.busiest_s == each.use.busiest_s && base.use.n_events <= each.use.n_events,
        "%s: %.12g s, every rank %.12g, or another use of links", e->what, base_s, each.seconds);
    static const double faster[] = {1.01, 20};
    for (int k = 0; k < 4; k++) {
        pod_net net = e->net;
        for (int d = 0; d < POD_MESH_MAX_DIMS; d++) {
            if (k % 2)
                net.link_bytes_per_s[d] *= faster[k / 2];
            else
                net.link_latency_s[d] /= faster[k / 2];
        }
        const pod_sim_report r = simulate(e, &net, NULL);
        POD_CHECK(r.seconds <= base_s + waits(&r.use) + rounding_s,
                  "%s: %s %g times better: %g us instead of %g", e->what,
                  k % 2 ? "bandwidth" : "latency", faster[k / 2], 1e6 * r.seconds, 1e6 * base_s);
        *n_without_waits += waits(&r.use) == 0;
    }
}

static void test_monotone(void)
{
    int n_without_waits = 0;
    for_all(check_monotone, &n_without_waits);
    CU_ASSERT_TRUE(n_without_waits > 1000 / COLL_TRIED_OF);
}

/* ---- one simulation, several collectives ---------------------------------------------------- */

static int64_t run(pod_sim *sim, pod_sim_coll *const c[], int n_colls, int64_t at_ps,
                   bool backwards)
{
    const int size = 16;
    for (int k = 0; k < n_colls * size; k++) {
        const int i = backwards ? n_colls * size - 1 - k : k;
        POD_CHECK_OK(pod_sim_start(sim, c[i / size], i % size, at_ps));
    }
    pod_sim_done done;
    int n_done = 0;
    for (; pod_sim_next(sim, &done); n_done++) CU_ASSERT_EQUAL(pod_sim_now(sim), done.at_ps);
    CU_ASSERT_EQUAL(n_done, n_colls * size);
    for (int i = 0; i < n_colls; i++) POD_CHECK_OK(pod_sim_check_done(sim, c[i]));
    return pod_sim_now(sim) - at_ps;
}

static pod_sim_coll *add(pod_sim *sim, const pod_mesh *m, uint32_t dims)
{
    const pod_sched *const *all;
    pod_sim_coll *c = NULL;
    const pod_coll_args args = {
        .coll = POD_ALLREDUCE, .dtype = POD_BF16, .count = 160000, .group = {.dims = dims}};
    POD_CHECK_OK(
        pod_coll_build_all(pod_test_arena(), pod_coll_find(POD_ALLREDUCE, "ring"), m, &args, &all));
    POD_CHECK_OK(pod_sim_add(sim, all, POD_BF16, &c));
    return c;
}

static void test_in_flight(void)
{
    pod_sim *sim;
    const pod_mesh m = coll_mesh("4x4");
    POD_CHECK_OK(pod_sim_create(&nets[0], &m, &sim));
    pod_sim_coll *rows = add(sim, &m, 1), *columns = add(sim, &m, 2), *more = add(sim, &m, 1);
    const int64_t alone = run(sim, &rows, 1, 0, false);
    CU_ASSERT_TRUE(alone > 0);
    /* Again, later, and whichever rank is started first. */
    CU_ASSERT_EQUAL(run(sim, &rows, 1, pod_sim_now(sim), false), alone);
    CU_ASSERT_EQUAL(run(sim, &rows, 1, pod_sim_now(sim) + 12345, true), alone);
    CU_ASSERT_EQUAL(run(sim, &columns, 1, pod_sim_now(sim), false), alone);
    /* Links of two dimensions do not meet, sums do; on the same links two take longer than one,
     * and less than one after the other. */
    pod_sim_coll *const crossing[] = {rows, columns}, *const sharing[] = {rows, more};
    const int64_t crossed = run(sim, crossing, 2, pod_sim_now(sim), false);
    const int64_t shared = run(sim, sharing, 2, pod_sim_now(sim), false);
    CU_ASSERT_TRUE(crossed >= alone && crossed < shared);
    CU_ASSERT_TRUE(shared < 2 * alone);
    CU_ASSERT_EQUAL(run(sim, sharing, 2, pod_sim_now(sim), true), shared);
    pod_sim_destroy(sim);
}

/* 2048 cores of a TPU v3 pod; the busiest link is held for some, and no more than all, of the
 * time. */
static void test_pod(void)
{
    example e = {.algo = pod_coll_find(POD_ALLREDUCE, "torus2d"), .net = nets[0]};
    e.net.is_chip_shared = true;
    e.mesh = coll_mesh("2ox32x32");
    e.args = coll_args(&e.mesh, POD_ALLREDUCE, 65536);
    const pod_sim_report r = simulate(&e, &e.net, NULL), again = simulate(&e, &e.net, NULL);
    CU_ASSERT_EQUAL(r.seconds, again.seconds);
    CU_ASSERT_EQUAL(r.use.wait_link_s, again.use.wait_link_s);
    CU_ASSERT_EQUAL(r.use.busiest_link, again.use.busiest_link);
    CU_ASSERT_TRUE(r.busiest_share > 0 && r.busiest_share <= 1);
    CU_ASSERT_TRUE(r.use.n_events > 0 && r.use.n_messages > r.use.n_events);
}

POD_TEST_SUITE("sim_algos", {"textbook formulas", test_textbook}, {"cheapest", test_cheapest},
               {"stragglers", test_stragglers}, {"monotone", test_monotone},

               {"in flight", test_in_flight}, {"pod", test_pod});
