/* Every algorithm of the table, on many meshes, groups and counts, also at random, in the one-process
 * executor. */
#include <inttypes.h>
#include <stdio.h>

#include "kernels/base/rng.h"
#include "tests/unit/collectives/coll_cases.h"

/* Beside all from 1x1 to 8x8. */
static const char *const meshes[] = {"1",     "2",     "5",     "13",    "5o",
                                     "4x3o",  "7x11",  "16x2",  "16x16", "2x2x2",
                                     "2x3x4", "1x1x5", "2x1x3", "3x2x2", "2x8x4"};

/* A root is the first, a middle and the last member. */
static void run_roots(const pod_mesh *m, const pod_coll_algo *algo, pod_coll_args args,
                      bool is_exact)
{
    const int size = pod_group_size(m, &args.group);
    coll_check(m, algo, &args, is_exact);
    for (int k = 1; k < 3 && pod_coll_has_root(algo->coll) && size > k; k++) {
        args.root = k * (size - 1) / 2;
        coll_check(m, algo, &args, is_exact);
    }
}

/* Every algorithm that applies; one that wants nodes, on nodes of several sizes. */
static void run_algos(const pod_mesh *m, pod_group group, int64_t count, pod_dtype t, bool is_exact)
{
    POD_CHECK_OK(pod_group_verify(m, &group));
    const int size = pod_group_size(m, &group), n_ranks = pod_mesh_size(m);
    const int node_sizes[] = {n_ranks, 2, 3, 4, 6, 8, 16};
    int n;
    const pod_coll_algo *algos = pod_coll_algos(&n);
    for (int i = 0; i < n; i++) {
        pod_coll_args args = {.coll = algos[i].coll, .dtype = t, .group = group};
        args.count = coll_count(args.coll, count, size);
        if (!algos[i].why_not(m, &args)) {
            run_roots(m, &algos[i], args, is_exact);
            continue;
        }
        for (int k = 0; k < N_OF(node_sizes); k++) {
            args.node_size = node_sizes[k];
            if ((k == 0 || args.node_size < n_ranks) && !algos[i].why_not(m, &args))
                run_roots(m, &algos[i], args, is_exact);
        }
    }
}

static void run_counts(const pod_mesh *m, pod_group group, int n_counts)
{
    const int size = pod_group_size(m, &group);
    const int64_t counts[] = {0, 1, size + 1, 3 * size + 2, 2, size - 1, size, 1009};
    for (int c = 0; c < n_counts; c++) run_algos(m, group, counts[c], POD_F32, true);
}

static void test_meshes(void)
{
    for (int i = 0; i < N_OF(meshes); i += POD_TEST_EVERY) {
        const pod_mesh m = coll_mesh(meshes[i]);
        run_counts(&m, pod_group_all(&m), pod_mesh_size(&m) > 64 ? 3 : 8);
    }
}

static void test_all_to_8x8(void)
{
    int n = 0;
    for (int x = 1; x <= 8; x++) {
        for (int y = 1; y <= 8; y++) {
            if (n++ % POD_TEST_EVERY) continue;
            char text[16];
            snprintf(text, sizeof text, "%dx%d", x, y);
            const pod_mesh m = coll_mesh(text);
            run_counts(&m, pod_group_all(&m), 4);
        }
    }
}

static void test_rounded_sums(void)
{
    static const char *const some_meshes[] = {"2", "3",  "7",  "3x2",  "4x4", "2x3x4", "16x4",
                                              "8", "12", "32", "2x16", "5x7", "4x2x8"};
    for (int i = 0; i < N_OF(some_meshes); i++) {
        const pod_mesh m = coll_mesh(some_meshes[i]);
        run_algos(&m, pod_group_all(&m), 1009, POD_F32, false);
        run_algos(&m, pod_group_all(&m), 1009, POD_BF16, false);
    }
}

/* Whole numbers up to 8 of up to 32 ranks: no sum on the way exceeds 256, up to which bf16 holds
 * them all. */
static void test_exact_bf16(void)
{
    static const char *const at_most_32[] = {"1", "2", "3x2", "13", "4x4", "2x3x4", "8x4"};
    for (int i = 0; i < N_OF(at_most_32); i++) {
        const pod_mesh m = coll_mesh(at_most_32[i]);
        run_algos(&m, pod_group_all(&m), 3 * pod_mesh_size(&m) + 2, POD_BF16, true);
    }
}

/* Sums in the order of members: the same bits, whatever is rounded. */
static void test_bits_of_flat(void)
{
    static const char *const names[] = {"flat", "direct", "oneshot"};
    static const pod_dtype types[] = {POD_F32, POD_BF16};
    enum { COUNT = 1009, N_RANKS = 12 };
    float of_flat[COUNT];
    const pod_mesh m = coll_mesh("4x3");
    for (int i = 0; i < 2 * 3; i++) {
        const pod_dtype t = types[i / 3];
        pod_coll_args args = coll_args(&m, POD_ALLREDUCE, COUNT);
        args.dtype = t;
        args.node_size = N_RANKS;
        COLL_BUILT b = coll_build(names[i % 3], &m, &args);
        coll_data d = coll_data_make(N_RANKS, COUNT, t, false);
        POD_CHECK_OK(pod_sched_run_local(b.all, N_RANKS, t, d.buf));
        if (i % 3 == 0) memcpy(of_flat, d.buf[0], COUNT * pod_dtype_bytes(t));
        for (int r = 0; r < N_RANKS; r++)
            POD_CHECK(memcmp(d.buf[r], of_flat, COUNT * pod_dtype_bytes(t)) == 0,
                      "%s %s: rank %d has other bits than flat", names[i % 3], pod_dtype_name(t),
                      r);
        coll_data_free(&d);
    }
}

static void test_groups(void)
{
    static const struct {
        const char *mesh;
        pod_group group;
    } cases[] = {
        {"4x3", {.dims = 0}},
        {"4x3", {.dims = 1}},
        {"4x3", {.dims = 2}},
        {"8x2", {.dims = 1, .tile = {4}}},
        {"8x2", {.dims = 1, .step = {2}}},
        {"8x2", {.dims = 3, .step = {2}, .tile = {4}}},
        {"4x6", {.dims = 3, .tile = {2, 3}}},
        {"4x6", {.dims = 3, .step = {2, 3}}},
        {"2x4x4", {.dims = 6}},
        {"2x4x4", {.dims = 5, .tile = {0, 0, 2}}},
    };
    for (int i = 0; i < N_OF(cases); i++) {
        const pod_mesh m = coll_mesh(cases[i].mesh);
        run_counts(&m, cases[i].group, 8);
    }
}

static void test_large_count(void)
{
    const pod_mesh m = coll_mesh("3x2");
    run_algos(&m, pod_group_all(&m), 200003, POD_F32, true);
}

static void test_2048_ranks(void)
{
    const pod_mesh m = coll_mesh("32x64");
    const pod_coll_args args = coll_args(&m, POD_ALLREDUCE, 4099);
    coll_check(&m, pod_coll_find(POD_ALLREDUCE, "torus2d"), &args, true);
}

/* ---- at random ------------------------------------------------------------------------------ */

enum { SEED = 20261121, N_CASES = 3000, MAX_RANKS = 48 };

/* Mesh, group, count, type, shared memory, chunks and algorithm, drawn from a number. */
typedef struct scene {
    pod_mesh mesh;
    const pod_coll_algo *algo;
    pod_coll_args args;
    bool is_exact;
} scene;

static int below(pod_rng *rng, int n) { return (int)pod_rng_below(rng, (uint64_t)n); }

static int divisor(pod_rng *rng, int n)
{
    int d = 1 + below(rng, n);
    while (n % d) d--;
    return d;
}

static pod_mesh draw_mesh(pod_rng *rng)
{
    pod_mesh m = {.n_dims = 1 + below(rng, POD_MESH_MAX_DIMS)};
    int room = 1 + below(rng, MAX_RANKS);
    for (int d = 0; d < m.n_dims; d++) {
        m.extent[d] = d + 1 < m.n_dims ? 1 + below(rng, room) : room;
        /* Half of the meshes have powers of two only, for the algorithms that want them. */
        if (pod_rng_u32(rng) % 2)
            while (m.extent[d] & (m.extent[d] - 1)) m.extent[d] &= m.extent[d] - 1;
        room /= m.extent[d];
        m.wraps[d] = pod_rng_u32(rng) % 4 != 0;
    }
    return m;
}

static pod_group draw_group(pod_rng *rng, const pod_mesh *m)
{
    if (pod_rng_u32(rng) % 3) return pod_group_all(m);
    pod_group g = {.dims = pod_rng_u32(rng) % (1u << m->n_dims)};
    for (int d = 0; d < m->n_dims; d++) {
        g.tile[d] = divisor(rng, m->extent[d]);
        g.step[d] = divisor(rng, g.tile[d]);
    }
    return g;
}

static int64_t draw_count(pod_rng *rng, pod_coll coll, int size)
{
    const int kind = below(rng, 5);
    int64_t count = kind == 0   ? below(rng, 3)
                    : kind == 1 ? below(rng, size + 2)
                    : kind == 2 ? (int64_t)size * below(rng, 8)
                                : below(rng, 400);
    return coll == POD_ALLTOALL ? count / size * size : count;
}

static scene draw(uint32_t number)
{
    pod_rng rng = pod_rng_at(SEED, (pod_place){.stream = POD_STREAM_TEST, .step = number});
    int n_algos;
    const pod_coll_algo *algos = pod_coll_algos(&n_algos);
    scene s = {.mesh = draw_mesh(&rng)};
    s.algo = &algos[below(&rng, n_algos)];
    const int n_ranks = pod_mesh_size(&s.mesh);
    s.args.coll = s.algo->coll;
    s.args.group = draw_group(&rng, &s.mesh);
    const int size = pod_group_size(&s.mesh, &s.args.group);
    s.args.dtype = (const pod_dtype[]){POD_F32, POD_F32, POD_BF16, POD_BINNED}[below(&rng, 4)];
    s.args.count = draw_count(&rng, s.args.coll, size);
    s.args.root = pod_coll_has_root(s.args.coll) ? below(&rng, size) : 0;
    s.args.node_size = (const int[]){0, 1, n_ranks, divisor(&rng, n_ranks)}[below(&rng, 4)];
    s.args.chunk_bytes = pod_rng_u32(&rng) % 2 ? 0 : 1 + below(&rng, 300);
    s.is_exact = pod_rng_u32(&rng) % 4 != 0;
    return s;
}

/* Whatever applies gives what it must; whatever does not is refused with the reason. */
static void test_random(void)
{
    int n_algos;
    const pod_coll_algo *algos = pod_coll_algos(&n_algos);
    int *n_run = calloc((size_t)n_algos, sizeof *n_run);
    for (uint32_t number = 0; number < N_CASES; number++) {
        scene s = draw(number);
        const char *reason = s.algo->why_not(&s.mesh, &s.args);
        if (!reason) {
            coll_check(&s.mesh, s.algo, &s.args, s.is_exact);
            n_run[s.algo - algos]++;
            continue;
        }
        pod_arena *arena;
        POD_CHECK_OK(pod_arena_create(NULL, &arena));
        const pod_sched *one;
        POD_CHECK_FAILS(pod_coll_build(arena, s.algo, &s.mesh, 0, &s.args, &one), POD_E_INVALID,
                        reason);
        pod_arena_destroy(arena);
    }
    for (int i = 0; i < n_algos; i++)
        POD_CHECK(n_run[i] >= 5, "%s %s applied in %d cases only", pod_coll_name(algos[i].coll),
                  algos[i].name, n_run[i]);
    free(n_run);
}

/* Blocks follow one another, cover everything, and differ by at most one element. */
static void test_blocks(void)
{
    for (int size = 1; size < 40; size++) {
        for (int64_t count = 0; count < 100; count += 7) {
            int64_t at = 0;
            bool is_even = true;
            for (int i = 0; i < size; i++) {
                pod_range b = pod_block(count, size, i);
                is_even = is_even && b.first == at && b.count >= count / size &&
                          b.count <= (count + size - 1) / size;
                at += b.count;
            }
            POD_CHECK(is_even && at == count, "%" PRId64 " in %d blocks", count, size);
        }
    }
    int64_t huge = INT64_C(1) << 60;
    POD_CHECK(pod_block(huge, 1 << 20, (1 << 20) - 1).first == huge - (INT64_C(1) << 40), "huge");
}

static void test_build_refuses(void)
{
    const pod_mesh m = coll_mesh("4x1");
    pod_arena *arena;
    POD_CHECK_OK(pod_arena_create(NULL, &arena));
    const pod_sched *s = NULL;
    const pod_sched *const *all = NULL;
    pod_coll_args args = coll_args(&m, POD_ALLREDUCE, 10);
    const pod_coll_algo *torus = pod_coll_find(POD_ALLREDUCE, "torus2d");
    POD_CHECK_FAILS(pod_coll_build(arena, torus, &m, 0, &args, &s), POD_E_INVALID,
                    "allreduce: torus2d refuses: the group is longer than 1 in fewer than two");
    POD_CHECK_FAILS(pod_coll_build_all(arena, torus, &m, &args, &all), POD_E_INVALID, "refuses");
    args.group.step[0] = 3;
    const pod_coll_algo *ring = pod_coll_find(POD_ALLREDUCE, "ring");
    POD_CHECK_FAILS(pod_coll_build(arena, ring, &m, 0, &args, &s), POD_E_INVALID, "step of 3");
    args = coll_args(&m, POD_BROADCAST, 10);
    args.root = 4;
    const pod_coll_algo *tree = pod_coll_find(POD_BROADCAST, "tree");
    POD_CHECK_FAILS(pod_coll_build(arena, tree, &m, 0, &args, &s), POD_E_INVALID,
                    "broadcast: root 4 in a group of 4");
    args = coll_args(&m, POD_BROADCAST, -1);
    POD_CHECK_FAILS(pod_coll_build(arena, tree, &m, 0, &args, &s), POD_E_INVALID, "-1 elements");
    POD_CHECK(!s && !all, "something was left behind");
    pod_arena_destroy(arena);
}

/* With one dimension the torus is the ring both ways, step for step. */
static void test_torus_of_a_line(void)
{
    const pod_mesh m = coll_mesh("5");
    pod_arena *arena;
    POD_CHECK_OK(pod_arena_create(NULL, &arena));
    const pod_coll_args args = coll_args(&m, POD_ALLREDUCE, 11);
    static const char *const names[2] = {"torus2d", "ring2"};
    char *text[2];
    for (int i = 0; i < 2; i++) {
        size_t bytes;
        FILE *file = open_memstream(&text[i], &bytes);
        pod_sched *s;
        POD_CHECK_OK(pod_sched_create(arena, args.count, &s));
        POD_CHECK_OK(pod_coll_find(POD_ALLREDUCE, names[i])->build(&m, 3, &args, s));
        pod_sched_print(file, 3, s);
        fclose(file);
    }
    POD_CHECK(strcmp(text[0], text[1]) == 0, "torus2d\n%sring2\n%s", text[0], text[1]);
    free(text[0]);
    free(text[1]);
    pod_arena_destroy(arena);
}

/* What is stuck, or of another type, is refused before anything is touched. */
static void test_local_refuses(void)
{
    pod_arena *arena;
    POD_CHECK_OK(pod_arena_create(NULL, &arena));
    pod_sched *s[2];
    float data[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
    void *buf[2] = {data[0], data[1]};
    const pod_span whole = {POD_BUF_MAIN, 0};
    for (int r = 0; r < 2; r++) {
        POD_CHECK_OK(pod_sched_create(arena, 4, &s[r]));
        int32_t got = pod_sched_recv(s[r], 1 - r, 0, whole, 4, POD_NO_STEP);
        pod_sched_send(s[r], 1 - r, 0, whole, 4, got);
    }
    const pod_sched *all[2] = {s[0], s[1]};
    POD_CHECK_FAILS(pod_sched_run_local(all, 2, POD_F32, buf), POD_E_INVALID, "deadlock");
    pod_sched_set_op(s[1], POD_MAX);
    POD_CHECK_FAILS(pod_sched_run_local(all, 2, POD_BINNED, buf), POD_E_UNSUPPORTED, "sums alone");
    POD_CHECK(data[0][0] == 1 && data[1][3] == 8, "data was touched");
    pod_arena_destroy(arena);
}

/* Copies and scratch memory, which no algorithm uses yet: member 1 keeps a copy, receives, and
 * hands copy plus received on; member 0 adds what comes to something else than its destination. */
static void test_local_scratch(void)
{
    pod_arena *arena;
    POD_CHECK_OK(pod_arena_create(NULL, &arena));
    pod_sched *s[2];
    float data[2][2] = {{1, 2}, {10, 20}};
    void *buf[2] = {data[0], data[1]};
    const pod_span whole = {POD_BUF_MAIN, 0};
    const pod_span kept = {POD_BUF_SCRATCH, 3};
    for (int r = 0; r < 2; r++) POD_CHECK_OK(pod_sched_create(arena, 2, &s[r]));
    int32_t sent = pod_sched_send(s[0], 1, 0, whole, 2, POD_NO_STEP);
    pod_sched_add(s[0], (pod_step){POD_STEP_RECV_REDUCE, 1, 0, {sent, -1}, whole, kept, 2});
    pod_sched_add(s[0], (pod_step){POD_STEP_COPY, 0, 0, {1, -1}, kept, whole, 2});
    pod_sched_add(s[1], (pod_step){POD_STEP_COPY, 0, 0, {-1, -1}, whole, kept, 2});
    int32_t got = pod_sched_recv(s[1], 0, 0, whole, 2, 0);
    pod_sched_send(s[1], 0, 0, kept, 2, got);
    const pod_sched *all[2] = {s[0], s[1]};
    POD_CHECK_OK(pod_sched_verify(all, 2));
    POD_CHECK_OK(pod_sched_run_local(all, 2, POD_F32, buf));
    POD_CHECK(data[0][0] == 11 && data[0][1] == 22 && data[1][0] == 1 && data[1][1] == 2,
              "%g %g %g %g", (double)data[0][0], (double)data[0][1], (double)data[1][0],
              (double)data[1][1]);
    pod_arena_destroy(arena);
}

POD_TEST_SUITE("algo", {"meshes", test_meshes}, {"all to 8x8", test_all_to_8x8},
               {"groups", test_groups}, {"rounded sums", test_rounded_sums},
               {"exact bf16", test_exact_bf16}, {"bits of flat", test_bits_of_flat},
               {"random", test_random}, {"large count", test_large_count},
               {"2048 ranks", test_2048_ranks}, {"blocks", test_blocks},
               {"build refuses", test_build_refuses}, {"torus of a line", test_torus_of_a_line},
               {"local refuses", test_local_refuses}, {"local scratch", test_local_scratch});
