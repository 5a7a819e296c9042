/* After the first step the training loop asks for no memory: calls of the allocator by our own code
 * are counted, through the linker's --wrap, which leaves libraries of others alone. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/harness/harness.h"
#include "tests/harness/training.h"
#include "tests/mpi/ranks.h"

/* ---- the wrapped calls; names are the linker's ---- */

static atomic_long n_calls;

#define COUNT(result, name, params, args) \
    result __real_##name params;          \
    result __wrap_##name params;          \
    result __wrap_##name params           \
    {                                     \
        atomic_fetch_add(&n_calls, 1);    \
        return __real_##name args;        \
    }

COUNT(void *, malloc, (size_t bytes), (bytes))
COUNT(void *, calloc, (size_t n, size_t bytes), (n, bytes))
COUNT(void *, realloc, (void *p, size_t bytes), (p, bytes))
COUNT(void *, aligned_alloc, (size_t align, size_t bytes), (align, bytes))
COUNT(int, posix_memalign, (void **out, size_t align, size_t bytes), (out, align, bytes))
COUNT(char *, strdup, (const char *text), (text))
COUNT(char *, strndup, (const char *text, size_t n), (text, n))
COUNT(FILE *, fopen, (const char *path, const char *mode), (path, mode))
COUNT(FILE *, open_memstream, (char **text, size_t *bytes), (text, bytes))

/* Steps of training and of evaluation alike; each takes long enough for progress to be printed. */
enum { MAX_CALLS = 256 };
static long before[MAX_CALLS], after[MAX_CALLS];
static int n_steps;

pod_status __real_pod_exec_step(pod_exec *e, pod_timeline *tl);
pod_status __wrap_pod_exec_step(pod_exec *e, pod_timeline *tl);
pod_status __wrap_pod_exec_step(pod_exec *e, pod_timeline *tl)
{
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    before[n_steps % MAX_CALLS] = atomic_load(&n_calls);
    pod_status s = __real_pod_exec_step(e, tl);
    nanosleep(&pause, NULL);
    after[n_steps++ % MAX_CALLS] = atomic_load(&n_calls);
    return s;
}

/* ---- the test ---- */

static void train(const pod_test_net *net, const char *prefetch, const char *wire, const char *how)
{
    enum { N_TRAIN = 15, N_EVALS = 3, EVAL_STEPS = 2 }; /* 77 samples in batches of 40 */
    pod_test_run r;
    n_steps = 0;
    atomic_store(&n_calls, 0);
    pod_test_run_well(
        &r, comm, net, "run",
        (const char *const[]){"--epochs=3", "--augment=crop+flip", prefetch, wire, how, NULL});
    POD_CHECK(n_steps == N_TRAIN + N_EVALS * EVAL_STEPS, "%s: %d steps", net->name, n_steps);
    POD_CHECK(before[0] > 0, "%s: nothing was counted", net->name);
    for (int i = 1; i < n_steps; i++)
        POD_CHECK(after[i] == after[0], "%s, %s: %ld calls up to step %d", net->name, prefetch,
                  after[i] - after[0], i);
    POD_CHECK(atomic_load(&n_calls) > after[0], "%s: the checkpoint was written without memory",
              net->name);
    if (rank == 0) {
        POD_CHECK(strstr(pod_test_run_text(&r, "said.txt"), "left"), "%s: no progress was shown",
                  net->name);
        POD_CHECK(strstr(pod_test_run_text(&r, "mllog.txt"), "eval_accuracy"),
                  "%s: nothing was logged", net->name);
    }
    pod_test_run_end(&r);
}

static void test_loop(void)
{
    train(&pod_test_nets[POD_TEST_BN_RESIDUAL], "--prefetch=2", "--wire=f32", "--shard-update=off");
    train(&pod_test_nets[POD_TEST_PERCEPTRON], "--prefetch=0", "--wire=bf16", "--shard-update=off");
    train(&pod_test_nets[POD_TEST_BN_RESIDUAL], "--prefetch=0", "--wire=exact",
          "--shard-update=on");
    train(&pod_test_nets[POD_TEST_BN_RESIDUAL], "--prefetch=2", "--wire=f32", "--accumulate=4");
}

POD_TEST_SUITE_WITH("loop_alloc", open_comm, close_comm,
                    {"nothing after the first step", test_loop});
