/* Algorithms of a logarithmic number of rounds: how many, what is sent to whom, and what it costs.
 * That they are right on all meshes is seen in test_algo.c, which walks the table. */
#include <inttypes.h>
#include <stdio.h>

#include "collectives/algo/pairs/pairs.h"
#include "collectives/exec/sim/sim.h"
#include "collectives/sched/order.h"
#include "tests/unit/collectives/coll_cases.h"

static pod_mesh mesh_of(const char *text)
{
    pod_mesh m = {0};
    POD_CHECK_OK(pod_mesh_parse(text, &m));
    return m;
}

static pod_coll_args args_of(const pod_mesh *m, pod_coll coll, int64_t count)
{
    return (pod_coll_args){
        .coll = coll, .dtype = POD_F32, .count = count, .root = 0, .group = pod_group_all(m)};
}

/* What one rank sends or receives. */
static int64_t count_moved(const pod_sched *s, bool is_sent)
{
    int32_t n;
    const pod_step *step = pod_sched_steps(s, &n);
    int64_t moved = 0;
    for (int32_t i = 0; i < n; i++) {
        const bool is_received =
            step[i].kind == POD_STEP_RECV || step[i].kind == POD_STEP_RECV_REDUCE;
        if (is_sent ? step[i].kind == POD_STEP_SEND : is_received) moved += step[i].count;
    }
    return moved;
}

/* With 16 elements a rank (blocks are equal, halves of halves too): rounds, and what each rank
 * sends and receives, in units of the whole buffer / ranks. */
static void test_rounds_and_volume(void)
{
    static const struct {
        pod_coll coll;
        const char *name, *mesh;
        int n_rounds, n_units; /* -1: not the same on all ranks */
    } cases[] = {
        {POD_ALLREDUCE, "recursive_doubling", "1", 0, 0},
        {POD_ALLREDUCE, "recursive_doubling", "2", 1, 2},
        {POD_ALLREDUCE, "recursive_doubling", "16", 4, 64},
        {POD_ALLREDUCE, "recursive_doubling", "8x4", 5, 160},
        {POD_ALLREDUCE, "recursive_doubling", "3", 3, -1},
        {POD_ALLREDUCE, "recursive_doubling", "7x11", 8, -1},
        {POD_ALLREDUCE, "rabenseifner", "1", 0, 0},
        {POD_ALLREDUCE, "rabenseifner", "2", 2, 2},
        {POD_ALLREDUCE, "rabenseifner", "16", 8, 30},
        {POD_ALLREDUCE, "rabenseifner", "2x4x4", 10, 62},
        {POD_ALLREDUCE, "rabenseifner", "5", 6, -1},
        {POD_ALLREDUCE, "rabenseifner", "13", 8, -1},
        {POD_ALLREDUCE, "swing", "1", 0, 0},
        {POD_ALLREDUCE, "swing", "2", 2, 2},
        {POD_ALLREDUCE, "swing", "16", 8, 30},
        {POD_ALLREDUCE, "swing", "4x4", 8, 30},
        {POD_ALLREDUCE, "swing", "8x2", 8, 30},
        {POD_ALLREDUCE, "swing", "1x32", 10, 62},
        {POD_ALLREDUCE, "swing_latency", "16", 4, 64},
        {POD_ALLREDUCE, "swing_latency", "8x8", 6, 384},
        {POD_REDUCE_SCATTER, "recursive_halving", "16", 4, 15},
        {POD_REDUCE_SCATTER, "recursive_halving", "4x2", 3, 7},
        {POD_REDUCE_SCATTER, "bruck", "16", 4, 15},
        {POD_REDUCE_SCATTER, "bruck", "3", 2, 2},
        {POD_REDUCE_SCATTER, "bruck", "13", 4, 12},
        {POD_REDUCE_SCATTER, "bruck", "7x11", 7, 76},
        {POD_ALLGATHER, "recursive_doubling", "16", 4, 15},
        {POD_ALLGATHER, "recursive_doubling", "4x2", 3, 7},
        {POD_ALLGATHER, "bruck", "16", 4, 15},
        {POD_ALLGATHER, "bruck", "3", 2, 2},
        {POD_ALLGATHER, "bruck", "13", 4, 12},
        {POD_ALLGATHER, "bruck", "7x11", 7, 76},
        {POD_ALLTOALL, "bruck", "1", 0, 0},
        {POD_ALLTOALL, "bruck", "2", 1, 1},
        {POD_ALLTOALL, "bruck", "16", 4, 32},
        {POD_ALLTOALL, "bruck", "7", 3, 3 + 3 + 3},
        {POD_ALLTOALL, "bruck", "13", 4, 6 + 6 + 5 + 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const pod_mesh m = mesh_of(cases[i].mesh);
        const int size = pod_mesh_size(&m);
        const pod_coll_args args = args_of(&m, cases[i].coll, 16 * (int64_t)size);
        pod_arena *arena;
        POD_CHECK_OK(pod_arena_create(NULL, &arena));
        const pod_sched *const *all;
        POD_CHECK_OK(pod_coll_build_all(arena, pod_coll_find(cases[i].coll, cases[i].name), &m,
                                        &args, &all));
        pod_sched_order order;
        POD_CHECK_OK(pod_sched_order_build(arena, all, size, &order));
        POD_CHECK(order.n_rounds == cases[i].n_rounds, "%s on %s: %d rounds, want %d",
                  cases[i].name, cases[i].mesh, (int)order.n_rounds, cases[i].n_rounds);
        for (int r = 0; r < size && cases[i].n_units >= 0; r++) {
            const int64_t sent = count_moved(all[r], true), received = count_moved(all[r], false);
            POD_CHECK(sent == 16 * cases[i].n_units && received == sent,
                      "%s on %s: rank %d sends %" PRId64 " and receives %" PRId64, cases[i].name,
                      cases[i].mesh, r, sent, received);
        }
        pod_arena_destroy(arena);
    }
}

/* Ranks that act for others and those they act for: 5 = 4 + 1. */
static void test_folded_volume(void)
{
    static const struct {
        const char *name;
        int64_t sent[5]; /* of 40 elements */
    } cases[] = {{"recursive_doubling", {40, 40 + 2 * 40, 2 * 40, 2 * 40, 2 * 40}},
                 {"rabenseifner", {40, 40 + 60, 60, 60, 60}}};
    const pod_mesh m = mesh_of("5");
    const pod_coll_args args = args_of(&m, POD_ALLREDUCE, 40);
    pod_arena *arena;
    POD_CHECK_OK(pod_arena_create(NULL, &arena));
    for (int i = 0; i < 2; i++) {
        const pod_sched *const *all;
        POD_CHECK_OK(pod_coll_build_all(arena, pod_coll_find(POD_ALLREDUCE, cases[i].name), &m,
                                        &args, &all));
        for (int r = 0; r < 5; r++)
            POD_CHECK(count_moved(all[r], true) == cases[i].sent[r], "%s: rank %d sends %" PRId64,
                      cases[i].name, r, count_moved(all[r], true));
    }
    pod_arena_destroy(arena);
}

/* From whichever root, every other rank receives each element once, and the block behind the root
 * comes last to the one before it. */
static void test_scatter_ring_volume(void)
{
    static const struct {
        const char *mesh;
        int root, n_rounds;
    } cases[] = {{"2", 0, 1}, {"2", 1, 1}, {"5", 3, 4}, {"8", 0, 7}, {"4x3", 7, 11}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const pod_mesh m = mesh_of(cases[i].mesh);
        const int size = pod_mesh_size(&m);
        pod_coll_args args = args_of(&m, POD_BROADCAST, 100);
        args.root = cases[i].root;
        pod_arena *arena;
        POD_CHECK_OK(pod_arena_create(NULL, &arena));
        const pod_sched *const *all;
        POD_CHECK_OK(pod_coll_build_all(arena, pod_coll_find(POD_BROADCAST, "scatter_ring"), &m,
                                        &args, &all));
        pod_sched_order order;
        POD_CHECK_OK(pod_sched_order_build(arena, all, size, &order));
        POD_CHECK(order.n_rounds == cases[i].n_rounds, "%s from %d: %d rounds", cases[i].mesh,
                  cases[i].root, (int)order.n_rounds);
        for (int r = 0; r < size; r++)
            POD_CHECK(count_moved(all[r], false) == (r == args.root ? 0 : 100),
                      "%s from %d: rank %d receives %" PRId64, cases[i].mesh, cases[i].root, r,
                      count_moved(all[r], false));
        pod_arena_destroy(arena);
    }
}

static void check_peers(const char *mesh, int rank, int part, int n, const int peers[])
{
    const pod_mesh m = mesh_of(mesh);
    const pod_group all = pod_group_all(&m);
    pod__pairs p = pod__pairs_of((pod_range){0, 0}, 0, POD_NO_STEP);
    pod__swing_pairs(&m, &all, rank, part, &p);
    POD_CHECK(p.n_rounds == n, "%s: %d rounds", mesh, p.n_rounds);
    for (int k = 0; k < n && k < p.n_rounds; k++)
        POD_CHECK(p.peer[k] == peers[k], "%s part %d: rank %d meets %d in round %d, want %d", mesh,
                  part, rank, p.peer[k], k, peers[k]);
}

/* The paper's: even r meets r + 1, r - 1, r + 3, r - 5; odd r the other way; part 1 mirrored. */
static void test_swing_peers(void)
{
    check_peers("8", 0, 0, 3, (const int[]){1, 7, 3});
    check_peers("8", 3, 0, 3, (const int[]){2, 4, 0});
    check_peers("8", 0, 1, 3, (const int[]){7, 1, 5});
    check_peers("8", 7, 1, 3, (const int[]){0, 6, 2});
    check_peers("16", 0, 0, 4, (const int[]){1, 15, 3, 11});
    check_peers("16", 6, 0, 4, (const int[]){7, 5, 9, 1});
    check_peers("16", 15, 0, 4, (const int[]){14, 0, 12, 4});
    check_peers("16", 0, 1, 4, (const int[]){15, 1, 13, 5});
    /* x, y, x, y; parts 2 and 3 begin with y; 4 ranks further on is one up. */
    check_peers("4x4", 0, 0, 4, (const int[]){1, 4, 3, 12});
    check_peers("4x4", 0, 1, 4, (const int[]){3, 12, 1, 4});
    check_peers("4x4", 0, 2, 4, (const int[]){4, 1, 12, 3});
    check_peers("4x4", 0, 3, 4, (const int[]){12, 3, 4, 1});
    check_peers("4x4", 6, 0, 4, (const int[]){7, 2, 5, 10});
    /* y is done after one round. */
    check_peers("8x2", 0, 0, 4, (const int[]){1, 8, 7, 3});
    check_peers("8x2", 0, 2, 4, (const int[]){8, 1, 7, 3});
    check_peers("1x4", 2, 0, 2, (const int[]){3, 1});
}

/* Values whose sums depend on the order in which they are made: all ranks have the same bits. */
static void test_same_bits(void)
{
    static const char *const names[] = {"recursive_doubling", "rabenseifner", "swing",
                                        "swing_latency"};
    static const char *const meshes[] = {"8", "12", "32", "4x4", "2x16", "5x7", "4x2x8"};
    for (size_t i = 0; i < sizeof names / sizeof names[0] * (sizeof meshes / sizeof meshes[0]);
         i++) {
        const pod_mesh m = mesh_of(meshes[i / 4]);
        const pod_coll_algo *algo = pod_coll_find(POD_ALLREDUCE, names[i % 4]);
        const pod_coll_args args = args_of(&m, POD_ALLREDUCE, 301);
        if (algo->why_not(&m, &args)) continue;
        const int n_ranks = pod_mesh_size(&m);
        pod_arena *arena;
        POD_CHECK_OK(pod_arena_create(NULL, &arena));
        const pod_sched *const *all;
        POD_CHECK_OK(pod_coll_build_all(arena, algo, &m, &args, &all));
        coll_data d = coll_data_make(n_ranks, args.count, false);
        POD_CHECK_OK(pod_sched_run_local(all, n_ranks, POD_F32, (void **)d.buf));
        for (int r = 1; r < n_ranks; r++)
            POD_CHECK(memcmp(d.buf[r], d.buf[0], (size_t)args.count * sizeof(float)) == 0,
                      "%s on %s: rank %d differs", names[i % 4], meshes[i / 4], r);
        coll_data_free(&d);
        pod_arena_destroy(arena);
    }
}

static void test_refusals(void)
{
    static const struct {
        pod_coll coll;
        const char *name, *mesh, *reason; /* NULL: it applies */
    } cases[] = {
        {POD_ALLREDUCE, "swing", "6", "swing refuses: an extent of the group is no power of two"},
        {POD_ALLREDUCE, "swing", "4x3", "an extent of the group is no power of two"},
        {POD_ALLREDUCE, "swing", "4x8", NULL},
        {POD_ALLREDUCE, "swing_latency", "3", "swing_latency refuses: an extent"},
        {POD_ALLREDUCE, "recursive_doubling", "6", NULL},
        {POD_ALLREDUCE, "rabenseifner", "7", NULL},
        {POD_REDUCE_SCATTER, "recursive_halving", "3x4",
         "refuses: the number of ranks in the group is no power of two"},
        {POD_REDUCE_SCATTER, "recursive_halving", "2x4", NULL},
        {POD_ALLGATHER, "recursive_doubling", "5",
         "refuses: the number of ranks in the group is no power of two"},
        {POD_ALLGATHER, "bruck", "5", NULL},
    };
    pod_arena *arena;
    POD_CHECK_OK(pod_arena_create(NULL, &arena));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const pod_mesh m = mesh_of(cases[i].mesh);
        const pod_coll_args args = args_of(&m, cases[i].coll, 10);
        const pod_coll_algo *algo = pod_coll_find(cases[i].coll, cases[i].name);
        const pod_sched *s;
        if (cases[i].reason)
            POD_CHECK_FAILS(pod_coll_build(arena, algo, &m, 0, &args, &s), POD_E_INVALID,
                            cases[i].reason);
        else
            POD_CHECK_OK(pod_coll_build(arena, algo, &m, 0, &args, &s));
    }
    pod_arena_destroy(arena);
}

/* On the virtual clock, 8000 bytes at 1000 bytes/s a link, 1 s a message, 0.5 s a hop, 2000
 * bytes/s to add, 4000 bytes/s of memory; sums by hand. */
static void test_seconds(void)
{
    static const pod_net net = {.link_bytes_per_s = {1000, 1000, 1000},
                                .link_latency_s = {0.5, 0.5, 0.5},
                                .message_s = 1,
                                .reduce_bytes_per_s = 2000,
                                .memory_bytes_per_s = 4000};
    static const struct {
        pod_coll coll;
        const char *name, *mesh;
        double seconds;
    } cases[] = {
        /* 8 s a transfer on one link, 1 and 1/2 s before it, 4 s to add, and a copy of 4 s */
        {POD_ALLREDUCE, "recursive_doubling", "2", 1.5 + 8 + 4 + 4},
        /* one hop, then two hops, half of them either way round */
        {POD_ALLREDUCE, "recursive_doubling", "4", 1.5 + 8 + 4 + (2 + 8 + 4)},
        /* then two hops on links shared by two, one hop apart, and four with the other two hops
         * off */
        {POD_ALLREDUCE, "recursive_doubling", "8",
         1.5 + 8 + 4 + (2 + 8 + 7.5 + 4) + (3 + 8 + 7 + 4) + 4},
        /* the same along each of two dimensions, and an even number of rounds: no copy */
        {POD_ALLREDUCE, "recursive_doubling", "4x4", 2 * (1.5 + 8 + 4 + 2 + 8 + 4)},
        /* halves to neighbours, quarters two hops, both ways */
        {POD_ALLREDUCE, "rabenseifner", "4", 2 * (1.5 + 4 + 2 + 2) + 2 + 1},
        {POD_ALLREDUCE, "rabenseifner", "3", 2 * (1.5 + 8) + 4 + 2 * (1.5 + 4) + 2},
        /* two parts of 4000 bytes: a half, then a quarter to neighbours; the second part is one
         * message behind */
        {POD_ALLREDUCE, "swing", "4", 1 + 2 * (3.5 + 2.5) + 1 + 0.5},
        {POD_ALLREDUCE, "swing_latency", "4", 2 * (1.5 + 8 + 4)},
        /* the third round is three hops, and a link two hops on carries another */
        {POD_ALLREDUCE, "swing_latency", "8", 2 * (1.5 + 8 + 4) + (2.5 + 8 + 7 + 4) + 4},
        {POD_REDUCE_SCATTER, "recursive_halving", "4", 2 + 4 + 2 + 1.5 + 2 + 1},
        {POD_ALLGATHER, "recursive_doubling", "4", 2 + 4 + 1.5 + 2},
        /* one block of 2000 from the next, then two from two further on; the second of two messages
         * is prepared while the first is under way */
        {POD_ALLGATHER, "bruck", "4", 1.5 + 2 + 2 + 4},
        {POD_REDUCE_SCATTER, "bruck", "4", 1.5 + 2 + 1 + 2 + 4 + 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const pod_mesh m = mesh_of(cases[i].mesh);
        const pod_coll_args args = args_of(&m, cases[i].coll, 2000);
        const pod_coll_algo *algo = pod_coll_find(cases[i].coll, cases[i].name);
        pod_sim_report r;
        POD_CHECK_OK(pod_sim_collective(&net, &m, algo, &args, NULL, NULL, &r));
        POD_CHECK(pod_test_near(r.seconds, cases[i].seconds, 1e-9), "%s on %s: %g s, want %g",
                  cases[i].name, cases[i].mesh, r.seconds, cases[i].seconds);
    }
}

POD_TEST_SUITE("algo_log", {"rounds and volume", test_rounds_and_volume},
               {"folded volume", test_folded_volume},
               {"scatter_ring volume", test_scatter_ring_volume}, {"swing peers", test_swing_peers},
               {"same bits", test_same_bits}, {"refusals", test_refusals},
               {"seconds", test_seconds});
