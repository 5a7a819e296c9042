/* Collectives over MPI: every algorithm gives the bits of the one-process executor. */
#include <inttypes.h>
#include <stdio.h>

#include "collectives/exec/coll_run.h"
#include "collectives/exec/comm.h"
#include "kernels/base/arena.h"
#include "tests/unit/collectives/coll_cases.h"

#include "tests/mpi/ranks.h" /* last: it names `rank` and `size` */

/* A message in two parts, the second short; see exec_mpi. */
enum { LONG_COUNT = (1 << 22) + 5 };

/* The meshes of this many ranks. */
static const char *const *meshes(void)
{
    static const char *const by_size[9][6] = {
        [1] = {"1", "1x1"},
        [2] = {"2", "1x2"},
        [3] = {"3", "1x3"},
        [4] = {"4", "2x2", "2x1x2"},
        [8] = {"8", "4x2", "2x4", "2x2x2"},
    };
    return by_size[size];
}

/* One collective, ready to run on this rank, with what the one-process executor makes of it. */
typedef struct job {
    pod_arena *arena;
    coll_data data; /* data.buf is the local result of all ranks */
    float *buf;     /* this rank's buffer under MPI */
    pod_coll_run *run;
} job;

static size_t job_bytes(const job *j)
{
    return (size_t)(j->data.count + COLL_GUARD) * sizeof(float);
}

static void job_reset(job *j) { memcpy(j->buf, j->data.initial[rank], job_bytes(j)); }

static bool job_open(job *j, const pod_mesh *m, const pod_coll_algo *algo,
                     const pod_coll_args *args)
{
    POD_CHECK_OK(pod_arena_create(NULL, &j->arena));
    const pod_sched *const *all = NULL;
    POD_CHECK_OK(pod_coll_build_all(j->arena, algo, m, args, &all));
    j->data = coll_data_make(size, args->count, false);
    POD_CHECK_OK(pod_sched_run_local(all, size, POD_F32, (void **)j->data.buf));
    j->buf = malloc(job_bytes(j));
    job_reset(j);
    j->run = NULL;
    POD_CHECK_OK(pod_coll_run_create_mpi(comm, all[rank], POD_F32, j->buf, &j->run));
    return j->run != NULL;
}

static bool job_is_right(const job *j)
{
    return memcmp(j->buf, j->data.buf[rank], job_bytes(j)) == 0;
}

static void job_close(job *j)
{
    pod_coll_run_destroy(j->run);
    free(j->buf);
    coll_data_free(&j->data);
    pod_arena_destroy(j->arena);
}

static void run_case(const pod_mesh *m, const pod_coll_algo *algo, const pod_coll_args *args)
{
    job j;
    if (job_open(&j, m, algo, args)) {
        pod_coll_run_start(j.run);
        pod_coll_run_wait(j.run);
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
        if (algos[i].coll == POD_BROADCAST) args.root = pod_group_size(m, &group) - 1;
        if (!algos[i].why_not(m, &args)) run_case(m, &algos[i], &args);
    }
}

static void test_algos(void)
{
    const int64_t counts[] = {0, 1, 2, size - 1, size, size + 1, 1009, 70001};
    for (const char *const *mesh = meshes(); *mesh; mesh++) {
        pod_mesh m = {0};
        POD_CHECK_OK(pod_mesh_parse(*mesh, &m));
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
            run_algos(&m, pod_group_all(&m), counts[c]);
        for (int d = 0; d < m.n_dims; d++) run_algos(&m, (pod_group){.dims = 1u << d}, 1009);
    }
}

static void test_long_messages(void)
{
    if (size > 3) return; /* more ranks show no more */
    pod_mesh m = {1, {size}, {true}, {false}};
    const pod_coll_args args = {.coll = POD_ALLREDUCE,
                                .dtype = POD_F32,
                                .count = LONG_COUNT,
                                .root = 0,
                                .group = pod_group_all(&m)};
    run_case(&m, pod_coll_find(POD_ALLREDUCE, "tree"), &args);
}

/* Three at once, started and polled in another order on every other rank, several times over: the
 * ranks run apart, so a message of one round meets receives of the round before. */
static void test_in_flight(void)
{
    enum { N_JOBS = 3, N_ROUNDS = 20 };
    static const char *const names[N_JOBS] = {"ring", "tree", "flat"};
    static const int64_t counts[N_JOBS] = {5003, 101, 997};
    pod_mesh m = {1, {size}, {true}, {false}};
    job jobs[N_JOBS];
    bool is_open = true;
    for (int k = 0; k < N_JOBS; k++) {
        const pod_coll_args args = {.coll = POD_ALLREDUCE,
                                    .dtype = POD_F32,
                                    .count = counts[k],
                                    .root = 0,
                                    .group = pod_group_all(&m)};
        is_open = job_open(&jobs[k], &m, pod_coll_find(POD_ALLREDUCE, names[k]), &args) && is_open;
    }
    long n_allocated = pod_alloc_count();
    int n_wrong = 0;
    for (int round = 0; is_open && round < N_ROUNDS; round++) {
        bool is_done[N_JOBS] = {false};
        int n_done = 0;
        for (int i = 0; i < N_JOBS; i++) {
            int k = rank % 2 ? N_JOBS - 1 - i : i;
            job_reset(&jobs[k]);
            pod_coll_run_start(jobs[k].run);
        }
        for (int i = rank; n_done < N_JOBS; i += rank % 2 ? N_JOBS - 1 : 1) {
            int k = i % N_JOBS;
            if (is_done[k] || !pod_coll_run_poll(jobs[k].run)) continue;
            is_done[k] = true;
            n_done++;
        }
        for (int k = 0; k < N_JOBS; k++) n_wrong += !job_is_right(&jobs[k]);
    }
    POD_CHECK(n_wrong == 0, "%d wrong of %d", n_wrong, N_JOBS * N_ROUNDS);
    POD_CHECK(pod_alloc_count() == n_allocated, "%ld allocations", pod_alloc_count() - n_allocated);
    for (int k = 0; k < N_JOBS; k++) job_close(&jobs[k]);
}

/* Scratch, copies and a sum that is made elsewhere, which no algorithm uses yet: rank 0 adds what
 * rank 1 sends to its own and keeps it in scratch, then copies it over. */
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
        pod_sched_add(s, (pod_step){POD_STEP_COPY, 0, 0, {sum, -1}, kept, whole, 2});
    } else if (rank == 1) {
        pod_sched_send(s, 0, 0, whole, 2, POD_NO_STEP);
    }
    float data[2] = {(float)(rank + 1), (float)(rank + 10)};
    pod_coll_run *run = NULL;
    POD_CHECK_OK(pod_coll_run_create_mpi(comm, s, POD_F32, data, &run));
    if (run) {
        pod_coll_run_start(run);
        pod_coll_run_wait(run);
    }
    float add = rank == 0 ? 2 : 0;
    POD_CHECK(data[0] == (float)(rank + 1) + add && data[1] == (float)(rank + 10) + add * 5.5F,
              "%g %g", (double)data[0], (double)data[1]);
    pod_coll_run_destroy(run);
    pod_arena_destroy(arena);
}

/* The same refusal on all ranks, whoever has the reason. */
static void test_refuses(void)
{
    pod_mesh m = {1, {size + 1}, {true}, {false}};
    pod_arena *arena;
    POD_CHECK_OK(pod_arena_create(NULL, &arena));
    const pod_coll_args args = {.coll = POD_ALLREDUCE,
                                .dtype = POD_F32,
                                .count = 10,
                                .root = 0,
                                .group = pod_group_all(&m)};
    const pod_sched *s = NULL;
    POD_CHECK_OK(pod_coll_build(arena, pod_coll_find(POD_ALLREDUCE, "flat"), &m, rank, &args, &s));
    float data[10] = {0};
    pod_coll_run *run = NULL;
    char want[64];
    snprintf(want, sizeof want, "names rank %d of %d", size, size);
    POD_CHECK_FAILS(pod_coll_run_create_mpi(comm, s, POD_F32, data, &run), POD_E_INVALID, want);
    pod_sched *empty = NULL;
    POD_CHECK_OK(pod_sched_create(arena, 10, &empty));
    pod_dtype t = rank == size - 1 ? POD_BF16 : POD_F32;
    POD_CHECK_FAILS(pod_coll_run_create_mpi(comm, empty, t, data, &run), POD_E_UNSUPPORTED,
                    "elements are bf16, the executor takes f32");
    POD_CHECK(!run, "a run was left behind");
    pod_arena_destroy(arena);
}

static CU_TestInfo tests[] = {
    {"algorithms", test_algos},    {"long messages", test_long_messages},
    {"in flight", test_in_flight}, {"scratch", test_scratch},
    {"refuses", test_refuses},     CU_TEST_INFO_NULL,
};

CU_SuiteInfo pod_test_suites[] = {
    {"exec_mpi", open_comm, close_comm, NULL, NULL, tests},
    CU_SUITE_INFO_NULL,
};
