#define _GNU_SOURCE /* sched_setaffinity */
/* The ranks of a job: agreement on failures, equality, totals. */
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "collectives/exec/comm.h"
#include "collectives/exec/mpi/comm_mpi.h"
#include "collectives/exec/shm/window.h"
#include "kernels/base/cpu.h"
#include "tests/harness/harness.h"
#include "tests/mpi/ranks.h"

static void test_open(void)
{
    POD_CHECK(rank == pod_test_rank() && size == pod_test_size(), "rank %d of %d", rank, size);
    POD_CHECK(strlen(pod_comm_version(comm)) > 3 && !strchr(pod_comm_version(comm), ','),
              "version '%s'", pod_comm_version(comm));
    pod_comm_close(NULL);
}

/* One rank of its own, beside the job, on every rank or only on some. */
static void test_open_alone(void)
{
    pod_comm *alone = NULL;
    if (rank % 2 == 0) {
        POD_CHECK_OK(pod_comm_open_alone(&alone));
        POD_CHECK(alone && pod_comm_size(alone) == 1 && pod_comm_rank(alone) == 0, "not alone");
        if (alone) POD_CHECK_OK(pod_comm_agree(alone, POD_OK));
        pod_comm_close(alone);
    }
    POD_CHECK_OK(pod_comm_agree(comm, POD_OK));
}

static void test_agree_ok(void)
{
    pod_error_set("from before");
    POD_CHECK_OK(pod_comm_agree(comm, POD_OK));
    POD_CHECK(strcmp(pod_error_text(), "from before") == 0, "record: '%s'", pod_error_text());
}

/* The last rank alone fails. */
static void test_agree_one(void)
{
    pod_error_set("");
    pod_status mine = rank == size - 1 ? pod_fail(POD_E_IO, "disk %d is full", rank) : POD_OK;
    pod_status got = pod_comm_agree(comm, mine);
    char want[64];
    snprintf(want, sizeof want, size > 1 ? "rank %d: disk %d is full" : "disk %d is full", size - 1,
             size - 1);
    POD_CHECK(got == POD_E_IO && strcmp(pod_error_text(), want) == 0, "%s '%s'",
              pod_status_name(got), pod_error_text());
}

/* Rank 0 fails in one way, the others in a worse one: of these the lowest speaks. */
static void test_agree_worst(void)
{
    pod_status mine =
        rank == 0 ? pod_fail(POD_E_INVALID, "mild") : pod_fail(POD_E_MISMATCH, "bad on %d", rank);
    pod_status got = pod_comm_agree(comm, mine);
    const char *want = size > 1 ? "rank 1: bad on 1" : "mild";
    POD_CHECK(got == (size > 1 ? POD_E_MISMATCH : POD_E_INVALID) &&
                  strcmp(pod_error_text(), want) == 0,
              "%s '%s'", pod_status_name(got), pod_error_text());
}

static void test_agree_alike(void)
{
    pod_status got = pod_comm_agree(comm, pod_fail(POD_E_FORMAT, "line 3 is odd"));
    POD_CHECK(got == POD_E_FORMAT && strcmp(pod_error_text(), "line 3 is odd") == 0, "%s '%s'",
              pod_status_name(got), pod_error_text());
}

/* The same kind of trouble on all ranks, in different places: the lowest rank speaks, by name. */
static void test_agree_same_kind(void)
{
    pod_status got = pod_comm_agree(comm, pod_fail(POD_E_FORMAT, "line %d is odd", rank));
    const char *want = size > 1 ? "rank 0: line 0 is odd" : "line 0 is odd";
    POD_CHECK(got == POD_E_FORMAT && strcmp(pod_error_text(), want) == 0, "%s '%s'",
              pod_status_name(got), pod_error_text());
}

static void test_same(void)
{
    enum { BYTES = 200001 }; /* several of the pieces in which it is compared */
    unsigned char *data = calloc(1, BYTES);
    POD_CHECK_OK(pod_comm_same(comm, "weights", data, BYTES));
    POD_CHECK_OK(pod_comm_same(comm, "nothing", NULL, 0));
    char want[64];
    snprintf(want, sizeof want, "weights: rank %d differs from rank 0", size - 1);
    if (size > 1) {
        data[BYTES - 1] = rank == size - 1;
        POD_CHECK_FAILS(pod_comm_same(comm, "weights", data, BYTES), POD_E_MISMATCH, want);
        data[BYTES - 1] = 0;
        size_t bytes = rank == size - 1 ? BYTES - 70000 : BYTES;
        POD_CHECK_FAILS(pod_comm_same(comm, "weights", data, bytes), POD_E_MISMATCH, want);
        bytes = rank == size - 1 ? BYTES : 5;
        POD_CHECK_FAILS(pod_comm_same(comm, "weights", data, bytes), POD_E_MISMATCH, want);
        data[0] = rank > 0; /* the first that differs is named */
        POD_CHECK_FAILS(pod_comm_same(comm, "weights", data, BYTES), POD_E_MISMATCH, "rank 1 ");
    }
    free(data);
}

static void test_totals(void)
{
    int token = rank == size - 1 ? 4711 : 0;
    pod_comm_broadcast(comm, size - 1, &token, sizeof token);
    POD_CHECK(token == 4711, "broadcast %d", token);

    int mine[2] = {rank, 100 + rank};
    int all[64] = {0};
    pod_comm_gather(comm, mine, sizeof mine, rank == 0 ? all : NULL);
    for (int r = 0; rank == 0 && r < size; r++)
        POD_CHECK(all[2 * r] == r && all[2 * r + 1] == 100 + r, "gathered %d %d from %d",
                  all[2 * r], all[2 * r + 1], r);

    double sums[3] = {1, rank, 0.1 * rank};
    pod_comm_sum(comm, sums, 3);
    POD_CHECK(sums[0] == size && sums[1] == size * (size - 1) / 2, "sums %g %g", sums[0], sums[1]);
    POD_CHECK_OK(pod_comm_same(comm, "sums", sums, sizeof sums));

    double largest[2] = {rank, -rank};
    pod_comm_max(comm, largest, 2);
    POD_CHECK(largest[0] == size - 1 && largest[1] == 0, "max %g %g", largest[0], largest[1]);
    pod_comm_barrier(comm);
}

static unsigned char byte_of(int r, size_t i) { return (unsigned char)(i * 7 / 5 + (size_t)r); }

/* More than MPI is given at once. */
static void test_gather_parts(void)
{
    enum { BYTES = (9 << 20) + 13 };
    unsigned char *mine = malloc(BYTES), *all = rank == 0 ? malloc((size_t)size * BYTES) : NULL;
    for (size_t i = 0; i < BYTES; i++) mine[i] = byte_of(rank, i);
    pod_comm_gather(comm, mine, BYTES, all);
    for (int r = 0; all && r < size; r++) {
        size_t n_wrong = 0;
        for (size_t i = 0; i < BYTES; i++) n_wrong += all[(size_t)r * BYTES + i] != byte_of(r, i);
        POD_CHECK(n_wrong == 0, "%zu bytes of rank %d are wrong", n_wrong, r);
    }
    free(all);
    free(mine);
}

/* Tags are the same on all ranks, are not given twice, and come back. */
static void test_tags(void)
{
    int first[3] = {-1, -1, -1};
    POD_CHECK_OK(pod__comm_take_tags(comm, 3 + rank, &first[0]));
    POD_CHECK_OK(pod__comm_take_tags(comm, 1, &first[1]));
    POD_CHECK(first[0] == 0 && first[1] == 3 + size - 1, "tags from %d and %d", first[0], first[1]);
    POD_CHECK_FAILS(pod__comm_take_tags(comm, INT_MAX - 1, &first[2]), POD_E_UNSUPPORTED,
                    "collective: needs 2147483646 tags");
    pod__comm_give_tags(comm);
    POD_CHECK_OK(pod__comm_take_tags(comm, 1, &first[1]));
    POD_CHECK(first[1] == 3 + size, "tags from %d", first[1]);
    pod__comm_give_tags(comm);
    /* One rank has not given back all of its tags yet. */
    if (rank > 0) pod__comm_give_tags(comm);
    POD_CHECK_OK(pod__comm_take_tags(comm, 1, &first[1]));
    POD_CHECK(first[1] == 4 + size, "tags from %d", first[1]);
    pod__comm_give_tags(comm);
    if (rank == 0) pod__comm_give_tags(comm);
    POD_CHECK_OK(pod__comm_take_tags(comm, 1, &first[1]));
    POD_CHECK(first[1] == 0, "tags from %d", first[1]);
    pod__comm_give_tags(comm);
}

/* The tests run on one host; then two nodes are played on it, the second short where the ranks are
 * odd. */
static void test_nodes(void)
{
    POD_CHECK(pod_comm_node_size(comm) == size, "nodes of %d", pod_comm_node_size(comm));
    const int n = (size + 1) / 2;
    pod_comm_split_nodes(comm, n);
    POD_CHECK(pod_comm_node_size(comm) == (size % n ? 1 : n), "nodes of %d, split to %d",
              pod_comm_node_size(comm), n);
    for (int r = 0; r < size; r++)
        POD_CHECK(pod_comm_shares_node(comm, r) == (r / n == rank / n), "rank %d, nodes of %d", r,
                  n);
}

/* What a rank writes to its part of a window the others read, and the other way round. */
static void test_window(void)
{
    const size_t bytes = 100 + 5000 * (size_t)rank;
    pod_window *w = NULL;
    POD_CHECK_OK(pod_window_create(comm, bytes, &w));
    if (!w) return;
    unsigned char *own = pod_window_data(w);
    POD_CHECK(pod_window_bytes(w) == bytes && (uintptr_t)own % 256 == 0, "%zu bytes at %p",
              pod_window_bytes(w), (void *)own);
    for (int r = 0; r < size && r < 16; r++) { /* not in one set of a cache */
        const uintptr_t apart = (uintptr_t)pod_window_data_of(w, r) - (uintptr_t)own;
        POD_CHECK(r == rank % 16 || apart % 4096 != 0, "rank %d lies %zu bytes from %d", r,
                  (size_t)apart, rank);
    }
    size_t n_set = 0;
    for (size_t i = 0; i < bytes; i++) n_set += own[i] != 0;
    POD_CHECK(n_set == 0, "%zu bytes are not 0", n_set);
    memset(own, rank + 1, bytes);
    pod_window_sync(w);
    for (int r = 0; r < size; r++) {
        const unsigned char *data = pod_window_data_of(w, r);
        POD_CHECK(data[0] == r + 1 && data[99 + 5000 * r] == r + 1, "rank %d: %d, %d", r, data[0],
                  data[99 + 5000 * r]);
    }
    unsigned char *next = pod_window_data_of(w, (rank + 1) % size);
    pod_window_sync(w);
    next[7] = 77;
    pod_window_sync(w);
    POD_CHECK(own[7] == 77 && own[6] == rank + 1, "%d, %d", own[7], own[6]);
    pod_window_destroy(w);
    pod_window_destroy(NULL);
    w = NULL;
    POD_CHECK_FAILS(pod_window_create(comm, rank == size - 1 ? (size_t)1 << 50 : 1, &w),
                    POD_E_NOMEM, "shared memory: the ranks of a node need");
    POD_CHECK(!w, "a window was left behind");
}

/* One rank is refused the memory: all hear of it, and it is as if nobody had asked. */
static void test_no_memory(void)
{
    pod_window *w = NULL;
    struct rlimit before, none;
    POD_CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0, "no limit is known");
    none = before;
    if (rank == 0) none.rlim_cur = 1;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &none);
    if (size > 1)
        POD_CHECK_FAILS(pod_window_create(comm, 3 << 20, &w), POD_E_NOMEM, "shared memory: cannot");
    setrlimit(RLIMIT_FSIZE, &before);
    POD_CHECK_OK(pod_window_create(comm, 3 << 20, &w));
    pod_window_destroy(w);
}

/* Many small ones lie beside each other. */
static void test_windows(void)
{
    enum { N = 40, COUNT = 10000 };
    pod_window *w[N];
    for (int i = 0; i < N; i++) {
        w[i] = NULL;
        POD_CHECK_OK(pod_window_create(comm, COUNT * sizeof(int), &w[i]));
        if (!w[i]) return;
        for (int k = 0; k < COUNT; k++) ((int *)pod_window_data(w[i]))[k] = 1000 * rank + i;
    }
    pod_window_sync(w[0]);
    for (int i = 0; i < N; i++) {
        const int next = (rank + 1) % size, *data = pod_window_data_of(w[i], next);
        int n_wrong = 0;
        for (int k = 0; k < COUNT; k++) n_wrong += data[k] != 1000 * next + i;
        POD_CHECK(n_wrong == 0, "window %d: %d wrong", i, n_wrong);
        pod_window_destroy(w[i]); /* its neighbour may read it still */
    }
}

static void bind_to(int cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    POD_CHECK(sched_setaffinity(0, sizeof one, &one) == 0, "CPU %d", cpu);
}

static int nth_cpu(const cpu_set_t *set, int n)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET((size_t)cpu, set) && n-- == 0) return cpu;
    return -1;
}

/* All ranks on one CPU, then each on its own as far as there are such. */
static void test_cores(void)
{
    cpu_set_t before;
    POD_CHECK(sched_getaffinity(0, sizeof before, &before) == 0, "no affinity");
    bind_to(nth_cpu(&before, 0));
    const pod_cores shared = pod_comm_cores(comm);
    POD_CHECK(
        shared.here == 1 && shared.at_work == 1 && shared.physical == pod_cpu_physical_cores(),
        "on one CPU: %d here, %d at work, %d in all", shared.here, shared.at_work, shared.physical);
    const int n_cpus = CPU_COUNT(&before);
    bind_to(nth_cpu(&before, rank % n_cpus));
    pod_cpu_set used = {{0}};
    for (int r = 0; r < size; r++) {
        const int cpu = nth_cpu(&before, r % n_cpus);
        used.bits[cpu / 64] |= (uint64_t)1 << (cpu % 64);
    }
    const pod_cores own = pod_comm_cores(comm);
    const int want = pod_cpu_set_cores(&used);
    POD_CHECK(own.here == want && own.at_work == want, "on %d CPUs: %d here, %d at work, want %d",
              pod_cpu_set_count(&used), own.here, own.at_work, want);
    sched_setaffinity(0, sizeof before, &before);
}

POD_TEST_SUITE_WITH("comm", open_comm, close_comm, {"open", test_open},
                    {"open alone", test_open_alone}, {"agree ok", test_agree_ok},
                    {"agree one", test_agree_one}, {"same", test_same},
                    {"agree worst", test_agree_worst}, {"agree alike", test_agree_alike},
                    {"agree on one kind", test_agree_same_kind}, {"totals", test_totals},
                    {"gather in parts", test_gather_parts}, {"tags", test_tags},
                    {"window", test_window}, {"no memory", test_no_memory},
                    {"windows", test_windows}, {"cores", test_cores},
                    {"nodes", test_nodes} /* the last: the comm stays split */);
