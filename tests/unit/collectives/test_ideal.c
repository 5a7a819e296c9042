/* The limit that links set: numbers made by hand, and no simulated algorithm beats it. */
#include <math.h>

#include "collectives/algo/ideal.h"
#include "collectives/exec/sim/sim.h"
#include "tests/unit/collectives/coll_cases.h"

/* 1 GB/s a link, 1 us a hop, and all else free. */
static const pod_net plain = {.link_bytes_per_s = {1e9, 1e9, 1e9},
                              .link_latency_s = {1e-6, 1e-6, 1e-6},
                              .reduce_bytes_per_s = INFINITY,
                              .memory_bytes_per_s = INFINITY};

static void numbers_by_hand(void)
{
    static const struct {
        const char *mesh;
        pod_coll coll;
        int64_t count;
        double want_us;
    } rows[] = {
        {"1", POD_ALLREDUCE, 1000000, 0},
        {"4", POD_ALLREDUCE, 0, 0},
        /* 4 MB: 2 x 3/4 of it, over two links into each core. */
        {"4", POD_ALLREDUCE, 1000000, 3000},
        {"4", POD_ALLGATHER, 1000000, 1500},
        {"4", POD_REDUCE_SCATTER, 1000000, 1500},
        /* Four links: half the time but for 15/16 instead of 3/4. */
        {"4x4", POD_ALLREDUCE, 1000000, 1875},
        {"4x4", POD_ALLGATHER, 1000000, 937.5},
        /* The end of a line has one link: all of it comes in, or 3/4. */
        {"4o", POD_ALLREDUCE, 1000000, 4000},
        {"4o", POD_ALLGATHER, 1000000, 3000},
        {"4o", POD_BROADCAST, 1000000, 4000},
        /* Two of four cores have 1 MB for each of the other two, over one link each way; a ring has
         * two. */
        {"4o", POD_ALLTOALL, 1000000, 4000},
        {"4", POD_ALLTOALL, 1000000, 2000},
        /* Little data: the hops to the farthest. */
        {"8", POD_ALLREDUCE, 1, 4},
        {"8o", POD_ALLGATHER, 1, 7},
        {"8x4o", POD_BROADCAST, 1, 7},
    };
    for (int i = 0; i < N_OF(rows); i++) {
        const pod_mesh m = coll_mesh(rows[i].mesh);
        const pod_coll_args args = {.coll = rows[i].coll, .dtype = POD_F32, .count = rows[i].count};
        const double us = 1e6 * pod_coll_ideal_s(&plain, &m, &args);
        POD_CHECK(fabs(us - rows[i].want_us) <= 1e-9 * rows[i].want_us, "%s of %s: %g us, want %g",
                  pod_coll_name(rows[i].coll), rows[i].mesh, us, rows[i].want_us);
    }
}

/* Two cores a chip, four chips in a ring: 8 MB. Into a chip come 3/4 of it over its two links, into
 * a core 7/8 over those and the one (there are two) to its neighbour. */
static void cores_of_a_chip_share_its_links(void)
{
    pod_net net = plain;
    pod_coll_args args = {.coll = POD_ALLGATHER, .dtype = POD_F32, .count = 2000000};
    const pod_mesh m = coll_mesh("2x4x1");
    net.is_chip_shared = true;
    CU_ASSERT_DOUBLE_EQUAL(pod_coll_ideal_s(&net, &m, &args), 3e-3, 1e-12);
    /* Each of two buffers wants 3/4 of itself from outside; the halves of the ring have 2 x 2 x 4
     * blocks of 1 MB for each other, over two links each way. */
    args.coll = POD_ALLTOALL;
    CU_ASSERT_DOUBLE_EQUAL(pod_coll_ideal_s(&net, &m, &args), 8e-3, 1e-12);
}

/* Rows of 4 with links of 1 GB/s, 100 times slower from row to row: as if each row were one core of
 * four links each way, 4 MB go round a ring of 4 in 2 x 3/4 x 4 MB / (2 x 4 x 10 MB/s). */
static void a_slow_dimension_sets_the_limit(void)
{
    pod_net net = plain;
    const pod_coll_args args = {.coll = POD_ALLREDUCE, .dtype = POD_F32, .count = 1000000};
    const pod_mesh m = coll_mesh("4x4");
    net.link_bytes_per_s[1] = 1e7;
    CU_ASSERT_DOUBLE_EQUAL(pod_coll_ideal_s(&net, &m, &args), 75e-3, 1e-12);
}

static void nothing_simulated_is_faster(void)
{
    static const char *const meshes[] = {"2",   "2o",  "3",    "5o",    "8",      "4x4",   "4ox4",
                                         "3x5", "2x2", "8x2o", "2x4x4", "2x3x4o", "3x2x2", "1x6x1"};
    static const int64_t counts[] = {1, 720, 72000};
    int n;
    const pod_coll_algo *algos = pod_coll_algos(&n);
    for (size_t k = 0; k < 2 * sizeof meshes / sizeof meshes[0]; k++) {
        pod_net net = plain;
        const pod_mesh m = coll_mesh(meshes[k / 2]);
        net.is_chip_shared = k % 2;
        net.link_bytes_per_s[1] = k % 3 == 0 ? 3e9 : k % 3 == 1 ? 1e9 : 1e8;
        for (int a = 0; a < n; a++)
            for (int c = 0; c < N_OF(counts); c++) {
                const int size = pod_mesh_size(&m);
                const pod_coll_args args =
                    coll_args(&m, algos[a].coll,
                              algos[a].coll == POD_ALLTOALL ? counts[c] / size * size : counts[c]);
                if (algos[a].why_not(&m, &args)) continue;
                pod_sim_report report;
                POD_CHECK_OK(pod_sim_collective(&net, &m, &algos[a], &args, NULL, NULL, &report));
                const double ideal = pod_coll_ideal_s(&net, &m, &args);
                POD_CHECK(report.seconds >= ideal - 1e-11, "%s %s on %s, %ld elements: %g s < %g s",
                          pod_coll_name(args.coll), algos[a].name, meshes[k / 2], (long)args.count,
                          report.seconds, ideal);
            }
    }
}

/* A limit that nothing comes near would say little: rings both ways reach it with much data. */
static void it_is_reached(void)
{
    static const pod_coll colls[] = {POD_ALLREDUCE, POD_REDUCE_SCATTER, POD_ALLGATHER};
    const pod_mesh m = coll_mesh("8");
    for (int i = 0; i < 3; i++) {
        const pod_coll_args args = coll_args(&m, colls[i], 8000000);
        pod_sim_report report;
        POD_CHECK_OK(pod_sim_collective(&plain, &m, pod_coll_find(colls[i], "ring2"), &args, NULL,
                                        NULL, &report));
        CU_ASSERT_DOUBLE_EQUAL(report.seconds / pod_coll_ideal_s(&plain, &m, &args), 1, 0.01);
    }
}

POD_TEST_SUITE("collectives.ideal", {"numbers by hand", numbers_by_hand},
               {"cores of a chip share its links", cores_of_a_chip_share_its_links},
               {"a slow dimension sets the limit", a_slow_dimension_sets_the_limit},
               {"nothing simulated is faster", nothing_simulated_is_faster},
               {"it is reached", it_is_reached});
