/* Training runs that differ in what travels and who updates what: which of them end alike. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/harness/harness.h"
#include "tests/harness/training.h"
#include "tests/mpi/ranks.h"

enum { MAX_RUN_OPTIONS = 16 };

typedef struct end { /* of a run */
    uint64_t weights;
    double loss; /* of the test set */
    size_t state_bytes, whole_state_bytes;
    int64_t reduce_bytes;
} end;

/* A run of the network with batch norm: 9 steps of 48 samples, which every number of ranks divides.
 * `options` are words apart by blanks. */
static end run(const char *name, const char *options)
{
    char words[256];
    const char *list[MAX_RUN_OPTIONS] = {"--batch=48", "--steps=9", "--eval-every=0"};
    int n = 3;
    snprintf(words, sizeof words, "%s", options);
    for (char *w = strtok(words, " "); w && n + 1 < MAX_RUN_OPTIONS; w = strtok(NULL, " "))
        list[n++] = w;
    pod_test_run r;
    pod_test_run_well(&r, comm, &pod_test_nets[POD_TEST_BN_RESIDUAL], name, list);
    const end e = {.weights = r.result.weights_hash,
                   .loss = r.result.last.loss,
                   .state_bytes = r.result.program->state_bytes,
                   .whole_state_bytes = r.result.program->whole_state_bytes,
                   .reduce_bytes = r.result.program->reduce_bytes};
    pod_test_run_end(&r);
    return e;
}

#define RUN(name, ...) run((name), pod_test_text(__VA_ARGS__))

/* ---- the same ranks, in any shape ---- */

static const char *shape(int i)
{
    return i == 2 ? "auto" : i == 0 ? pod_test_text("%dx1", size) : pod_test_text("1x%d", size);
}

static void test_exact(void)
{
    static const char *const algos[] = {"ring", "tree", "torus2d", "direct"};
    static const char *const buckets[] = {"4K", "4M"};
    static const char *const wires[] = {"f32", "exact"};
    for (int w = 0; w < 2; w++) {
        int n = 0, n_alike = 0;
        uint64_t first = 0;
        for (size_t a = 0; a < sizeof algos / sizeof algos[0]; a++)
            for (int m = 0; m < 3; m++, n++) {
                const end e = RUN("exact", "--wire=%s --algo=%s --mesh=%s --bucket=%s", wires[w],
                                  algos[a], shape(m), buckets[n % 2]);
                if (n == 0) first = e.weights;
                n_alike += e.weights == first;
            }
        /* Sums of two are the same in any order. */
        const bool want = w == 1 || size <= 2;
        POD_CHECK((n_alike == n) == want, "%s: %d of %d runs end alike", wires[w], n_alike, n);
    }
}

/* Parts of weights are cut elsewhere by every bucket and number of cores, and norms do not tell. */
static void test_exact_parts(void)
{
    static const char *const rules[] = {"--optimizer=lars --lr=0.5",
                                        "--optimizer=lars-mlperf --lr=0.5",
                                        "--optimizer=lamb --lr=0.01"};
    static const char *const algos[] = {"ring", "torus2d", "direct"};
    static const char *const buckets[] = {"1", "3K", "4M"};
    for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
        const end whole = RUN("exact", "--wire=exact %s", rules[r]);
        for (int m = 0; m < 3; m++) {
            const char *bucket = buckets[(m + (int)r) % 3];
            const end e =
                RUN("exact", "--wire=exact %s --shard-update --algo=%s --mesh=%s --bucket=%s",
                    rules[r], algos[m], shape(m), bucket);
            POD_CHECK(e.weights == whole.weights,
                      "%s on %s, buckets of %s: weights %016" PRIx64 ", whole %016" PRIx64,
                      rules[r], shape(m), bucket, e.weights, whole.weights);
        }
    }
}

static void test_wires(void)
{
    const end f32 = RUN("f32", "--wire=f32"), bf16 = RUN("bf16", "--wire=bf16");
    const end exact = RUN("wide", "--wire=exact");
    POD_CHECK(fabs(bf16.loss - f32.loss) < 0.02 * f32.loss, "loss %.9g by bf16, %.9g by f32",
              bf16.loss, f32.loss);
    POD_CHECK(fabs(exact.loss - f32.loss) < 1e-3 * f32.loss, "loss %.9g exact, %.9g by f32",
              exact.loss, f32.loss);
    if (size == 1) return;
    CU_ASSERT(bf16.weights != f32.weights);
    CU_ASSERT(bf16.reduce_bytes < f32.reduce_bytes && f32.reduce_bytes < exact.reduce_bytes);
}

static void test_overlap(void)
{
    static const char *const variants[] = {"--wire=f32", "--wire=bf16",
                                           "--wire=f32 --shard-update --optimizer=lamb --lr=0.01"};
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        const end on = RUN("beside", "%s", variants[i]);
        const end off = RUN("apart", "%s --overlap=off", variants[i]);
        POD_CHECK(on.weights == off.weights,
                  "%s: weights %016" PRIx64 ", without overlap %016" PRIx64, variants[i],
                  on.weights, off.weights);
    }
}

/* ---- updates on parts ---- */

static const char *const optimizers[] = {
    "--optimizer=sgd --lr=0.05",        "--optimizer=lars --lr=0.5",
    "--optimizer=lars-mlperf --lr=0.5", "--optimizer=lamb --lr=0.01",
    "--optimizer=adamw --lr=0.01",      "--optimizer=rmsprop --lr=0.002 --epsilon=1e-3 --ema=0.8"};
enum { N_OPTIMIZERS = sizeof optimizers / sizeof optimizers[0] };

static void test_shard_update(void)
{
    for (int i = 0; i < N_OPTIMIZERS; i++) {
        const char *options = optimizers[i];
        const end whole = RUN("whole", "--wire=exact %s", options);
        const end parts = RUN("parts", "--wire=exact %s --shard-update", options);
        POD_CHECK(whole.weights == parts.weights, "%s: weights %016" PRIx64 ", whole %016" PRIx64,
                  options, parts.weights, whole.weights);
        CU_ASSERT_EQUAL(whole.loss, parts.loss);
        CU_ASSERT_EQUAL(whole.state_bytes, whole.whole_state_bytes);
        CU_ASSERT_EQUAL(parts.whole_state_bytes, whole.whole_state_bytes);
        POD_CHECK(size == 1 || parts.state_bytes < whole.state_bytes, "%zu of %zu bytes of state",
                  parts.state_bytes, whole.state_bytes);
    }
}

/* A checkpoint does not tell who held what: either may go on with the other's. */
static void test_resume(void)
{
    static const char *const ways[][2] = {
        {"--shard-update", ""}, {"", "--shard-update"}, {"--shard-update", "--shard-update"}};
    static const int some[] = {3, 0, 1, 4, 5};
    const int n_some = size > 4 ? 2 : 5; /* more ranks cut the state finer, for any of them */
    for (int p = 0; p < n_some; p++) {
        const char *options = optimizers[some[p]];
        const end straight = RUN("straight", "--wire=exact %s", options);
        for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
            (void)RUN("cut", "--wire=exact %s --steps=5 %s", options, ways[i][0]);
            const end rest = RUN("rest", "--wire=exact %s %s --resume=%s", options, ways[i][1],
                                 pod_test_path("cut"));
            POD_CHECK(rest.weights == straight.weights,
                      "%s, '%s' then '%s': weights %016" PRIx64 ", straight %016" PRIx64, options,
                      ways[i][0], ways[i][1], rest.weights, straight.weights);
        }
    }
}

POD_TEST_SUITE_WITH("wire", open_comm, close_comm, {"exact sums end alike", test_exact},
                    {"and on parts", test_exact_parts}, {"what gradients travel as", test_wires},
                    {"with and without overlap", test_overlap},
                    {"updates on parts", test_shard_update}, {"resume across them", test_resume});
