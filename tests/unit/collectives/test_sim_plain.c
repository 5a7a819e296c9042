/* The simulator against a plain one that knows none of its devices: every algorithm, also where
 * messages wait for each other, those of another collective too, to the picosecond. */
#include <inttypes.h>
#include <stdio.h>

#include "collectives/exec/sim/sim.h"
#include "collectives/net/engine.h"
#include "kernels/base/rng.h"
#include "tests/unit/collectives/coll_cases.h"
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

typedef enum way {
    AT_ONCE,
    SKEWED,    /* each starts up to a hop later by chance */
    IN_COMPANY /* skewed, beside a small one, which is preferred or not */
} way;

enum { MAX_COLLS = 2, SKEW_PS = 1000000 };

typedef struct member { /* of those in flight together */
    const pod_coll_algo *algo;
    pod_coll_args args;
    bool is_preferred;
    int64_t start_ps[MAX_RANKS];
} member;

typedef struct example {
    pod_mesh mesh;
    const pod_net *net;
    int n_colls;
    member coll[MAX_COLLS];
    char what[160];
} example;

typedef struct waits { /* cases in which something waited, by what for */
    int64_t link, sender, work;
} waits;

static void simulate(const example *e, const pod_sched *const *const all[], int64_t done_ps[],
                     pod_sim_use *use)
{
    const int size = pod_mesh_size(&e->mesh);
    pod_sim *sim;
    pod_sim_coll *c[MAX_COLLS];
    POD_CHECK_OK(pod_sim_create(e->net, &e->mesh, &sim));
    for (int i = 0; i < e->n_colls; i++) {
        POD_CHECK_OK(pod_sim_add(sim, all[i], e->coll[i].args.dtype, &c[i]));
        if (e->coll[i].is_preferred) pod_sim_prefer(c[i]);
    }
    for (int i = 0; i < e->n_colls; i++)
        for (int r = 0; r < size; r++)
            POD_CHECK_OK(pod_sim_start(sim, c[i], r, e->coll[i].start_ps[r]));
    for (pod_sim_done done; pod_sim_next(sim, &done);)
        done_ps[pod_sim_coll_number(done.coll) * MAX_RANKS + done.rank] = done.at_ps;
    *use = pod_sim_used(sim);
    pod_sim_destroy(sim);
}

/* What is preferred does as if the other were not there. */
static void check_alone(const example *e, const pod_sched *const *const all[],
                        const int64_t want_ps[])
{
    int64_t got_ps[MAX_COLLS * MAX_RANKS];
    pod_sim_use use;
    example alone = *e;
    alone.n_colls = 1;
    alone.coll[0] = e->coll[1];
    simulate(&alone, &all[1], got_ps, &use);
    for (int r = 0; r < pod_mesh_size(&e->mesh); r++)
        POD_CHECK(got_ps[r] == want_ps[r],
                  "%s: rank %d is done at %" PRId64 " ps, alone at %" PRId64, e->what, r,
                  want_ps[r], got_ps[r]);
}

static void compare(const example *e, const pod_sched *const *const all[], waits *w)
{
    int64_t got_ps[MAX_COLLS * MAX_RANKS], want_ps[MAX_COLLS * MAX_RANKS];
    plain_coll plain[MAX_COLLS];
    plain_report report;
    pod_sim_use use;
    for (int i = 0; i < MAX_COLLS * MAX_RANKS; i++) got_ps[i] = want_ps[i] = -1;
    for (int i = 0; i < e->n_colls; i++)
        plain[i] = (plain_coll){all[i], e->coll[i].start_ps, e->coll[i].args.dtype,
                                e->coll[i].is_preferred, &want_ps[i * MAX_RANKS]};
    simulate(e, all, got_ps, &use);
    POD_CHECK(plain_sim_run(e->net, &e->mesh, plain, e->n_colls, &report), "%s: waits for ever",
              e->what);
    for (int i = 0; i < MAX_COLLS * MAX_RANKS; i++)
        POD_CHECK(got_ps[i] == want_ps[i],
                  "%s: collective %d rank %d is done at %" PRId64 " ps, want %" PRId64, e->what,
                  i / MAX_RANKS, i % MAX_RANKS, got_ps[i], want_ps[i]);
    POD_CHECK(use.n_messages == report.n_messages, "%s: %" PRId64 " messages, want %" PRId64,
              e->what, use.n_messages, report.n_messages);
    POD_CHECK(pod_ps(use.wait_link_s) == report.wait_link_ps &&
                  pod_ps(use.wait_sender_s) == report.wait_sender_ps &&
                  pod_ps(use.wait_work_s) == report.wait_work_ps,
              "%s: waits %g %g %g s", e->what, use.wait_link_s, use.wait_sender_s, use.wait_work_s);
    if (e->coll[1].is_preferred) check_alone(e, all, &got_ps[MAX_RANKS]);
    w->link += report.wait_link_ps > 0;
    w->sender += report.wait_sender_ps > 0;
    w->work += report.wait_work_ps > 0;
}

static void check(const example *e, waits *w)
{
    pod_arena *a;
    const pod_sched *const *all[MAX_COLLS];
    POD_CHECK_OK(pod_arena_create(NULL, &a));
    for (int i = 0; i < e->n_colls; i++)
        POD_CHECK_OK(pod_coll_build_all(a, e->coll[i].algo, &e->mesh, &e->coll[i].args, &all[i]));
    compare(e, all, w);
    pod_arena_destroy(a);
}

static bool set_algo(member *c, const pod_coll_algo *algo, const pod_mesh *m, pod_dtype t,
                     int64_t count)
{
    const int size = pod_mesh_size(m);
    c->algo = algo;
    c->args = (pod_coll_args){.coll = algo->coll,
                              .dtype = t,
                              .count = count * size,
                              .root = size / 2,
                              .group = pod_group_all(m),
                              .node_size = size};
    if (algo->why_not(m, &c->args)) c->args.node_size = m->extent[0];
    return !algo->why_not(m, &c->args);
}

/* The k-th mesh, net and size for the algorithm, if it can do that. */
static bool set_example(example *e, const pod_coll_algo *algo, int k, way how)
{
    const int m = k / N_NETS / N_COUNTS, q = k / N_COUNTS % N_NETS, c = k % N_COUNTS;
    *e = (example){.net = &nets[q], .n_colls = how == IN_COMPANY ? 2 : 1};
    e->mesh = coll_mesh(meshes[m]);
    e->mesh.is_of_chips = !nets[q].is_chip_shared;
    if (!set_algo(&e->coll[0], algo, &e->mesh, c == 1 ? POD_BF16 : POD_F32, counts[c]))
        return false;
    const pod_coll_algo *ring = pod_coll_find(POD_ALLREDUCE, "ring");
    if (e->n_colls > 1 && !set_algo(&e->coll[1], ring, &e->mesh, POD_F32, 100)) return false;
    e->coll[1].is_preferred = how == IN_COMPANY && k % 4 < 3;
    const int size = pod_mesh_size(&e->mesh);
    pod_rng rng = pod_rng_at(20, (pod_place){.stream = POD_STREAM_TEST, .sample = (uint64_t)k});
    for (int i = 0; i < MAX_COLLS * size && how != AT_ONCE; i++)
        e->coll[i / size].start_ps[i % size] = (int64_t)pod_rng_below(&rng, SKEW_PS);
    snprintf(e->what, sizeof e->what, "%s %s mesh %s net %d count %" PRId64 " way %d",
             pod_coll_name(algo->coll), algo->name, meshes[m], q, e->coll[0].args.count, how);
    return true;
}

static void check_algo(const pod_coll_algo *algo, way how, waits *w)
{
    int64_t n_checked = 0;
    for (int k = 0; k < N_MESHES * N_NETS * N_COUNTS; k++) {
        example e;
        if (!coll_is_tried(k) || !set_example(&e, algo, k, how)) continue;
        check(&e, w);
        n_checked++;
    }
    POD_CHECK(n_checked >= 3 * N_NETS * N_COUNTS / COLL_TRIED_OF, "%s %s: %" PRId64 " cases",
              pod_coll_name(algo->coll), algo->name, n_checked);
}

static void check_all(way how, waits least)
{
    int n;
    waits w = {0};
    const pod_coll_algo *algos = pod_coll_algos(&n);
    for (int i = 0; i < n; i++) check_algo(&algos[i], how, &w);
    POD_CHECK(w.link * COLL_TRIED_OF > least.link && w.sender * COLL_TRIED_OF > least.sender &&
                  w.work * COLL_TRIED_OF > least.work,
              "cases in which something waits for links %" PRId64 ", senders %" PRId64
              ", sums %" PRId64,
              w.link, w.sender, w.work);
}

static void test_at_once(void) { check_all(AT_ONCE, (waits){1000, 500, 500}); }

static void test_skewed(void) { check_all(SKEWED, (waits){1000, 500, 500}); }

static void test_in_company(void) { check_all(IN_COMPANY, (waits){1000, 1000, 500}); }

POD_TEST_SUITE("sim_plain", {"at once", test_at_once}, {"skewed", test_skewed},
               {"in company", test_in_company});
