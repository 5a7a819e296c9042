/* What algorithms do, step by step: rounds, volume, partners, drawings, seconds on the virtual clock;
 * and what each refuses. That their results are right is test_algo's. */
#include <inttypes.h>
#include <stdio.h>

#include "collectives/algo/pairs/pairs.h"
#include "collectives/exec/sim/sim.h"
#include "collectives/sched/order.h"
#include "tests/unit/collectives/coll_cases.h"

/* ---- rounds and volume ---------------------------------------------------------------------- */

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
 * sends and receives, in units of the whole buffer / ranks. A ring one way of p takes 2 (p - 1) rounds,
 * as an open line does; one both ways p, since a rank takes one after the other the two that end at it;
 * a torus the sum of that over its dimensions. A tree of 8 takes 3 up and 3 down, one of 5 has its
 * deepest member at 3 = 2 + 1: 3 up, 2 down. Member 0 of flat adds one after the other, then all hear
 * from it at once. */
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
        {POD_ALLREDUCE, "ring", "1x4", 6, -1},
        {POD_ALLREDUCE, "ring", "7", 12, -1},
        {POD_ALLREDUCE, "ring", "3x3", 16, -1},
        {POD_ALLREDUCE, "torus2d", "2x2", 4, -1},
        {POD_ALLREDUCE, "torus2d", "4x3", 7, -1},
        {POD_ALLREDUCE, "torus2d", "2x4x3", 9, -1},
        {POD_ALLREDUCE, "tree", "8", 6, -1},
        {POD_ALLREDUCE, "tree", "5", 5, -1},
        {POD_ALLREDUCE, "tree", "2", 2, -1},
        {POD_ALLREDUCE, "flat", "5", 5, -1},
        {POD_ALLREDUCE, "torus2d", "16x16", 32, -1},
        {POD_ALLREDUCE, "bucket", "16x16", 32, -1},
        {POD_ALLREDUCE, "ring2", "1x4", 4, -1},
        {POD_ALLREDUCE, "ring2", "7", 7, -1},
        {POD_ALLREDUCE, "ring", "7o", 12, -1},
        {POD_ALLREDUCE, "ring2", "3x4", 12, -1},
        {POD_ALLREDUCE, "torus2d", "4x5o", 12, -1},
        {POD_ALLREDUCE, "bucket", "4ox5", 11, -1},
    };
    for (int i = 0; i < N_OF(cases); i++) {
        const pod_mesh m = coll_mesh(cases[i].mesh);
        const int size = pod_mesh_size(&m);
        const pod_coll_args args = coll_args(&m, cases[i].coll, 16 * (int64_t)size);
        COLL_BUILT b = coll_build(cases[i].name, &m, &args);
        pod_sched_order order;
        POD_CHECK_OK(pod_sched_order_build(b.arena, b.all, size, &order));
        POD_CHECK(order.n_rounds == cases[i].n_rounds, "%s on %s: %d rounds, want %d",
                  cases[i].name, cases[i].mesh, (int)order.n_rounds, cases[i].n_rounds);
        for (int r = 0; r < size && cases[i].n_units >= 0; r++) {
            const int64_t sent = count_moved(b.all[r], true),
                          received = count_moved(b.all[r], false);
            POD_CHECK(sent == 16 * cases[i].n_units && received == sent,
                      "%s on %s: rank %d sends %" PRId64 " and receives %" PRId64, cases[i].name,
                      cases[i].mesh, r, sent, received);
        }
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
    const pod_mesh m = coll_mesh("5");
    const pod_coll_args args = coll_args(&m, POD_ALLREDUCE, 40);
    for (int i = 0; i < 2; i++) {
        COLL_BUILT b = coll_build(cases[i].name, &m, &args);
        for (int r = 0; r < 5; r++)
            POD_CHECK(count_moved(b.all[r], true) == cases[i].sent[r], "%s: rank %d sends %" PRId64,
                      cases[i].name, r, count_moved(b.all[r], true));
    }
}

/* From whichever root, every other rank receives each element once, and the block behind the root
 * comes last to the one before it. */
static void test_scatter_ring_volume(void)
{
    static const struct {
        const char *mesh;
        int root, n_rounds;
    } cases[] = {{"2", 0, 1}, {"2", 1, 1}, {"5", 3, 4}, {"8", 0, 7}, {"4x3", 7, 11}};
    for (int i = 0; i < N_OF(cases); i++) {
        const pod_mesh m = coll_mesh(cases[i].mesh);
        const int size = pod_mesh_size(&m);
        pod_coll_args args = coll_args(&m, POD_BROADCAST, 100);
        args.root = cases[i].root;
        COLL_BUILT b = coll_build("scatter_ring", &m, &args);
        pod_sched_order order;
        POD_CHECK_OK(pod_sched_order_build(b.arena, b.all, size, &order));
        POD_CHECK(order.n_rounds == cases[i].n_rounds, "%s from %d: %d rounds", cases[i].mesh,
                  cases[i].root, (int)order.n_rounds);
        for (int r = 0; r < size; r++)
            POD_CHECK(count_moved(b.all[r], false) == (r == args.root ? 0 : 100),
                      "%s from %d: rank %d receives %" PRId64, cases[i].mesh, cases[i].root, r,
                      count_moved(b.all[r], false));
    }
}

static void check_peers(const char *mesh, int rank, int part, int n, const int peers[])
{
    const pod_mesh m = coll_mesh(mesh);
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

/* ---- refusals ------------------------------------------------------------------------------- */

static void test_refusals(void)
{
    static const struct {
        pod_coll coll;
        const char *name, *mesh;
        int node_size;
        pod_group group;    /* {0}: all */
        const char *reason; /* part of it; NULL: it applies */
    } cases[] = {
        {POD_ALLREDUCE, "swing", "6", 0, {0}, "an extent of the group is no power of two"},
        {POD_ALLREDUCE, "swing", "4x3", 0, {0}, "an extent of the group is no power of two"},
        {POD_ALLREDUCE, "swing", "4x8", 0, {0}, NULL},
        {POD_ALLREDUCE, "swing_latency", "3", 0, {0}, "an extent"},
        {POD_ALLREDUCE, "recursive_doubling", "6", 0, {0}, NULL},
        {POD_ALLREDUCE, "rabenseifner", "7", 0, {0}, NULL},
        {POD_REDUCE_SCATTER,
         "recursive_halving",
         "3x4",
         0,
         {0},
         "the number of ranks in the group is no power of two"},
        {POD_REDUCE_SCATTER, "recursive_halving", "2x4", 0, {0}, NULL},
        {POD_ALLGATHER,
         "recursive_doubling",
         "5",
         0,
         {0},
         "the number of ranks in the group is no power of two"},
        {POD_ALLGATHER, "bruck", "5", 0, {0}, NULL},
        {POD_REDUCE_SCATTER, "torus2d", "8x1", 0, {0}, "fewer than two dimensions"},
        {POD_ALLGATHER, "torus2d", "8", 0, {0}, "fewer than two dimensions"},
        {POD_ALLGATHER, "torus2d", "2x3", 0, {0}, NULL},
        {POD_ALLREDUCE, "ring2", "2", 0, {0}, "fewer than three"},
        {POD_ALLREDUCE, "ring2", "1x2", 0, {0}, "fewer than three"},
        {POD_ALLREDUCE, "ring2", "4o", 0, {0}, "is a line"},
        {POD_ALLREDUCE, "ring2", "4", 0, {0}, NULL},
        {POD_ALLREDUCE, "ring2", "4ox2o", 0, {0}, NULL},
        {POD_ALLREDUCE, "torus2d", "8", 0, {0}, "fewer than two dimensions"},
        {POD_ALLREDUCE, "bucket", "8x1", 0, {0}, "fewer than two"},
        {POD_ALLREDUCE, "torus2d", "2x1x3", 0, {0}, NULL},
        {POD_ALLREDUCE, "ring", "1", 0, {0}, NULL},
        {POD_ALLREDUCE, "ring", "4o", 0, {0}, NULL},
        {POD_ALLREDUCE, "direct", "4", 0, {0}, "no ranks share memory"},
        {POD_ALLREDUCE, "direct", "4", 1, {0}, "no ranks share memory"},
        {POD_ALLREDUCE, "direct", "4", 4, {0}, NULL},
        {POD_ALLREDUCE, "direct", "4", 64, {0}, NULL},
        {POD_ALLREDUCE, "direct", "4", 3, {0}, "the group spans more than one node"},
        {POD_ALLREDUCE, "direct", "4x4", 4, {.dims = 1}, NULL},
        {POD_ALLREDUCE, "direct", "4x4", 4, {.dims = 2}, "the group spans more than one node"},
        {POD_ALLREDUCE, "direct", "4x4", 8, {.dims = 2, .tile = {0, 2}}, NULL},
        {POD_ALLREDUCE, "direct", "257", 257, {0}, "the group has more ranks than one sum"},
        {POD_ALLREDUCE, "oneshot", "2x2", 2, {0}, "the group spans more than one node"},
        {POD_ALLREDUCE, "hierarchical", "4", 1, {0}, "no ranks share memory"},
        {POD_ALLREDUCE, "hierarchical", "4", 4, {0}, "there is only one node"},
        {POD_ALLREDUCE, "hierarchical", "4", 8, {0}, "there is only one node"},
        {POD_ALLREDUCE, "hierarchical", "8", 3, {0}, "nodes differ in how many ranks they have"},
        {POD_ALLREDUCE, "hierarchical", "4x4", 4, {.dims = 1}, "the group is not the whole mesh"},
        {POD_ALLREDUCE, "hierarchical", "4x3", 6, {0}, "nodes do not tile the mesh"},
        {POD_ALLREDUCE, "hierarchical", "4x3", 2, {0}, NULL},
        {POD_ALLREDUCE, "hierarchical", "4x3", 4, {0}, NULL},
        {POD_ALLREDUCE, "hierarchical", "2x4x3", 4, {0}, NULL},
        {POD_ALLREDUCE, "hierarchical", "2x512", 512, {0}, "a node has more ranks than one sum"},
    };
    for (int i = 0; i < N_OF(cases); i++) {
        const pod_mesh m = coll_mesh(cases[i].mesh);
        pod_coll_args args = coll_args(&m, cases[i].coll, 100);
        args.node_size = cases[i].node_size;
        if (cases[i].group.dims) args.group = cases[i].group;
        const char *reason = pod_coll_find(cases[i].coll, cases[i].name)->why_not(&m, &args);
        const bool is_right = cases[i].reason ? reason && strstr(reason, cases[i].reason) : !reason;
        POD_CHECK(is_right, "%s on %s, nodes of %d: '%s', want '%s'", cases[i].name, cases[i].mesh,
                  cases[i].node_size, reason ? reason : "applies",
                  cases[i].reason ? cases[i].reason : "applies");
    }
}

/* ---- drawings ------------------------------------------------------------------------------- */

/* The drawing of an all-reduce begins and ends so. */
static void check_drawing(const char *mesh, const char *algo, int64_t count, int node_size,
                          const char *begins, const char *ends)
{
    char *text;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);
    const pod_mesh m = coll_mesh(mesh);
    pod_coll_args args = coll_args(&m, POD_ALLREDUCE, count);
    args.node_size = node_size;
    COLL_BUILT b = coll_build(algo, &m, &args);
    POD_CHECK_OK(pod_sched_draw(file, b.all, pod_mesh_size(&m)));
    fclose(file);
    const bool is_long = bytes >= strlen(begins) + strlen(ends);
    POD_CHECK(is_long && strncmp(text, begins, strlen(begins)) == 0 &&
                  strcmp(text + bytes - strlen(ends), ends) == 0 &&
                  (*ends || bytes == strlen(begins)),
              "%s on %s is drawn\n%swant\n%s...\n%s", algo, mesh, text, begins, ends);
    free(text);
}

static void test_draw(void)
{
    check_drawing("2x2", "torus2d", 4, 0,
                  "elements  0     1     2     3\n"
                  "start\n"
                  "  rank 0   0     0     0     0\n"
                  "  rank 1   1     1     1     1\n"
                  "  rank 2   2     2     2     2\n"
                  "  rank 3   3     3     3     3\n"
                  "round 1\n"
                  "  rank 0   0-1*  0     0,2*  0\n"
                  "  rank 1   1     0-1*  1,3*  1\n"
                  "  rank 2   2-3*  2     2     0,2*\n"
                  "  rank 3   3     2-3*  3     1,3*\n"
                  "round 2\n"
                  "  rank 0   0-3*  0     0-3*  0\n"
                  "  rank 1   1     0-3*  1,3   1\n"
                  "  rank 2   2-3   2     2     0-3*\n"
                  "  rank 3   3     2-3   3     1,3\n"
                  "round 3\n"
                  "  rank 0   0-3   0-3*  0-3   0-3*\n"
                  "  rank 1   0-3*  0-3   0-3*  1\n"
                  "  rank 2   0-3*  2     0-3*  0-3\n"
                  "  rank 3   3     0-3*  3     0-3*\n"
                  "round 4\n"
                  "  rank 0   0-3   0-3   0-3   0-3\n"
                  "  rank 1   0-3   0-3   0-3   0-3*\n"
                  "  rank 2   0-3   0-3*  0-3   0-3\n"
                  "  rank 3   0-3*  0-3   0-3*  0-3\n",
                  "");
    check_drawing("2x2", "bucket", 8, 0,
                  "elements  0..1  2..3  4..5  6..7\n"
                  "start\n"
                  "  rank 0   0     0     0     0\n"
                  "  rank 1   1     1     1     1\n"
                  "  rank 2   2     2     2     2\n"
                  "  rank 3   3     3     3     3\n"
                  "round 1\n"
                  "  rank 0   0-1*  0-1*  0     0\n"
                  "  rank 1   1     1     0-1*  0-1*\n"
                  "  rank 2   2-3*  2-3*  2     2\n"
                  "  rank 3   3     3     2-3*  2-3*\n"
                  "round 2\n"
                  "  rank 0   0-3*  0-1   0     0\n"
                  "  rank 1   1     1     0-3*  0-1\n"
                  "  rank 2   2-3   0-3*  2     2\n"
                  "  rank 3   3     3     2-3   0-3*\n"
                  "round 3\n"
                  "  rank 0   0-3   0-3*  0     0\n"
                  "  rank 1   1     1     0-3   0-3*\n"
                  "  rank 2   0-3*  0-3   2     2\n"
                  "  rank 3   3     3     0-3*  0-3\n"
                  "round 4\n"
                  "  rank 0   0-3   0-3   0-3*  0-3*\n"
                  "  rank 1   0-3*  0-3*  0-3   0-3\n"
                  "  rank 2   0-3   0-3   0-3*  0-3*\n"
                  "  rank 3   0-3*  0-3*  0-3   0-3\n",
                  "");
    check_drawing("3", "ring", 4, 0,
                  "elements  0..1  2     3\n"
                  "start\n"
                  "  rank 0   0     0     0\n"
                  "  rank 1   1     1     1\n"
                  "  rank 2   2     2     2\n"
                  "round 1\n"
                  "  rank 0   0     0,2*  0\n"
                  "  rank 1   1     1     0-1*\n"
                  "  rank 2   1-2*  2     2\n"
                  "round 2\n"
                  "  rank 0   0-2*  0,2   0\n"
                  "  rank 1   1     0-2*  0-1\n"
                  "  rank 2   1-2   2     0-2*\n"
                  "round 3\n"
                  "  rank 0   0-2   0,2   0-2*\n"
                  "  rank 1   0-2*  0-2   0-1\n"
                  "  rank 2   1-2   0-2*  0-2\n"
                  "round 4\n"
                  "  rank 0   0-2   0-2*  0-2\n"
                  "  rank 1   0-2   0-2   0-2*\n"
                  "  rank 2   0-2*  0-2   0-2\n",
                  "");
    check_drawing("3", "flat", 4, 0,
                  "elements  0..3\n"
                  "start\n"
                  "  rank 0   0\n"
                  "  rank 1   1\n"
                  "  rank 2   2\n"
                  "round 1\n"
                  "  rank 0   0-1*\n"
                  "  rank 1   1\n"
                  "  rank 2   2\n"
                  "round 2\n"
                  "  rank 0   0-2*\n"
                  "  rank 1   1\n"
                  "  rank 2   2\n"
                  "round 3\n"
                  "  rank 0   0-2\n"
                  "  rank 1   0-2*\n"
                  "  rank 2   0-2*\n",
                  "");
    check_drawing("2", "ring", 0, 0, "", "");
    /* Two nodes of two: what the nodes have summed, and that in the end all have all. */
    check_drawing("4", "hierarchical", 4, 2,
                  "elements  0     1     2     3\n"
                  "start\n"
                  "  rank 0   0     0     0     0\n"
                  "  rank 1   1     1     1     1\n"
                  "  rank 2   2     2     2     2\n"
                  "  rank 3   3     3     3     3\n"
                  "round 1\n"
                  "  rank 0   0-1*  0-1*  0     0\n"
                  "  rank 1   1     1     0-1*  0-1*\n"
                  "  rank 2   2-3*  2-3*  2     2\n"
                  "  rank 3   3     3     2-3*  2-3*\n",
                  "round 4\n"
                  "  rank 0   0-3   0-3   0-3*  0-3*\n"
                  "  rank 1   0-3*  0-3*  0-3   0-3\n"
                  "  rank 2   0-3   0-3   0-3*  0-3*\n"
                  "  rank 3   0-3*  0-3*  0-3   0-3\n");
}

/* ---- seconds -------------------------------------------------------------------------------- */

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
    for (int i = 0; i < N_OF(cases); i++) {
        const pod_mesh m = coll_mesh(cases[i].mesh);
        const pod_coll_args args = coll_args(&m, cases[i].coll, 2000);
        const pod_coll_algo *algo = pod_coll_find(cases[i].coll, cases[i].name);
        pod_sim_report r;
        POD_CHECK_OK(pod_sim_collective(&net, &m, algo, &args, NULL, NULL, &r));
        POD_CHECK(pod_test_near(r.seconds, cases[i].seconds, 1e-9), "%s on %s: %g s, want %g",
                  cases[i].name, cases[i].mesh, r.seconds, cases[i].seconds);
    }
}

POD_TEST_SUITE("algo_steps", {"rounds and volume", test_rounds_and_volume},
               {"folded volume", test_folded_volume},
               {"scatter_ring volume", test_scatter_ring_volume}, {"swing peers", test_swing_peers},
               {"refusals", test_refusals}, {"drawings", test_draw}, {"seconds", test_seconds});
