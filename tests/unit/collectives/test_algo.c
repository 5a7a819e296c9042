/* Every algorithm of the table, on many meshes, groups and counts, in the one-process executor. */
#include <inttypes.h>
#include <stdio.h>

#include "collectives/algo/rules.h"
#include "kernels/base/bf16.h"
#include "tests/unit/collectives/coll_cases.h"

/* Beside all from 1x1 to 8x8. */
static const char *const meshes[] = {"1",     "2",     "5",     "13",    "5o",
                                     "4x3o",  "7x11",  "16x2",  "16x16", "2x2x2",
                                     "2x3x4", "1x1x5", "2x1x3", "3x2x2", "2x8x4"};

static void describe(char text[200], const pod_mesh *m, const pod_coll_algo *algo,
                     const pod_coll_args *args)
{
    char mesh[POD_MESH_TEXT_BYTES];
    snprintf(text, 200,
             "%s %s mesh %s nodes of %d dims %u step %d tile %d %s count %" PRId64 " root %d",
             pod_coll_name(args->coll), algo->name, pod_mesh_print(m, mesh, sizeof mesh),
             args->node_size, (unsigned)args->group.dims, args->group.step[0], args->group.tile[0],
             pod_dtype_name(args->dtype), args->count, args->root);
}

/* How many elements of one rank are not what they must be; `bound` may be NULL: exact. Elements
 * behind the buffer count as well. */
static int64_t count_wrong(const coll_data *d, pod_range range, int rank, const double *want,
                           const double *bound)
{
    int64_t n_wrong = 0;
    for (int64_t i = range.first; i < range.first + range.count; i++)
        n_wrong += !(fabs((double)d->buf[rank][i] - want[i]) <= (bound ? bound[i] : 0));
    n_wrong += memcmp(d->buf[rank] + d->count, d->initial[rank] + d->count,
                      COLL_GUARD * sizeof(float)) != 0;
    return n_wrong;
}

static bool adds(const pod_step *s)
{
    return s->kind == POD_STEP_RECV_REDUCE || s->kind == POD_STEP_REDUCE_FROM ||
           s->kind == POD_STEP_REDUCE_ALL;
}

static bool has_sums(const pod_sched *s)
{
    int32_t n;
    const pod_step *step = pod_sched_steps(s, &n);
    for (int32_t i = 0; i < n; i++)
        if (adds(&step[i])) return true;
    return false;
}

/* Nobody adds what comes from a rank that has sums itself: each sum is rounded where it ends. */
static bool rounds_once(const pod_sched *const *all, int n_ranks)
{
    for (int r = 0; r < n_ranks; r++) {
        int32_t n;
        const pod_step *step = pod_sched_steps(all[r], &n);
        for (int32_t i = 0; i < n; i++)
            if (step[i].kind == POD_STEP_RECV_REDUCE && has_sums(all[step[i].peer])) return false;
    }
    return true;
}

static bool overlaps(const pod_step *a, pod_span x, const pod_step *b, pod_span y)
{
    return x.buf == y.buf && a->count > 0 && b->count > 0 && x.first < y.first + b->count &&
           y.first < x.first + a->count;
}

/* A sum of bf16 that goes nowhere before more is added to it stays in float32, in POD_BUF_SUM: one
 * that is rounded at every addition is found here, within what any bound allows. */
static int count_needless(const pod_sched *s)
{
    int n = 0;
    int32_t n_steps;
    const pod_step *step = pod_sched_steps(s, &n_steps);
    for (int32_t j = 0; j < n_steps; j++) {
        const pod_step *to = &step[j];
        if (to->kind != POD_STEP_RECV_REDUCE || to->src.buf == POD_BUF_SUM) continue;
        for (int32_t i = j - 1; i >= 0; i--) {
            const pod_step *from = &step[i];
            if (from->kind == POD_STEP_SEND && overlaps(from, from->src, to, to->src)) break;
            if (from->kind != POD_STEP_RECV_REDUCE || !overlaps(from, from->dst, to, to->src))
                continue;
            n++;
            break;
        }
    }
    return n;
}

/* Where two ways of a ring, or dimensions, or a rank without a partner meet, one sum is added to
 * another that came rounded. Whatever is not named here must not. */
static bool may_meet(const pod_coll_algo *algo)
{
    static const char *const names[] = {"ring2",
                                        "bruck",
                                        "torus2d",
                                        "bucket",
                                        "hierarchical",
                                        "rabenseifner",
                                        "recursive_doubling",
                                        "recursive_halving",
                                        "swing",
                                        "swing_latency"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(algo->name, names[i]) == 0) return true;
    return false;
}

/* Turns the bound of a sum in float32, (p - 1) u S / (1 - (p - 1) u), into that of one in bf16. A
 * sum that is rounded once is off by that, and then by u_bf16 of itself. Else every addition of the
 * p - 1 may be rounded, first to float32. */
static void widen_bound(bool is_once, int size, int64_t count, const double *want, double *bound)
{
    const double u = pod_test_roundoff(POD_F32), u_bf16 = pod_test_roundoff(POD_BF16);
    const double single = (size - 1) * u, each = (size - 1) * (u_bf16 + u + u * u_bf16);
    for (int64_t i = 0; i < count; i++) {
        if (is_once)
            bound[i] += u_bf16 * (fabs(want[i]) + bound[i]);
        else if (size > 1)
            bound[i] *= (1 - single) / single * each / (1 - each);
    }
}

/* What stands in all buffers against what must; exact inputs leave no room for error. */
static void check_values(const coll_data *d, const pod_mesh *m, const pod_coll_args *args,
                         bool is_once, bool is_exact, const char *what)
{
    double *want = malloc((size_t)(d->count + 1) * sizeof *want);
    double *bound = malloc((size_t)(d->count + 1) * sizeof *bound);
    int size = pod_group_size(m, &args->group);
    for (int first = 0; first < d->n_ranks; first++) {
        if (pod_group_index(m, &args->group, first) != 0) continue;
        for (int k = 0; k < size; k++) {
            int rank = pod_group_member(m, &args->group, first, k);
            if (k == 0 || args->coll == POD_ALLTOALL || args->coll == POD_SENDRECV) {
                coll_want(d, m, args, rank, want, bound);
                if (args->dtype == POD_BF16) widen_bound(is_once, size, d->count, want, bound);
            }
            pod_range range = coll_result_range(m, args, rank);
            int64_t n = count_wrong(d, range, rank, want, is_exact ? NULL : bound);
            POD_CHECK(n == 0, "%s: rank %d has %" PRId64 " wrong", what, rank, n);
        }
    }
    free(want);
    free(bound);
}

/* Members of a group hold the same bits after an all-reduce. */
static void check_same_bits(const coll_data *d, const pod_mesh *m, const pod_coll_args *args,
                            const char *what)
{
    int n_differ = 0;
    for (int rank = 0; rank < d->n_ranks; rank++) {
        int first = pod_group_member(m, &args->group, rank, 0);
        n_differ += memcmp(d->buf[rank], d->buf[first], (size_t)d->count * sizeof(float)) != 0;
    }
    POD_CHECK(n_differ == 0, "%s: %d ranks differ from their first", what, n_differ);
}

/* Rounds to bf16 and runs on that, or runs on the float32 as they are. */
static pod_status run_local(const pod_sched *const *all, coll_data *d, pod_dtype t)
{
    if (t == POD_F32) return pod_sched_run_local(all, d->n_ranks, t, (void **)d->buf);
    const int64_t n = d->count + COLL_GUARD;
    pod_bf16 **buf = malloc((size_t)d->n_ranks * sizeof *buf);
    for (int r = 0; r < d->n_ranks; r++) {
        buf[r] = malloc((size_t)n * sizeof *buf[r]);
        for (int64_t i = 0; i < n; i++) {
            buf[r][i] = pod_bf16_from_f32(d->initial[r][i]);
            d->initial[r][i] = pod_bf16_to_f32(buf[r][i]);
        }
    }
    pod_status status = pod_sched_run_local(all, d->n_ranks, t, (void **)buf);
    for (int r = 0; r < d->n_ranks; r++) {
        for (int64_t i = 0; i < n; i++) d->buf[r][i] = pod_bf16_to_f32(buf[r][i]);
        free(buf[r]);
    }
    free(buf);
    return status;
}

static void run_case(const pod_mesh *m, const pod_coll_algo *algo, const pod_coll_args *args,
                     bool is_exact)
{
    char what[200];
    describe(what, m, algo, args);
    int n_ranks = pod_mesh_size(m);
    pod_arena *arena;
    POD_CHECK_OK(pod_arena_create(NULL, &arena));
    const pod_sched *const *all = NULL;
    pod_status status = pod_coll_build_all(arena, algo, m, args, &all);
    POD_CHECK(status == POD_OK, "%s: %s", what, pod_error_text());
    if (status == POD_OK && is_exact) {
        status = pod_sched_verify(all, n_ranks);
        POD_CHECK(status == POD_OK, "%s: %s", what, pod_error_text());
    }
    coll_data d = coll_data_make(n_ranks, args->count, is_exact);
    if (status == POD_OK) status = run_local(all, &d, args->dtype);
    POD_CHECK(status == POD_OK, "%s: %s", what, pod_error_text());
    bool is_once = true;
    const bool is_strict = args->dtype == POD_BF16 && !may_meet(algo);
    for (int r = 0; status == POD_OK && is_strict && r < n_ranks; r++) {
        const int n = count_needless(all[r]);
        POD_CHECK(n == 0, "%s: rank %d rounds %d sums that it adds to", what, r, n);
    }
    if (status == POD_OK && args->dtype == POD_BF16) is_once = rounds_once(all, n_ranks);
    check_values(&d, m, args, is_once, is_exact, what);
    if (args->coll == POD_ALLREDUCE) check_same_bits(&d, m, args, what);
    coll_data_free(&d);
    pod_arena_destroy(arena);
}

/* A root is the first, a middle and the last member. */
static void run_roots(const pod_mesh *m, const pod_coll_algo *algo, pod_coll_args args,
                      bool is_exact)
{
    const int size = pod_group_size(m, &args.group);
    run_case(m, algo, &args, is_exact);
    for (int k = 1; k < 3 && pod_coll_has_root(algo->coll) && size > k; k++) {
        args.root = k * (size - 1) / 2;
        run_case(m, algo, &args, is_exact);
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
        for (size_t k = 0; k < sizeof node_sizes / sizeof node_sizes[0]; k++) {
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

static pod_mesh mesh_of(const char *text)
{
    pod_mesh m = {0};
    POD_CHECK_OK(pod_mesh_parse(text, &m));
    return m;
}

static void test_meshes(void)
{
    for (size_t i = 0; i < sizeof meshes / sizeof meshes[0]; i += POD_TEST_EVERY) {
        const pod_mesh m = mesh_of(meshes[i]);
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
            const pod_mesh m = mesh_of(text);
            run_counts(&m, pod_group_all(&m), 4);
        }
    }
}

static const char *const some_meshes[] = {"2", "3", "7", "3x2", "4x4", "2x3x4", "16x4"};

static void test_rounded_sums(void)
{
    for (size_t i = 0; i < sizeof some_meshes / sizeof some_meshes[0]; i++) {
        const pod_mesh m = mesh_of(some_meshes[i]);
        run_algos(&m, pod_group_all(&m), 1009, POD_F32, false);
        run_algos(&m, pod_group_all(&m), 1009, POD_BF16, false);
    }
}

/* Whole numbers up to 8 of up to 32 ranks: no sum on the way exceeds 256, up to which bf16 holds
 * them all. */
static void test_exact_bf16(void)
{
    static const char *const at_most_32[] = {"1", "2", "3x2", "13", "4x4", "2x3x4", "8x4"};
    for (size_t i = 0; i < sizeof at_most_32 / sizeof at_most_32[0]; i++) {
        const pod_mesh m = mesh_of(at_most_32[i]);
        run_algos(&m, pod_group_all(&m), 3 * pod_mesh_size(&m) + 2, POD_BF16, true);
    }
}

/* Sums in the order of members: the same bits, whatever is rounded. */
static void test_bits_of_flat(void)
{
    static const char *const names[] = {"flat", "direct", "oneshot"};
    static const pod_dtype types[] = {POD_F32, POD_BF16};
    enum { COUNT = 1009 };
    const pod_mesh m = mesh_of("4x3");
    for (int k = 0; k < 2; k++) {
        coll_data d[3];
        pod_arena *arena;
        POD_CHECK_OK(pod_arena_create(NULL, &arena));
        for (int i = 0; i < 3; i++) {
            const pod_coll_args args = {.coll = POD_ALLREDUCE,
                                        .dtype = types[k],
                                        .count = COUNT,
                                        .group = pod_group_all(&m),
                                        .node_size = 12};
            const pod_sched *const *all;
            POD_CHECK_OK(
                pod_coll_build_all(arena, pod_coll_find(POD_ALLREDUCE, names[i]), &m, &args, &all));
            d[i] = coll_data_make(12, COUNT, false);
            POD_CHECK_OK(run_local(all, &d[i], types[k]));
            for (int r = 0; r < 12; r++)
                POD_CHECK(memcmp(d[i].buf[r], d[0].buf[0], COUNT * sizeof(float)) == 0,
                          "%s %s: rank %d has other bits than flat", names[i],
                          pod_dtype_name(types[k]), r);
        }
        for (int i = 0; i < 3; i++) coll_data_free(&d[i]);
        pod_arena_destroy(arena);
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
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pod_mesh m = {0};
        POD_CHECK_OK(pod_mesh_parse(cases[i].mesh, &m));
        run_counts(&m, cases[i].group, 8);
    }
}

static void test_large_count(void)
{
    pod_mesh m = {0};
    POD_CHECK_OK(pod_mesh_parse("3x2", &m));
    run_algos(&m, pod_group_all(&m), 200003, POD_F32, true);
}

static void test_2048_ranks(void)
{
    static const char *const names[] = {"torus2d", "hierarchical"};
    const pod_mesh m = mesh_of("32x64");
    const pod_coll_args args = {.coll = POD_ALLREDUCE,
                                .dtype = POD_F32,
                                .count = 4099,
                                .group = pod_group_all(&m),
                                .node_size = 16};
    for (int i = 0; i < 2; i++) run_case(&m, pod_coll_find(POD_ALLREDUCE, names[i]), &args, true);
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
    pod_mesh m = {0};
    POD_CHECK_OK(pod_mesh_parse("4x1", &m));
    pod_arena *arena;
    POD_CHECK_OK(pod_arena_create(NULL, &arena));
    const pod_sched *s = NULL;
    const pod_sched *const *all = NULL;
    pod_coll_args args = {.coll = POD_ALLREDUCE,
                          .dtype = POD_F32,
                          .count = 10,
                          .root = 0,
                          .group = pod_group_all(&m)};
    const pod_coll_algo *torus = pod_coll_find(POD_ALLREDUCE, "torus2d");
    POD_CHECK_FAILS(pod_coll_build(arena, torus, &m, 0, &args, &s), POD_E_INVALID,
                    "allreduce: torus2d refuses: the group is longer than 1 in fewer than two");
    POD_CHECK_FAILS(pod_coll_build_all(arena, torus, &m, &args, &all), POD_E_INVALID, "refuses");
    args.group.step[0] = 3;
    const pod_coll_algo *ring = pod_coll_find(POD_ALLREDUCE, "ring");
    POD_CHECK_FAILS(pod_coll_build(arena, ring, &m, 0, &args, &s), POD_E_INVALID, "step of 3");
    args = (pod_coll_args){.coll = POD_BROADCAST,
                           .dtype = POD_F32,
                           .count = 10,
                           .root = 4,
                           .group = pod_group_all(&m)};
    const pod_coll_algo *tree = pod_coll_find(POD_BROADCAST, "tree");
    POD_CHECK_FAILS(pod_coll_build(arena, tree, &m, 0, &args, &s), POD_E_INVALID,
                    "broadcast: root 4 in a group of 4");
    args = (pod_coll_args){.coll = POD_BROADCAST,
                           .dtype = POD_F32,
                           .count = -1,
                           .root = 0,
                           .group = pod_group_all(&m)};
    POD_CHECK_FAILS(pod_coll_build(arena, tree, &m, 0, &args, &s), POD_E_INVALID, "-1 elements");
    POD_CHECK(!s && !all, "something was left behind");
    pod_arena_destroy(arena);
}

/* With one dimension the torus is the ring both ways, step for step. */
static void test_torus_of_a_line(void)
{
    pod_mesh m = {0};
    POD_CHECK_OK(pod_mesh_parse("5", &m));
    pod_arena *arena;
    POD_CHECK_OK(pod_arena_create(NULL, &arena));
    const pod_coll_args args = {.coll = POD_ALLREDUCE,
                                .dtype = POD_F32,
                                .count = 11,
                                .root = 0,
                                .group = pod_group_all(&m)};
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

static CU_TestInfo algo_tests[] = {
    {"meshes", test_meshes},
    {"all to 8x8", test_all_to_8x8},
    {"groups", test_groups},
    {"rounded sums", test_rounded_sums},
    {"exact bf16", test_exact_bf16},
    {"bits of flat", test_bits_of_flat},
    {"large count", test_large_count},
    {"2048 ranks", test_2048_ranks},
    {"blocks", test_blocks},
    {"build refuses", test_build_refuses},
    {"torus of a line", test_torus_of_a_line},
    CU_TEST_INFO_NULL,
};

static CU_TestInfo local_tests[] = {
    {"refuses", test_local_refuses},
    {"scratch", test_local_scratch},
    CU_TEST_INFO_NULL,
};

CU_SuiteInfo pod_test_suites[] = {
    {"algo", NULL, NULL, NULL, NULL, algo_tests},
    {"local", NULL, NULL, NULL, NULL, local_tests},
    CU_SUITE_INFO_NULL,
};
