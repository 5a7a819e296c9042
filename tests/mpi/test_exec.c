/* Collectives between processes, over MPI, over shared memory, and over both where several nodes
 * are played on one: every algorithm gives the bits of the one-process executor. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "collectives/exec/coll_run.h"
#include "kernels/base/arena.h"
#include "kernels/base/rng.h"
#include "tests/unit/collectives/coll_cases.h"

#include "tests/mpi/ranks.h" /* last: it names `rank` and `size` */

/* A message in two parts, the second short; see over_mpi. */
enum { LONG_COUNT = (1 << 22) + 5 };

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
    static const char *const by_size[9][6] = {
        [1] = {"1", "1x1"},          [2] = {"2", "1x2"},        [3] = {"3", "1x3"},
        [4] = {"4", "2x2", "2x1x2"}, [6] = {"6", "3x2", "2x3"}, [8] = {"8", "4x2", "2x4", "2x2x2"},
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
    pod_arena *arena;
    coll_data data; /* data.buf is the local result of all ranks */
    ranked_run on;
} job;

static size_t job_bytes(const job *j)
{
    return (size_t)(j->data.count + COLL_GUARD) * sizeof(float);
}

static void job_reset(job *j) { memcpy(j->on.buf, j->data.initial[rank], job_bytes(j)); }

static bool job_open(job *j, const pod_mesh *m, const pod_coll_algo *algo,
                     const pod_coll_args *args)
{
    POD_CHECK_OK(pod_arena_create(NULL, &j->arena));
    const pod_sched *const *all = NULL;
    POD_CHECK_OK(pod_coll_build_all(j->arena, algo, m, args, &all));
    j->data = coll_data_make(size, args->count, false);
    POD_CHECK_OK(pod_sched_run_local(all, size, POD_F32, (void **)j->data.buf));
    POD_CHECK_OK(open_run(all[rank], POD_F32, job_bytes(j), &j->on));
    if (j->on.run) job_reset(j);
    return j->on.run != NULL;
}

static bool job_is_right(const job *j)
{
    return memcmp(j->on.buf, j->data.buf[rank], job_bytes(j)) == 0;
}

static void job_close(job *j)
{
    close_run(&j->on);
    coll_data_free(&j->data);
    pod_arena_destroy(j->arena);
}

static void run_case(const pod_mesh *m, const pod_coll_algo *algo, const pod_coll_args *args)
{
    job j;
    if (job_open(&j, m, algo, args)) {
        pod_coll_run_start(j.on.run);
        pod_coll_run_wait(j.on.run);
        char mesh[POD_MESH_TEXT_BYTES];
        POD_CHECK(job_is_right(&j), "%s %s mesh %s dims %u count %" PRId64 ": other bits",
                  pod_coll_name(algo->coll), algo->name, pod_mesh_print(m, mesh, sizeof mesh),
                  (unsigned)args->group.dims, args->count);
    }
    job_close(&j);
}

static void run_algos(const pod_mesh *m, pod_group group, int64_t count)
{
    int n;
    const pod_coll_algo *algos = pod_coll_algos(&n);
    for (int i = 0; i < n; i++) {
        pod_coll_args args = {.coll = algos[i].coll, .dtype = POD_F32, .root = 0, .group = group};
        args.count = coll_count(args.coll, count, pod_group_size(m, &group));
        args.node_size = has_windows ? pod_comm_node_size(comm) : 1;
        if (algos[i].coll == POD_BROADCAST) args.root = pod_group_size(m, &group) - 1;
        if (!algos[i].why_not(m, &args)) run_case(m, &algos[i], &args);
    }
}

static void test_algos(void)
{
    const int64_t counts[] = {0, 1, size - 1, size + 1, 1009, 70001};
    for (const char *const *mesh = meshes(); *mesh; mesh++) {
        pod_mesh m = {0};
        POD_CHECK_OK(pod_mesh_parse(*mesh, &m));
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
            run_algos(&m, pod_group_all(&m), counts[c]);
        for (int d = 0; d < m.n_dims; d++) run_algos(&m, (pod_group){.dims = 1u << d}, 1009);
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
    pod_mesh m = {1, {size}, {true}, {false}};
    const pod_coll_args args = line_args(&m, LONG_COUNT);
    run_case(&m, pod_coll_find(POD_ALLREDUCE, "tree"), &args);
}

/* Starts all and polls them until all are done, in another order on every other rank. */
static void run_crosswise(job *jobs, int n_jobs)
{
    int n_done = 0;
    bool is_done[8] = {false};
    for (int i = 0; i < n_jobs; i++) pod_coll_run_start(jobs[rank % 2 ? n_jobs - 1 - i : i].on.run);
    for (int i = rank; n_done < n_jobs; i += rank % 2 ? n_jobs - 1 : 1) {
        int k = i % n_jobs;
        if (is_done[k] || !pod_coll_run_poll(jobs[k].on.run)) continue;
        is_done[k] = true;
        n_done++;
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
    pod_mesh m = {1, {size}, {true}, {false}};
    job jobs[N_JOBS];
    bool is_open = true;
    for (int k = 0; k < N_JOBS; k++) {
        const pod_coll_args args = line_args(&m, counts[k]);
        is_open = job_open(&jobs[k], &m, pod_coll_find(POD_ALLREDUCE, names[k]), &args) && is_open;
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

/* Back to back, with ranks that come late by chance, so that every way to wait is gone. */
static void test_many(void)
{
    enum { N_ROUNDS = 1000 };
    static const char *const names[] = {"ring", "tree"};
    pod_mesh m = {1, {size}, {true}, {false}};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        job j;
        const pod_coll_args args = line_args(&m, 203);
        int n_wrong = 0;
        if (job_open(&j, &m, pod_coll_find(POD_ALLREDUCE, names[k]), &args)) {
            for (int round = 0; round < N_ROUNDS; round++) {
                job_reset(&j);
                dawdle(round);
                pod_coll_run_start(j.on.run);
                pod_coll_run_wait(j.on.run);
                n_wrong += !job_is_right(&j);
            }
        }
        POD_CHECK(n_wrong == 0, "%s: %d wrong of %d", names[k], n_wrong, N_ROUNDS);
        job_close(&j);
    }
}

/* Scratch, copies and a sum that is made elsewhere: rank 0 adds what rank 1 sends out of scratch to
 * its own and keeps it in scratch, then copies it over. */
static void test_scratch(void)
{
    if (size < 2) return;
    pod_arena *arena;
    POD_CHECK_OK(pod_arena_create(NULL, &arena));
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
    pod_mesh m = {1, {size + 1}, {true}, {false}};
    pod_arena *arena;
    POD_CHECK_OK(pod_arena_create(NULL, &arena));
    const pod_coll_args args = line_args(&m, 10);
    const pod_sched *s = NULL;
    POD_CHECK_OK(pod_coll_build(arena, pod_coll_find(POD_ALLREDUCE, "flat"), &m, rank, &args, &s));
    char want[64];
    snprintf(want, sizeof want, "names rank %d of %d", size, size);
    check_refused(s, POD_F32, POD_E_INVALID, want);
    pod_sched *empty = NULL;
    POD_CHECK_OK(pod_sched_create(arena, 10, &empty));
    check_refused(empty, rank == size - 1 ? POD_I32 : POD_F32, POD_E_UNSUPPORTED,
                  "elements are i32, the executor takes f32 and bf16");
    pod_arena_destroy(arena);
}

static CU_TestInfo tests[] = {
    {"algorithms", test_algos},
    {"long messages", test_long_messages},
    {"in flight", test_in_flight},
    {"many", test_many},
    {"scratch", test_scratch},
    {"refuses", test_refuses},
    CU_TEST_INFO_NULL,
};

CU_SuiteInfo pod_test_suites[] = {
    {"exec over mpi", open_mpi, close_comm, NULL, NULL, tests},
    {"exec over shm", open_shm, close_comm, NULL, NULL, tests},
    {"exec over both", open_mixed, close_comm, NULL, NULL, tests},
    CU_SUITE_INFO_NULL,
};
