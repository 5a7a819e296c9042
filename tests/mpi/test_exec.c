/* Collectives between processes, over MPI, over shared memory, and over both where several nodes
 * are played on one: every algorithm gives the bits of the one-process executor. */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "collectives/exec/coll_run.h"
#include "kernels/base/arena.h"
#include "kernels/base/binned.h"
#include "kernels/base/rng.h"
#include "tests/unit/collectives/coll_cases.h"

#include "tests/mpi/ranks.h" /* last: it names `rank` and `size` */

/* A message in two parts, the second short; see over_mpi. */
enum { LONG_COUNT = (1 << 22) + 5, MAX_RANKS = 8 };

static bool has_windows; /* in the suite that runs */

static int open_mpi(void)
{
    has_windows = false;
    return open_comm();
}

static int open_shm(void)
{
    has_windows = true;
    return open_comm();
}

/* Nodes of two, the last of one where the ranks are odd. */
static int open_mixed(void)
{
    has_windows = true;
    if (open_comm()) return 1;
    pod_comm_split_nodes(comm, 2);
    return 0;
}

/* The meshes of this many ranks. */
static const char *const *meshes(void)
{
    static const char *const by_size[MAX_RANKS + 1][6] = {
        [1] = {"1", "1x1"},          [2] = {"2", "1x2"},        [3] = {"3", "1x3"},
        [4] = {"2x2", "4", "2x1x2"}, [6] = {"3x2", "6", "2x3"}, [8] = {"4x2", "8", "2x4", "2x2x2"},
    };
    return by_size[size];
}

/* A buffer on this rank and a run on it. */
typedef struct ranked_run {
    pod_window *window; /* NULL over MPI */
    char *buf;
    pod_coll_run *run; /* NULL: its creation failed */
} ranked_run;

/* The buffer lies somewhere in its window, on each rank somewhere else. */
static pod_status open_run(const pod_sched *s, pod_dtype t, size_t bytes, ranked_run *out)
{
    const size_t skip = (size_t)(rank + 1) * 64;
    *out = (ranked_run){NULL, NULL, NULL};
    if (!has_windows) {
        out->buf = malloc(bytes);
        return pod_coll_run_create_mpi(comm, s, t, out->buf, "a test", &out->run);
    }
    POD_TRY(pod_window_create(comm, skip + bytes, &out->window));
    out->buf = (char *)pod_window_data(out->window) + skip;
    return pod_coll_run_create_shm(comm, s, t, out->window, out->buf, "a test", &out->run);
}

static void close_run(ranked_run *r)
{
    pod_coll_run_destroy(r->run);
    if (!r->window) free(r->buf);
    pod_window_destroy(r->window);
}

/* One collective, ready to run on this rank, with what the one-process executor makes of it. */
typedef struct job {
    pod_dtype dtype;
    int64_t count; /* with the guard */
    size_t bytes;
    char *initial[MAX_RANKS], *want[MAX_RANKS];
    ranked_run on;
} job;

static void job_reset(job *j) { memcpy(j->on.buf, j->initial[rank], j->bytes); }

static void fill(uint64_t seed, const job *j, char *out)
{
    if (j->dtype == POD_F32 || j->dtype == POD_BF16) {
        pod_test_fill(seed, j->count, j->dtype, out);
        return;
    }
    if (j->dtype != POD_BINNED) {
        pod_test_fill_exact(seed, j->count, 8, j->dtype, out);
        return;
    }
    float *x = malloc((size_t)j->count * sizeof *x);
    pod_test_fill(seed, j->count, POD_F32, x);
    for (int64_t i = 0; i < j->count; i++) {
        const pod_binned sum = pod_binned_from_f32(x[i]);
        memcpy(out + (size_t)i * sizeof sum, &sum, sizeof sum);
    }
    free(x);
}

static bool job_open(job *j, const pod_sched *const all[], pod_dtype t, int64_t count)
{
    j->dtype = t;
    j->count = count + COLL_GUARD;
    j->bytes = (size_t)j->count * pod_dtype_bytes(t);
    for (int r = 0; r < size; r++) {
        j->initial[r] = malloc(j->bytes);
        j->want[r] = malloc(j->bytes);
        fill((uint64_t)r + 1, j, j->initial[r]);
        memcpy(j->want[r], j->initial[r], j->bytes);
    }
    POD_CHECK_OK(pod_sched_run_local(all, size, t, (void **)j->want));
    POD_CHECK_OK(open_run(all[rank], t, j->bytes, &j->on));
    if (j->on.run) job_reset(j);
    return j->on.run != NULL;
}

static bool job_open_algo(job *j, pod_arena *arena, const pod_mesh *m, const pod_coll_algo *algo,
                          const pod_coll_args *args)
{
    const pod_sched *const *all = NULL;
    POD_CHECK_OK(pod_coll_build_all(arena, algo, m, args, &all));
    return job_open(j, all, args->dtype, args->count);
}

static bool job_is_right(const job *j) { return memcmp(j->on.buf, j->want[rank], j->bytes) == 0; }

static void job_close(job *j)
{
    close_run(&j->on);
    for (int r = 0; r < size; r++) {
        free(j->initial[r]);
        free(j->want[r]);
    }
}

static int job_run(job *j) /* 1: it came out wrong */
{
    pod_coll_run_start(j->on.run);
    pod_coll_run_wait(j->on.run);
    return !job_is_right(j);
}

static pod_arena *open_arena(void)
{
    pod_arena *arena = NULL;
    POD_CHECK_OK(pod_arena_create(NULL, &arena));
    return arena;
}

static void run_case(const pod_mesh *m, const pod_coll_algo *algo, const pod_coll_args *args)
{
    pod_arena *arena = open_arena();
    job j;
    if (job_open_algo(&j, arena, m, algo, args)) {
        char mesh[POD_MESH_TEXT_BYTES];
        POD_CHECK(job_run(&j) == 0, "%s %s %s mesh %s dims %u count %" PRId64 ": other bits",
                  pod_coll_name(algo->coll), algo->name, pod_dtype_name(args->dtype),
                  pod_mesh_print(m, mesh, sizeof mesh), (unsigned)args->group.dims, args->count);
    }
    job_close(&j);
    pod_arena_destroy(arena);
}

static void run_algos_by(const pod_mesh *m, pod_group group, pod_redop op, pod_dtype t,
                         int64_t count)
{
    int n;
    const pod_coll_algo *algos = pod_coll_algos(&n);
    for (int i = 0; i < n; i++) {
        pod_coll_args args = {
            .coll = algos[i].coll, .dtype = t, .op = op, .root = 0, .group = group};
        args.count = coll_count(args.coll, count, pod_group_size(m, &group));
        args.node_size = has_windows ? pod_comm_node_size(comm) : 1;
        if (pod_coll_has_root(algos[i].coll)) args.root = pod_group_size(m, &group) - 1;
        if (!algos[i].why_not(m, &args)) run_case(m, &algos[i], &args);
    }
}

static void run_algos(const pod_mesh *m, pod_group group, pod_dtype t, int64_t count)
{
    run_algos_by(m, group, POD_SUM, t, count);
}

/* Every operation, and every type that differs in how it is combined. */
static void test_operations(void)
{
    static const struct {
        pod_redop op;
        pod_dtype t;
    } cases[] = {{POD_AVG, POD_F32}, {POD_AVG, POD_F16},  {POD_SUM, POD_F64}, {POD_PROD, POD_U8},
                 {POD_MAX, POD_I64}, {POD_MIN, POD_BF16}, {POD_AVG, POD_I32}, {POD_SUM, POD_U32}};
    pod_mesh m = {0};
    POD_CHECK_OK(pod_mesh_parse(meshes()[0], &m));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        run_algos_by(&m, pod_group_all(&m), cases[i].op, cases[i].t, 1009);
}

/* All counts on one mesh; the others differ in who speaks to whom. */
static void test_algos(void)
{
    const int64_t counts[] = {0, 1, size - 1, size + 1, 1009, 70001};
    for (const char *const *mesh = meshes(); *mesh; mesh++) {
        pod_mesh m = {0};
        POD_CHECK_OK(pod_mesh_parse(*mesh, &m));
        run_algos(&m, pod_group_all(&m), POD_BF16, 5003);
        if (mesh == meshes()) run_algos(&m, pod_group_all(&m), POD_BINNED, 507);
        for (int d = 0; d < m.n_dims; d++)
            run_algos(&m, (pod_group){.dims = 1u << d}, POD_F32, 1009);
        for (size_t c = 0; mesh == meshes() && c < sizeof counts / sizeof counts[0]; c++)
            run_algos(&m, pod_group_all(&m), POD_F32, counts[c]);
    }
}

static pod_coll_args line_args(const pod_mesh *m, int64_t count)
{
    return (pod_coll_args){
        .coll = POD_ALLREDUCE, .dtype = POD_F32, .count = count, .group = pod_group_all(m)};
}

static void test_long_messages(void)
{
    if (size > 3) return; /* more ranks show no more */
    pod_mesh m = {.n_dims = 1, .extent = {size}, .wraps = {true}};
    const pod_coll_args args = line_args(&m, LONG_COUNT);
    run_case(&m, pod_coll_find(POD_ALLREDUCE, "tree"), &args);
}

/* Starts all and polls them until all are done, in another order on every other rank. */
static void run_crosswise(job *jobs, int n_jobs)
{
    int n_done = 0;
    bool is_done[MAX_RANKS] = {false};
    for (int i = 0; i < n_jobs; i++) pod_coll_run_start(jobs[rank % 2 ? n_jobs - 1 - i : i].on.run);
    for (int i = rank; n_done < n_jobs; i += rank % 2 ? n_jobs - 1 : 1) {
        int k = i % n_jobs;
        if (!is_done[k] && pod_coll_run_poll(jobs[k].on.run)) {
            is_done[k] = true;
            n_done++;
        } else {
            sched_yield();
        }
    }
}

/* Waits for one after another while the rest advance. */
static void run_among(job *jobs, int n_jobs)
{
    pod_coll_run *runs[8];
    for (int k = 0; k < n_jobs; k++) {
        runs[k] = jobs[k].on.run;
        pod_coll_run_start(runs[k]);
    }
    for (int i = 0; i < n_jobs; i++)
        pod_coll_run_wait_among(runs[(i + rank) % n_jobs], runs, n_jobs);
}

/* Three at once, several times over: the ranks run apart, so a message of one round meets receives
 * of the round before. */
static void test_in_flight(void)
{
    enum { N_JOBS = 3, N_ROUNDS = 40 };
    static const char *const names[N_JOBS] = {"ring", "tree", "flat"};
    static const int64_t counts[N_JOBS] = {5003, 101, 997};
    pod_mesh m = {.n_dims = 1, .extent = {size}, .wraps = {true}};
    pod_arena *arena = open_arena();
    job jobs[N_JOBS];
    bool is_open = true;
    for (int k = 0; k < N_JOBS; k++) {
        const pod_coll_args args = line_args(&m, counts[k]);
        const pod_coll_algo *algo = pod_coll_find(POD_ALLREDUCE, names[k]);
        is_open = job_open_algo(&jobs[k], arena, &m, algo, &args) && is_open;
    }
    long n_allocated = pod_alloc_count();
    int n_wrong = 0;
    for (int round = 0; is_open && round < N_ROUNDS; round++) {
        for (int k = 0; k < N_JOBS; k++) job_reset(&jobs[k]);
        (round % 2 ? run_among : run_crosswise)(jobs, N_JOBS);
        for (int k = 0; k < N_JOBS; k++) n_wrong += !job_is_right(&jobs[k]);
    }
    POD_CHECK(n_wrong == 0, "%d wrong of %d", n_wrong, N_JOBS * N_ROUNDS);
    POD_CHECK(pod_alloc_count() == n_allocated, "%ld allocations", pod_alloc_count() - n_allocated);
    for (int k = 0; k < N_JOBS; k++) job_close(&jobs[k]);
    pod_arena_destroy(arena);
}

/* Busy, away, or neither, by chance: at most some 100 us. */
static void dawdle(int round)
{
    pod_rng rng = pod_rng_at((uint64_t)rank, (pod_place){POD_STREAM_TEST, .step = (uint32_t)round});
    const uint64_t chance = pod_rng_u64(&rng);
    const struct timespec away = {.tv_nsec = (long)(chance >> 8 & 0xffff)};
    volatile uint64_t busy = chance >> 8 & 0xffff;
    if (chance % 16 == 0) nanosleep(&away, NULL);
    while (chance % 16 == 1 && busy > 0) busy--;
}

static void negate(job *j) /* but for zeros: x - x is +0 either way */
{
    for (int64_t i = 0; i < j->count; i++) {
        double x = pod_test_get(j->dtype, j->on.buf, i);
        if (x < 0 || x > 0) pod_test_put(j->dtype, j->on.buf, i, -x);
    }
}

/* Back to back, with ranks that come late by chance, so that every way to wait is gone. In every
 * other round all signs are turned: what is left of the round before is wrong. Eight ranks show
 * what four do, and take eight times as long where two cores run them in turns. */
static void run_many(const char *name, job *j)
{
    const int n_rounds = size > 4 ? 200 : 1000;
    int n_wrong = 0;
    for (int round = 0; round < n_rounds; round++) {
        job_reset(j);
        if (round % 2) negate(j);
        dawdle(round);
        pod_coll_run_start(j->on.run);
        pod_coll_run_wait(j->on.run);
        if (round % 2) negate(j);
        n_wrong += !job_is_right(j);
    }
    POD_CHECK(n_wrong == 0, "%s: %d wrong of %d", name, n_wrong, n_rounds);
}

static void test_many(void)
{
    static const char *const names[] = {"ring", "tree"};
    pod_mesh m = {.n_dims = 1, .extent = {size}, .wraps = {true}};
    pod_arena *arena = open_arena();
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        job j;
        const pod_coll_args args = line_args(&m, 203);
        if (job_open_algo(&j, arena, &m, pod_coll_find(POD_ALLREDUCE, names[k]), &args))
            run_many(names[k], &j);
        job_close(&j);
    }
    pod_arena_destroy(arena);
}

/* Schedules of ranks that share memory, rank by rank. */
typedef void (*build_shared)(pod_sched *s, int index, int n_shared, int64_t count);

/* Each rank sums a block of all and stores it to all. */
static void build_all(pod_sched *s, int index, int n_shared, int64_t count)
{
    const pod_range own = pod_block(count, n_shared, index);
    int32_t met = pod_sched_sync(s, 0, POD_NO_STEP);
    pod_sched_sync(s, 1,
                   pod_sched_reduce_all(s, (pod_span){POD_BUF_MAIN, own.first}, own.count, met));
}

/* Each rank hands out its scratch and sums all for itself. No SYNC stands at the end: the others
 * may read it while the next run begins. */
static void build_from(pod_sched *s, int index, int n_shared, int64_t count)
{
    (void)index, (void)n_shared;
    const pod_span own = {POD_BUF_MAIN, 0}, shown = {POD_BUF_SCRATCH, 5};
    int32_t met = pod_sched_sync(s, 7, pod_sched_copy(s, own, shown, count, POD_NO_STEP));
    pod_sched_reduce_from(s, shown, own, count, met);
}

/* All ranks of a node share; those of other nodes do the same apart. */
static const pod_sched *const *build_nodes(pod_arena *arena, build_shared build, int64_t count)
{
    const pod_sched **all = POD_ARENA_NEW(arena, const pod_sched *, size);
    const int node_size = pod_comm_node_size(comm);
    for (int r = 0; r < size; r++) {
        int shared[MAX_RANKS];
        for (int k = 0; k < node_size; k++) shared[k] = r - r % node_size + (k + 1) % node_size;
        pod_sched *s = NULL;
        POD_CHECK_OK(pod_sched_create(arena, count, &s));
        pod_sched_share(s, shared, node_size);
        build(s, (r + node_size - 1) % node_size, node_size, count);
        all[r] = s;
    }
    POD_CHECK_OK(pod_sched_verify(all, size));
    return all;
}

static void test_shared(void)
{
    static const build_shared builds[] = {build_all, build_from};
    static const char *const names[] = {"reduce_all", "reduce_from"};
    static const int64_t counts[] = {0, 1, 7, 1009};
    static const pod_dtype types[] = {POD_F32, POD_BF16};
    if (!has_windows) return;
    pod_arena *arena = open_arena();
    for (int i = 0; i < 2 * 4 * 2; i++) {
        const pod_dtype t = types[i % 2];
        const int64_t count = counts[i / 2 % 4];
        const int b = i / 8;
        job j;
        if (job_open(&j, build_nodes(arena, builds[b], count), t, count))
            POD_CHECK(job_run(&j) == 0, "%s %s count %" PRId64 ": other bits", names[b],
                      pod_dtype_name(t), count);
        if (j.on.run && count == 1009) run_many(names[b], &j);
        job_close(&j);
    }
    pod_arena_destroy(arena);
}

/* Scratch, copies and a sum that is made elsewhere: rank 0 adds what rank 1 sends out of scratch to
 * its own and keeps it in scratch, then copies it over. */
static void test_scratch(void)
{
    if (size < 2) return;
    pod_arena *arena = open_arena();
    pod_sched *s = NULL;
    POD_CHECK_OK(pod_sched_create(arena, 2, &s));
    const pod_span whole = {POD_BUF_MAIN, 0};
    const pod_span kept = {POD_BUF_SCRATCH, 3};
    if (rank == 0) {
        int32_t sum =
            pod_sched_add(s, (pod_step){POD_STEP_RECV_REDUCE, 1, 0, {-1, -1}, whole, kept, 2});
        pod_sched_copy(s, kept, whole, 2, sum);
    } else if (rank == 1) {
        pod_sched_send(s, 0, 0, kept, 2, pod_sched_copy(s, whole, kept, 2, POD_NO_STEP));
    }
    ranked_run r;
    POD_CHECK_OK(open_run(s, POD_F32, 2 * sizeof(float), &r));
    float data[2] = {(float)(rank + 1), (float)(rank + 10)};
    if (r.run) {
        memcpy(r.buf, data, sizeof data);
        for (int i = 0; i < 3; i++) { /* adds rank 1's each time */
            pod_coll_run_start(r.run);
            pod_coll_run_wait(r.run);
        }
        memcpy(data, r.buf, sizeof data);
    }
    float add = rank == 0 ? 3 : 0;
    POD_CHECK(data[0] == (float)(rank + 1) + 2 * add && data[1] == (float)(rank + 10) + 11 * add,
              "%g %g", (double)data[0], (double)data[1]);
    close_run(&r);
    pod_arena_destroy(arena);
}

static void check_refused(const pod_sched *s, pod_dtype t, pod_status want, const char *part)
{
    ranked_run r;
    POD_CHECK_FAILS(open_run(s, t, 10 * sizeof(float), &r), want, part);
    POD_CHECK(!r.run, "a run was left behind");
    close_run(&r);
}

/* The same refusal on all ranks, whoever has the reason. */
static void test_refuses(void)
{
    pod_mesh m = {.n_dims = 1, .extent = {size + 1}, .wraps = {true}};
    pod_arena *arena = open_arena();
    const pod_coll_args args = line_args(&m, 10);
    const pod_sched *s = NULL;
    POD_CHECK_OK(pod_coll_build(arena, pod_coll_find(POD_ALLREDUCE, "flat"), &m, rank, &args, &s));
    char want[64];
    snprintf(want, sizeof want, "names rank %d of %d", size, size);
    check_refused(s, POD_F32, POD_E_INVALID, want);
    pod_sched *empty = NULL;
    POD_CHECK_OK(pod_sched_create(arena, 10, &empty));
    pod_sched_set_op(empty, POD_MAX);
    check_refused(empty, rank == size - 1 ? POD_BINNED : POD_F32, POD_E_UNSUPPORTED,
                  "exact elements have sums alone");
    pod_arena_destroy(arena);
}

/* Schedules that share memory, where there is none, or not as the others do. */
static void test_refuses_shared(void)
{
    pod_arena *arena = open_arena();
    pod_sched *s = NULL;
    POD_CHECK_OK(pod_sched_create(arena, 10, &s));
    pod_sched_sync(s, 0, POD_NO_STEP);
    if (!has_windows)
        check_refused(s, POD_F32, POD_E_UNSUPPORTED, "step 0 is a sync, which needs shared memory");
    else
        check_refused(s, POD_F32, POD_E_INVALID, "this rank is not of those that share");
    for (int k = 0; has_windows && k < 2; k++) {
        POD_CHECK_OK(pod_sched_create(arena, 10, &s));
        int all[MAX_RANKS];
        for (int r = 0; r < size; r++) all[r] = r;
        pod_sched_share(s, all, size);
        pod_sched_sync(s, k == 0 ? 0 : rank, POD_NO_STEP);
        if (pod_comm_node_size(comm) < size)
            check_refused(s, POD_F32, POD_E_UNSUPPORTED, "of another node");
        else if (k == 1 && size > 1)
            check_refused(s, POD_F32, POD_E_INVALID, "names other ranks or syncs");
    }
    pod_arena_destroy(arena);
}

/* Rank 0 sends what rank 1 does not receive, then as much again as it does. */
static void test_refuses_unmatched(void)
{
    if (!has_windows || size < 2) return;
    for (int count = 0; count < 2; count++) {
        pod_arena *arena = open_arena();
        pod_sched *s = NULL;
        POD_CHECK_OK(pod_sched_create(arena, 10, &s));
        const pod_span whole = {POD_BUF_MAIN, 0};
        if (rank == 0) pod_sched_send(s, 1, 4, whole, 2, POD_NO_STEP);
        if (rank == 1) pod_sched_recv(s, 0, 4, whole, count, POD_NO_STEP);
        char want[64];
        snprintf(want, sizeof want, "2 elements under tag 4, which receives %d", count);
        check_refused(s, POD_F32, POD_E_INVALID, want);
        pod_arena_destroy(arena);
    }
}

/* A buffer that is not all in its window. */
static void test_refuses_buffer(void)
{
    if (!has_windows) return;
    pod_arena *arena = open_arena();
    pod_sched *s = NULL;
    POD_CHECK_OK(pod_sched_create(arena, 10, &s));
    pod_window *w = NULL;
    POD_CHECK_OK(pod_window_create(comm, 44, &w));
    float *data = pod_window_data(w);
    pod_coll_run *run = NULL;
    POD_CHECK_FAILS(pod_coll_run_create_shm(comm, s, POD_F32, w, data + 2, "a test", &run),
                    POD_E_INVALID, "its 40 bytes do not lie in the window of 44");
    POD_CHECK_OK(pod_coll_run_create_shm(comm, s, POD_F32, w, data + 1, "a test", &run));
    pod_coll_run_destroy(run);
    pod_window_destroy(w);
    pod_arena_destroy(arena);
}

static CU_TestInfo tests[] = {
    {"algorithms", test_algos},
    {"operations", test_operations},
    {"long messages", test_long_messages},
    {"in flight", test_in_flight},
    {"many", test_many},
    {"shared", test_shared},
    {"scratch", test_scratch},
    {"refuses", test_refuses},
    {"refuses shared steps", test_refuses_shared},
    {"refuses unmatched messages", test_refuses_unmatched},
    {"refuses a buffer", test_refuses_buffer},
    CU_TEST_INFO_NULL,
};

CU_SuiteInfo pod_test_suites[] = {
    {"exec over mpi", open_mpi, close_comm, NULL, NULL, tests},
    {"exec over shm", open_shm, close_comm, NULL, NULL, tests},
    {"exec over both", open_mixed, close_comm, NULL, NULL, tests},
    CU_SUITE_INFO_NULL,
};
