/* What links carry: each message once at every hop of its way, no more and no less. */
#include <stdio.h>

#include "collectives/exec/sim/sim.h"
#include "collectives/mesh/detour.h"
#include "kernels/base/rng.h"
#include "tests/unit/collectives/coll_cases.h"

static const char *const meshes[] = {"2",   "5",     "8",      "8o",     "3x4",     "5ox4",
                                     "7x1", "2x4x4", "2ox3x5", "2x5ox3", "2x4ox6o", "3ox2x6"};

static const pod_net nets[] = {
    {{70e9, 70e9, 70e9}, {1e-6, 1e-6, 1e-6}, 0, 150e9, 450e9, 1e-6, false},
    {{225e9, 70e9, 30e9}, {1e-6, 2e-6, 1e-7}, 3e-7, 1e12, 450e9, 2e-6, true}};

enum {
    N_MESHES = sizeof meshes / sizeof meshes[0],
    N_NETS = sizeof nets / sizeof nets[0],
    MAX_LINKS = 6 * 64,
    MAX_RANKS = 64,
    MAX_FAILED = 3
};

typedef struct example {
    const pod_coll_algo *algo;
    pod_mesh mesh;
    pod_coll_args args;
    const pod_net *net;
    int n_failed, failed[MAX_FAILED]; /* links */
    const pod_detours *detours;       /* NULL: none has */
    int n_detoured;                   /* 1 when some message was */
    char what[160];
} example;

/* ---- what is wanted, from the schedules and the routes alone --------------------------------- */

typedef struct traffic {
    double by_link[MAX_LINKS]; /* those that cores of a chip share: at the chip's first core */
    double hop_bytes;          /* of each message its bytes times its hops */
    double message_bytes;
    int64_t n_rerouted;
} traffic;

static int owner_of(const example *e, int rank, int dim)
{
    const bool is_shared = e->net->is_chip_shared && e->mesh.n_dims == 3 && dim > 0;
    return is_shared ? rank - rank % e->mesh.extent[0] : rank;
}

/* Of what has failed; a link that cores of a chip share has for each. */
static pod_status create_detours(pod_arena *a, const example *e, pod_detours **out)
{
    int link[MAX_FAILED * MAX_RANKS], n = 0;
    const int n_ranks = pod_mesh_size(&e->mesh);
    for (int i = 0; i < e->n_failed; i++)
        for (int r = 0; r < n_ranks; r++) {
            const int side = e->failed[i] / n_ranks, rank = e->failed[i] % n_ranks;
            if (owner_of(e, r, side / 2) == owner_of(e, rank, side / 2))
                link[n++] = side * n_ranks + r;
        }
    POD_TRY(pod_detours_create(a, &e->mesh, link, n, out));
    for (int r = 0; r < n_ranks; r++) POD_TRY(pod_detours_prepare(*out, r));
    return POD_OK;
}

static void send(const example *e, int from, int to, double bytes, traffic *t)
{
    const pod_coord end = pod_mesh_coord(&e->mesh, to);
    int n_hops = 0;
    t->n_rerouted += e->detours && pod_detours_meets(e->detours, from, to);
    for (int rank = from; rank != to; n_hops++) {
        const pod_coord at = pod_mesh_coord(&e->mesh, rank);
        pod_hop hop = {0, 0};
        if (e->detours)
            hop = pod_detours_next(e->detours, rank, to);
        else
            CU_ASSERT_TRUE_FATAL(pod_route_next(&e->mesh, &at, &end, &hop));
        t->by_link[pod_route_link(&e->mesh, owner_of(e, rank, hop.dim), hop)] += bytes;
        rank = pod_mesh_neighbor(&e->mesh, rank, hop.dim, hop.dir);
    }
    t->message_bytes += bytes;
    t->hop_bytes += n_hops * bytes;
}

static traffic wanted(const example *e)
{
    traffic t = {.hop_bytes = 0};
    COLL_BUILT b = coll_build(e->algo->name, &e->mesh, &e->args);
    for (int r = 0; r < pod_mesh_size(&e->mesh); r++) {
        int32_t n;
        const pod_step *s = pod_sched_steps(b.all[r], &n);
        for (int32_t i = 0; i < n; i++)
            if (s[i].kind == POD_STEP_SEND)
                send(e, r, s[i].peer, (double)s[i].count * (double)pod_dtype_bytes(e->args.dtype),
                     &t);
    }
    return t;
}

/* ---- what is simulated ----------------------------------------------------------------------- */

typedef struct times {
    int64_t done_ps[MAX_RANKS];
} times;

/* Answers when who is simulated is done. */
static times check_run(const example *e, const pod_sim_classes *classes, bool one_of_each,
                       const traffic *want)
{
    times t = {{0}};
    pod_sim *sim;
    pod_sim_coll *c;
    pod_sim_done done;
    POD_CHECK_OK(pod_sim_create_alike(e->net, classes, one_of_each, &sim));
    if (e->detours) POD_CHECK_OK(pod_sim_fail_links(sim, e->failed, e->n_failed));
    POD_CHECK_OK(pod_sim_add_algo(sim, e->algo, &e->args, &c));
    for (int k = 0; k < pod_sim_n_cores(sim); k++) POD_CHECK_OK(pod_sim_start(sim, c, k, 0));
    while (pod_sim_next(sim, &done)) t.done_ps[done.rank] = done.at_ps;
    POD_CHECK_OK(pod_sim_check_done(sim, c));
    const pod_sim_use use = pod_sim_used(sim);
    POD_CHECK(use.message_bytes == want->message_bytes, "%s, %d cores: %.0f bytes sent, want %.0f",
              e->what, pod_sim_n_cores(sim), use.message_bytes, want->message_bytes);
    POD_CHECK(use.n_rerouted == want->n_rerouted, "%s, %d cores: %d messages rerouted, want %d",
              e->what, pod_sim_n_cores(sim), (int)use.n_rerouted, (int)want->n_rerouted);
    POD_CHECK(use.link_bytes == want->hop_bytes, "%s, %d cores: links carried %.0f, want %.0f",
              e->what, pod_sim_n_cores(sim), use.link_bytes, want->hop_bytes);
    for (int l = 0; l < pod_route_n_links(&e->mesh); l++) {
        const int n_ranks = pod_mesh_size(&e->mesh), side = l / n_ranks;
        const int owner = side * n_ranks + owner_of(e, l % n_ranks, side / 2);
        POD_CHECK(pod_sim_link_bytes(sim, l) == want->by_link[owner],
                  "%s, %d cores: link %d carried %.0f bytes, want %.0f", e->what,
                  pod_sim_n_cores(sim), l, pod_sim_link_bytes(sim, l), want->by_link[owner]);
    }
    pod_sim_destroy(sim);
    return t;
}

/* The same with links that have failed, of which every rank is simulated, in classes or not. */
static void check_failed(example *e, const pod_sim_classes *alike, pod_rng *rng)
{
    pod_arena *a;
    pod_detours *d;
    const pod_sim_classes each = pod_sim_classes_of_each(&e->mesh);
    POD_CHECK_OK(pod_arena_create(NULL, &a));
    e->n_failed = 1 + (int)pod_rng_below(rng, MAX_FAILED);
    for (int i = 0; i < e->n_failed; i++)
        e->failed[i] = (int)pod_rng_below(rng, (uint64_t)pod_route_n_links(&e->mesh));
    if (create_detours(a, e, &d) == POD_OK) {
        e->detours = d;
        const traffic want = wanted(e);
        const times own = check_run(e, &each, false, &want),
                    shared = check_run(e, alike, false, &want);
        for (int r = 0; r < pod_mesh_size(&e->mesh); r++)
            POD_CHECK(own.done_ps[r] == shared.done_ps[r],
                      "%s, %d failed: rank %d is done at %lld ps with a plan of its own, at %lld "
                      "with its class's",
                      e->what, e->n_failed, r, (long long)own.done_ps[r],
                      (long long)shared.done_ps[r]);
        e->n_detoured += want.n_rerouted > 0;
    }
    pod_arena_destroy(a);
}

/* Answers whether some ranks are alike. */
static bool check(example *e, pod_rng *rng)
{
    const traffic want = wanted(e);
    const pod_sim_classes each = pod_sim_classes_of_each(&e->mesh);
    pod_sim_classes alike;
    POD_CHECK_OK(
        pod_sim_classes_find(e->net, &e->mesh, &e->algo, &e->args, 1, POD_SIM_EQUAL, &alike));
    check_run(e, &each, false, &want);
    check_run(e, &alike, false, &want);
    check_run(e, &alike, true, &want);
    check_failed(e, &alike, rng);
    return alike.n_alike > 1;
}

/* Messages between neighbours of a node go through memory: a node of all has none. */
static bool is_of_one_node(const pod_coll_algo *algo)
{
    return strcmp(algo->name, "direct") == 0 || strcmp(algo->name, "oneshot") == 0;
}

typedef struct tally {
    int n, n_alike, n_detoured;
} tally;

static tally check_algo(const pod_coll_algo *algo, pod_rng *rng)
{
    tally t = {0, 0, 0};
    for (int k = 0; k < N_MESHES * N_NETS; k++) {
        const char *text = meshes[k / N_NETS];
        example e = {.algo = algo, .net = &nets[k % N_NETS]};
        e.mesh = coll_mesh(text);
        /* A count that divides, and one that does not: then blocks differ. */
        const int size = pod_mesh_size(&e.mesh);
        const int odd = algo->coll == POD_ALLTOALL || k % N_NETS ? 0 : 7;
        e.args = (pod_coll_args){.coll = algo->coll,
                                 .dtype = k % 3 ? POD_F32 : POD_BF16,
                                 .count = 300 * size + odd,
                                 .root = algo->coll == POD_BROADCAST ? size / 2 : 0,
                                 .group = pod_group_all(&e.mesh),
                                 .node_size = size % 2 ? 1 : 2};
        snprintf(e.what, sizeof e.what, "%s %s mesh %s net %d count %d", pod_coll_name(algo->coll),
                 algo->name, text, k % N_NETS, (int)e.args.count);
        if (algo->why_not(&e.mesh, &e.args)) continue;
        t.n_alike += check(&e, rng);
        t.n_detoured += e.n_detoured;
        t.n++;
    }
    return t;
}

static void test_conserved(void)
{
    pod_rng rng = pod_rng_at(5, (pod_place){POD_STREAM_TEST, 0, 0, 0});
    tally all = {0, 0, 0};
    int n_algos;
    const pod_coll_algo *algo = pod_coll_algos(&n_algos);
    for (int i = 0; i < n_algos; i++) {
        const tally t = check_algo(&algo[i], &rng);
        all.n_alike += t.n_alike;
        all.n_detoured += t.n_detoured;
        POD_CHECK(t.n > 0 || is_of_one_node(&algo[i]), "%s %s is on no mesh",
                  pod_coll_name(algo[i].coll), algo[i].name);
    }
    POD_CHECK(all.n_alike > 50 && all.n_detoured > 150,
              "ranks are alike in %d cases, messages rerouted in %d", all.n_alike, all.n_detoured);
}

POD_TEST_SUITE("sim_links", {"bytes are conserved", test_conserved});
