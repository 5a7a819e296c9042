/* The simulator against a plain one that knows none of its devices: every algorithm, also where
 * messages wait for each other, to the picosecond. */
#include <inttypes.h>
#include <stdio.h>

#include "collectives/exec/exec_sim.h"
#include "collectives/net/engine.h"
#include "kernels/base/rng.h"
#include "tests/harness/harness.h"
#include "tests/unit/collectives/plain_sim.h"

static const char *const meshes[] = {"1",   "2",    "5",     "8o",    "3x2",    "4x4",
                                     "5x3", "4x3o", "2x2x2", "2x3x4", "2ox4x4", "2x4ox4o"};

/* One whose hosts take no time; one where all differ and cores share links; and one where hosts and
 * sums are slow. */
static const pod_net nets[] = {
    {{70e9, 70e9, 70e9}, {1e-6, 1e-6, 1e-6}, 0, 150e9, 450e9, 1e-6, false},
    {{70e9, 10e9, 30e9}, {1e-6, 2e-6, 1e-7}, 1e-7, 1e12, 450e9, 2e-6, true},
    {{70e9, 90e9, 50e9}, {1e-6, 1e-6, 3e-7}, 5e-7, 50e9, 450e9, 1e-6, true}};

static const int64_t counts[] = {1, 1000, 70001}; /* elements a rank */

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
    const pod_net *net;
    int64_t start_ps[MAX_RANKS];
    char what[160];
} example;

static void compare(const example *e, pod_sim *sim, const pod_sched *const all[],
                    int64_t *n_waiting)
{
    const int size = pod_mesh_size(&e->mesh);
    pod_sim_coll *c = NULL;
    POD_CHECK_OK(pod_sim_add(sim, all, e->args.dtype, &c));
    if (!c) return;
    for (int r = 0; r < size; r++) POD_CHECK_OK(pod_sim_start(sim, c, r, e->start_ps[r]));
    int64_t got_ps[MAX_RANKS], want_ps[MAX_RANKS] = {0};
    for (int r = 0; r < size; r++) got_ps[r] = -1;
    for (pod_sim_done done; pod_sim_next(sim, &done);) got_ps[done.rank] = done.at_ps;
    plain_report plain;
    POD_CHECK(plain_sim_run(e->net, &e->mesh, all, e->args.dtype, e->start_ps, want_ps, &plain),
              "%s: a rank waits for ever", e->what);
    for (int r = 0; r < size; r++)
        POD_CHECK(got_ps[r] == want_ps[r], "%s: rank %d is done at %" PRId64 " ps, want %" PRId64,
                  e->what, r, got_ps[r], want_ps[r]);
    const pod_sim_use use = pod_sim_used(sim);
    POD_CHECK(use.n_messages == plain.n_messages, "%s: %" PRId64 " messages, want %" PRId64,
              e->what, use.n_messages, plain.n_messages);
    POD_CHECK(pod_ps(use.wait_link_s) == plain.wait_link_ps &&
                  pod_ps(use.wait_sender_s) == plain.wait_sender_ps &&
                  pod_ps(use.wait_work_s) == plain.wait_work_ps,
              "%s: waits %g %g %g s", e->what, use.wait_link_s, use.wait_sender_s, use.wait_work_s);
    *n_waiting += plain.wait_link_ps > 0;
}

static void check(const example *e, int64_t *n_waiting)
{
    pod_arena *a;
    pod_sim *sim;
    const pod_sched *const *all;
    POD_CHECK_OK(pod_arena_create(NULL, &a));
    POD_CHECK_OK(pod_coll_build_all(a, e->algo, &e->mesh, &e->args, &all));
    POD_CHECK_OK(pod_sim_create(e->net, &e->mesh, &sim));
    compare(e, sim, all, n_waiting);
    pod_sim_destroy(sim);
    pod_arena_destroy(a);
}

/* All start at once, or each up to a hop later by chance. Answers in how many cases a message
 * waited for a link. */
static int64_t check_algo(const pod_coll_algo *algo, bool is_skewed)
{
    enum { SKEW_PS = 1000000 };
    int64_t n_checked = 0, n_waiting = 0;
    for (int k = 0; k < N_MESHES * N_NETS * N_COUNTS; k++) {
        const int m = k / N_NETS / N_COUNTS, q = k / N_COUNTS % N_NETS, c = k % N_COUNTS;
        example e = {.algo = algo, .net = &nets[q]};
        POD_CHECK_OK(pod_mesh_parse(meshes[m], &e.mesh));
        e.mesh.is_of_chips = !nets[q].is_chip_shared;
        const int size = pod_mesh_size(&e.mesh);
        e.args = (pod_coll_args){.coll = algo->coll,
                                 .dtype = c == 1 ? POD_BF16 : POD_F32,
                                 .count = counts[c] * size,
                                 .root = size / 2,
                                 .group = pod_group_all(&e.mesh),
                                 .node_size = size};
        if (algo->why_not(&e.mesh, &e.args)) e.args.node_size = e.mesh.extent[0];
        if (algo->why_not(&e.mesh, &e.args)) continue;
        pod_rng rng = pod_rng_at(20, (pod_place){.stream = POD_STREAM_TEST, .sample = (uint64_t)k});
        for (int r = 0; r < size && is_skewed; r++)
            e.start_ps[r] = (int64_t)pod_rng_below(&rng, SKEW_PS);
        snprintf(e.what, sizeof e.what, "%s %s mesh %s net %d count %" PRId64 "%s",
                 pod_coll_name(algo->coll), algo->name, meshes[m], q, e.args.count,
                 is_skewed ? " skewed" : "");
        check(&e, &n_waiting);
        n_checked++;
    }
    POD_CHECK(n_checked >= 3 * N_NETS * N_COUNTS, "%s %s: %" PRId64 " cases",
              pod_coll_name(algo->coll), algo->name, n_checked);
    return n_waiting;
}

static void check_all(bool is_skewed)
{
    int n;
    int64_t n_waiting = 0;
    const pod_coll_algo *algos = pod_coll_algos(&n);
    for (int i = 0; i < n; i++) n_waiting += check_algo(&algos[i], is_skewed);
    POD_CHECK(n_waiting > 1000, "%" PRId64 " cases in which a message waits", n_waiting);
}

static void test_at_once(void) { check_all(false); }

static void test_skewed(void) { check_all(true); }

static CU_TestInfo tests[] = {
    {"at once", test_at_once}, {"skewed", test_skewed}, CU_TEST_INFO_NULL};
CU_SuiteInfo pod_test_suites[] = {{"sim_plain", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};
