/* One rank of each class stands for all: the same picoseconds as every rank by itself. */
#include <stdio.h>
#include <string.h>

#include "collectives/exec/sim/core.h"
#include "collectives/net/engine.h"
#include "kernels/base/rng.h"
#include "tests/unit/collectives/coll_cases.h"

static const char *const meshes[] = {"6",      "7",      "8",       "8o",    "4x4",    "3x5",
                                     "4x6",    "5ox4",   "6x3o",    "2x4x4", "2ox4x4", "2ox3x5",
                                     "2x3ox4", "3ox2x6", "2ox5ox6", "2x8x2", "4x4x4"};

static const pod_net nets[] = {
    {{70e9, 70e9, 70e9}, {1e-6, 1e-6, 1e-6}, 0, 150e9, 450e9, 1e-6, false},
    {{225e9, 70e9, 30e9}, {1e-6, 2e-6, 1e-7}, 0, 1e12, 450e9, 2e-6, true},
    {{70e9, 70e9, 70e9}, {1e-6, 1e-6, 1e-6}, 5e-7, 50e9, 450e9, 1e-6, false}};

enum {
    N_MESHES = sizeof meshes / sizeof meshes[0],
    N_NETS = sizeof nets / sizeof nets[0],
    MAX_RANKS = 64,
    MAX_COLLS = 3
};

/* ---- a simulation of a few collectives in flight at once ------------------------------------ */

typedef struct example {
    pod_mesh mesh;
    pod_net net;
    int n_colls;
    const pod_coll_algo *algo[MAX_COLLS];
    pod_coll_args args[MAX_COLLS];
    int64_t start_ps[MAX_COLLS][MAX_RANKS]; /* by class */
    bool first_is_preferred;
    char what[200];
} example;

typedef struct times {
    int64_t done_ps[MAX_COLLS][MAX_RANKS]; /* by rank */
    pod_sim_use use;
} times;

typedef enum way { OWN, ALIKE, ONE_OF_EACH } way;

static void add(pod_sim *sim, const example *e, way how, pod_sim_coll *c[])
{
    for (int i = 0; i < e->n_colls; i++) {
        const pod_sched *const *all;
        pod_arena *a;
        POD_CHECK_OK(pod_arena_create(NULL, &a));
        if (how == OWN) {
            POD_CHECK_OK(pod_coll_build_all(a, e->algo[i], &e->mesh, &e->args[i], &all));
            POD_CHECK_OK(pod_sim_add(sim, all, e->args[i].dtype, &c[i]));
        } else {
            POD_CHECK_OK(pod_sim_add_algo(sim, e->algo[i], &e->args[i], &c[i]));
        }
        pod_arena_destroy(a);
    }
    if (e->first_is_preferred) pod_sim_prefer(c[0]);
}

static void run(const example *e, const pod_sim_classes *classes, way how, times *out)
{
    pod_sim *sim;
    pod_sim_coll *c[MAX_COLLS] = {NULL};
    const pod_sim_classes own = pod_sim_classes_of_each(&e->mesh);
    const pod_sim_classes *of = how == OWN ? &own : classes;
    POD_CHECK_OK(pod_sim_create_alike(&e->net, of, how == ONE_OF_EACH, &sim));
    add(sim, e, how, c);
    const int n_cores = pod_sim_n_cores(sim), n_ranks = pod_mesh_size(&e->mesh);
    for (int i = 0; i < e->n_colls; i++)
        for (int k = 0; k < n_cores; k++) {
            const int number = how == ONE_OF_EACH ? k : pod_sim_class_of(classes, k);
            POD_CHECK_OK(pod_sim_start(sim, c[i], k, e->start_ps[i][number]));
        }
    pod_sim_done done;
    int64_t by_core[MAX_COLLS][MAX_RANKS] = {{0}};
    while (pod_sim_next(sim, &done))
        for (int i = 0; i < e->n_colls; i++)
            if (done.coll == c[i]) by_core[i][done.rank] = done.at_ps;
    for (int i = 0; i < e->n_colls; i++) {
        POD_CHECK_OK(pod_sim_check_done(sim, c[i]));
        for (int r = 0; r < n_ranks; r++)
            out->done_ps[i][r] = by_core[i][how == ONE_OF_EACH ? pod_sim_class_of(classes, r) : r];
    }
    out->use = pod_sim_used(sim);
    pod_sim_destroy(sim);
}

static void check_same(const example *e, const pod_sim_classes *classes, const times *want,
                       const times *got, const char *how)
{
    for (int i = 0; i < e->n_colls; i++)
        for (int r = 0; r < pod_mesh_size(&e->mesh); r++)
            POD_CHECK(want->done_ps[i][r] == got->done_ps[i][r],
                      "%s, %d classes, %s: rank %d is done with %d at %lld ps, want %lld", e->what,
                      classes->n_classes, how, r, i, (long long)got->done_ps[i][r],
                      (long long)want->done_ps[i][r]);
    const pod_sim_use *a = &want->use, *b = &got->use;
    POD_CHECK(a->n_messages == b->n_messages && a->message_bytes == b->message_bytes &&
                  a->busiest_link == b->busiest_link && a->busiest_s == b->busiest_s &&
                  pod_test_near(a->link_s, b->link_s, 1e-12 * a->link_s) &&
                  pod_test_near(a->wait_link_s, b->wait_link_s, 1e-12 * a->wait_link_s + 1e-15) &&
                  pod_test_near(a->wait_work_s, b->wait_work_s, 1e-12 * a->wait_work_s + 1e-15),
              "%s, %d classes, %s: another use", e->what, classes->n_classes, how);
}

/* Answers how many classes there are. */
static int check(example *e, pod_sim_likeness likeness)
{
    pod_sim_classes classes;
    times want = {0}, got = {0};
    POD_CHECK_OK(
        pod_sim_classes_find(&e->net, &e->mesh, e->algo, e->args, e->n_colls, likeness, &classes));
    CU_ASSERT_EQUAL(classes.n_classes * classes.n_alike, pod_mesh_size(&e->mesh));
    run(e, &classes, likeness == POD_SIM_NEARLY ? ALIKE : OWN, &want);
    run(e, &classes, ALIKE, &got);
    check_same(e, &classes, &want, &got, "all simulated");
    run(e, &classes, ONE_OF_EACH, &got);
    check_same(e, &classes, &want, &got, "one of each");
    return classes.n_classes;
}

static void set(example *e, int i, const pod_coll_algo *algo, int64_t count, pod_group group)
{
    e->algo[i] = algo;
    e->args[i] = coll_args(&e->mesh, algo->coll, count);
    e->args[i].group = group;
}

/* ---- every algorithm ------------------------------------------------------------------------ */

static void begin(example *e, int mesh, int net, pod_rng *rng, int64_t apart_ps)
{
    *e = (example){.net = nets[net], .n_colls = 1};
    e->mesh = coll_mesh(meshes[mesh]);
    for (int i = 0; i < MAX_COLLS; i++)
        for (int k = 0; k < MAX_RANKS; k++)
            e->start_ps[i][k] = apart_ps ? (int64_t)pod_rng_below(rng, (uint64_t)apart_ps) : 0;
}

/* Starts at once, nearly at once, and far apart; counts that divide, and that do not. */
static void test_every_algorithm(void)
{
    static const int64_t counts[] = {1000, 30000, 777}, apart_ps[] = {0, 2000000, 90000000};
    pod_rng rng = pod_rng_at(3, (pod_place){POD_STREAM_TEST, 0, 0, 0});
    int n_algos, n_alike = 0, n_own = 0;
    const pod_coll_algo *algos = pod_coll_algos(&n_algos);
    for (int k = 0; k < n_algos * N_MESHES * N_NETS * 3; k++) {
        if (!coll_is_tried(k)) continue;
        const pod_coll_algo *algo = &algos[k / 3 / N_NETS / N_MESHES];
        const int m = k / 3 / N_NETS % N_MESHES, q = k / 3 % N_NETS;
        example e;
        begin(&e, m, q, &rng, apart_ps[k % 3]);
        const int size = pod_mesh_size(&e.mesh);
        const int64_t count = k % 3 < 2 ? counts[k % 3] * size : counts[k % 3];
        if (algo->coll == POD_ALLTOALL && count % size != 0) continue;
        set(&e, 0, algo, count, pod_group_all(&e.mesh));
        snprintf(e.what, sizeof e.what, "%s %s mesh %s net %d count %d", pod_coll_name(algo->coll),
                 algo->name, meshes[m], q, (int)count);
        if (algo->why_not(&e.mesh, &e.args[0])) continue;
        const bool is_alike = check(&e, POD_SIM_EQUAL) < size;
        n_alike += is_alike;
        n_own += !is_alike;
        check(&e, POD_SIM_NEARLY);
    }
    CU_ASSERT_TRUE(n_alike > 100 / COLL_TRIED_OF && n_own > 100 / COLL_TRIED_OF);
}

/* Groups that tile the mesh, all over it and along one dimension, one in flight over another. */
static void test_groups(void)
{
    pod_rng rng = pod_rng_at(4, (pod_place){POD_STREAM_TEST, 0, 0, 0});
    static const struct {
        const char *mesh;
        pod_group group;
        const char *algo;
        int n_classes; /* with net 1; the first dimension of three is of cores, on shared links */
    } cases[] = {
        {"8x4", {.dims = 1, .tile = {4}}, "ring", 4},
        {"8x4", {.dims = 3, .tile = {4, 2}}, "ring", 8},
        {"8x4", {.dims = 1, .step = {2}}, "ring", 1},
        {"8x4", {.dims = 2}, "ring", 1},
        {"8x4", {.dims = 1, .tile = {2}}, "flat", 2},
        {"8x4o", {.dims = 1, .tile = {4}}, "ring", 16},
        {"2ox4x8", {.dims = 7, .tile = {0, 2, 2}}, "bucket", 8},
        {"2ox4x8", {.dims = 7, .tile = {0, 0, 4}}, "torus2d", 8},
        {"8x4", {.dims = 1, .tile = {4}}, "recursive_doubling", 4},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        example e;
        begin(&e, 0, 1, &rng, 3000000);
        e.mesh = coll_mesh(cases[k].mesh);
        snprintf(e.what, sizeof e.what, "case %d: %s on %s", (int)k, cases[k].algo, cases[k].mesh);
        set(&e, 0, pod_coll_find(POD_ALLREDUCE, cases[k].algo), 96000, cases[k].group);
        set(&e, 1, pod_coll_find(POD_ALLREDUCE, "torus2d"), 32000, pod_group_all(&e.mesh));
        const int n_classes = check(&e, POD_SIM_EQUAL);
        POD_CHECK(n_classes == cases[k].n_classes, "%s: %d classes, want %d", e.what, n_classes,
                  cases[k].n_classes);
        e.n_colls = 2;
        check(&e, POD_SIM_EQUAL);
        e.first_is_preferred = true;
        check(&e, POD_SIM_EQUAL);
    }
}

/* ---- what a uniform mesh comes to ----------------------------------------------------------- */

static void test_how_many(void)
{
    static const struct {
        const char *mesh, *algo;
        int64_t count;
        pod_sim_likeness likeness;
        int n_classes;
    } cases[] = {
        {"16x16", "torus2d", 65536, POD_SIM_EQUAL, 1},    /* all alike */
        {"2ox16x16", "torus2d", 65536, POD_SIM_EQUAL, 2}, /* but for the core of the chip */
        {"2ox16ox8", "bucket", 65536, POD_SIM_EQUAL, 32}, /* one each along the open line */
        {"16", "ring", 65536, POD_SIM_EQUAL, 1},
        {"16", "ring", 65537, POD_SIM_EQUAL, 16}, /* one block is longer */
        {"16", "ring", 65537, POD_SIM_NEARLY, 1},
        {"16", "ring2", 65536, POD_SIM_EQUAL, 1},
        {"8x8", "recursive_doubling", 65536, POD_SIM_EQUAL, 16}, /* up here, down there */
        {"8x8", "tree", 65536, POD_SIM_EQUAL, 64},
        {"16x4", "swing", 65536, POD_SIM_EQUAL, 4}, /* even ones go up, odd ones down */
        {"2ox128ox32", "torus2d", 1048576, POD_SIM_NEARLY, 256},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const pod_mesh m = coll_mesh(cases[k].mesh);
        pod_sim_classes c = {.n_classes = 0};
        const pod_coll_algo *algo = pod_coll_find(POD_ALLREDUCE, cases[k].algo);
        const pod_coll_args args = coll_args(&m, POD_ALLREDUCE, cases[k].count);
        POD_CHECK_OK(pod_sim_classes_find(&nets[1], &m, &algo, &args, 1, cases[k].likeness, &c));
        POD_CHECK(c.n_classes == cases[k].n_classes, "%s on %s: %d classes, want %d", cases[k].algo,
                  cases[k].mesh, c.n_classes, cases[k].n_classes);
        for (int i = 0; i < c.n_classes; i++)
            CU_ASSERT_EQUAL(pod_sim_class_of(&c, pod_sim_class_rank(&c, i)), i);
    }
}

/* The two cores of a chip share one schedule, and so one column of the plan, if it is the same for
 * both but for their places: half of the work of a sharded update on a pod. */
static void test_twins(void)
{
    static const struct {
        const char *mesh;
        pod_coll coll;
        const char *algo;
        int64_t count;
        pod_sim_likeness likeness;
        int n_classes, n_twins;
    } cases[] = {
        {"2ox128ox32", POD_REDUCE_SCATTER, "torus2d", 1 << 20, POD_SIM_NEARLY, 256, 2},
        {"2ox128ox32", POD_ALLGATHER, "torus2d", 1 << 20, POD_SIM_NEARLY, 256, 2},
        {"2ox16ox8", POD_ALLREDUCE, "bucket", 1 << 20, POD_SIM_EQUAL, 32, 2},
        {"2ox8x4", POD_ALLREDUCE, "torus2d", (1 << 20) + 1, POD_SIM_NEARLY, 2,
         1}, /* one is longer */
        {"2ox8x4", POD_ALLREDUCE, "tree", 1 << 20, POD_SIM_NEARLY, 64, 1},
        {"2ox8ox4o", POD_ALLREDUCE, "torus2d", 1 << 20, POD_SIM_EQUAL, 64, 1}, /* nobody is alike */
        {"16x16", POD_ALLREDUCE, "torus2d", 1 << 20, POD_SIM_EQUAL, 1, 1},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const pod_mesh m = coll_mesh(cases[k].mesh);
        const pod_coll_algo *algo = pod_coll_find(cases[k].coll, cases[k].algo);
        const pod_coll_args args = coll_args(&m, cases[k].coll, cases[k].count);
        pod_sim_classes c = {.n_classes = 0};
        pod_sim *sim;
        POD_CHECK_OK(pod_sim_classes_find(&nets[1], &m, &algo, &args, 1, cases[k].likeness, &c));
        POD_CHECK_OK(pod_sim_create_alike(&nets[1], &c, true, &sim));
        POD_CHECK(c.n_classes == cases[k].n_classes && c.n_twins == cases[k].n_twins &&
                      sim->n_columns == c.n_classes / c.n_twins,
                  "%s on %s: %d classes, %d twins, %d columns", algo->name, cases[k].mesh,
                  c.n_classes, c.n_twins, sim->n_columns);
        pod_sim_destroy(sim);
    }
}

/* A tree's root is somewhere; who is next to it is not like others. */
static void test_roots(void)
{
    for (int root = 0; root < 8; root++) {
        const pod_mesh m = coll_mesh("8");
        pod_sim_classes c;
        const pod_coll_algo *tree = pod_coll_find(POD_BROADCAST, "tree");
        pod_coll_args args = coll_args(&m, POD_BROADCAST, 800);
        args.root = root;
        POD_CHECK_OK(pod_sim_classes_find(&nets[0], &m, &tree, &args, 1, 1, &c));
        CU_ASSERT_EQUAL(c.n_classes, 8);
    }
}

POD_TEST_SUITE("sim_classes", {"every algorithm", test_every_algorithm}, {"groups", test_groups},
               {"how many", test_how_many}, {"twins", test_twins}, {"roots", test_roots});
