/* Training that leaves out at random: what is drawn follows from the seed, the step and the sample
 * alone, whatever the mesh, the micro-steps and the place in the batch; and a run that is resumed
 * draws as a straight one. */
#include <inttypes.h>
#include <math.h>

#include "kernels/base/rng.h"
#include "runtime/data/images/image_samples.h"
#include "runtime/exec/exec.h"
#include "tests/harness/check.h"
#include "tests/harness/harness.h"
#include "tests/harness/training.h"
#include "tests/mpi/ranks.h"

/* The batch is that of pod_test_run_defaults; 5 steps are an epoch, after which the samples come
 * again, in other places. */
enum { BATCH = 40, STEPS = 12, N_INPUTS = 4, MAX_RANKS = 4 };
static const float RATE = 0.05f;

#define RUN(r, name, ...)                                    \
    pod_test_run_well((r), comm, &pod_test_dropping, (name), \
                      (const char *const[]){"--optimizer=sgd", "--lr=0.05", __VA_ARGS__, NULL})

/* ---- the same by hand ----------------------------------------------------------------------- */

typedef enum key { BY_STEP_AND_SAMPLE, BY_SAMPLE, BY_STEP_AND_ROW } key; /* the first is right */

/* A training on the check executor, one process for all cores of a mesh. */
typedef struct hand {
    pod_dataset *data;
    const pod_program *program;
    pod_store *store[MAX_RANKS];
    pod_loader *loader[MAX_RANKS];
    const void *feed[N_INPUTS * MAX_RANKS];
    int32_t draws[MAX_RANKS][BATCH];
    float lr;
    uint64_t seed;
    int n_ranks;
} hand;

static void feed(hand *h, const char *name, int core, const void *data)
{
    const int input = pod_program_find_input(h->program, name);
    POD_CHECK(input >= 0 && input < N_INPUTS, "no input %s", name);
    if (input >= 0) h->feed[input * h->n_ranks + core] = data;
}

static void open_core(hand *h, const pod_setup *setup, int core)
{
    const pod_loader_options batches = pod_setup_loader(setup, true, core, h->n_ranks);
    pod_samples samples;
    POD_CHECK_OK(pod_store_create(h->program, core, setup->seed, &h->store[core]));
    POD_CHECK_OK(
        pod_task_image_classification.samples(setup, h->data, true, pod_test_arena(), &samples));
    POD_CHECK_OK(pod_loader_open(&samples, &batches, &h->loader[core]));
    feed(h, "draws", core, h->draws[core]);
    feed(h, "lr", core, &h->lr);
}

/* Of the setup of a run, on its mesh in as many micro-steps, or alone: on one core at once. */
static void hand_open(hand *h, const pod_test_run *run, bool alone)
{
    pod_setup setup = run->setup;
    *h = (hand){.lr = RATE, .seed = setup.seed};
    if (alone) {
        POD_CHECK_OK(pod_mesh_parse("1x1", &setup.compile.mesh));
        setup.compile.accumulate = 1;
    }
    h->n_ranks = pod_mesh_size(&setup.compile.mesh);
    POD_CHECK_OK(pod_dataset_open(setup.data, setup.seed, &h->data));
    POD_CHECK_OK(pod_test_run_compile(&setup, &pod_test_dropping, h->data, true, &h->program));
    CU_ASSERT_EQUAL(h->program->n_inputs, N_INPUTS);
    for (int core = 0; core < h->n_ranks; core++) open_core(h, &setup, core);
}

static void hand_close(hand *h)
{
    for (int core = 0; core < h->n_ranks; core++) {
        pod_loader_close(h->loader[core]);
        pod_store_destroy(h->store[core]);
    }
    pod_dataset_close(h->data);
}

static void next_batch(hand *h, int core, key k)
{
    pod_batch batch;
    POD_CHECK_OK(pod_loader_next(h->loader[core], &batch));
    h->feed[POD_FIELD_IMAGES * h->n_ranks + core] = batch.field[POD_FIELD_IMAGES];
    h->feed[POD_FIELD_LABELS * h->n_ranks + core] = batch.field[POD_FIELD_LABELS];
    for (int i = 0; i < BATCH / h->n_ranks; i++) {
        const pod_place at = {.stream = POD_STREAM_DROPOUT,
                              .step = k == BY_SAMPLE ? 0 : (uint32_t)batch.step,
                              .sample =
                                  k == BY_STEP_AND_ROW ? (uint64_t)i : (uint64_t)batch.samples[i]};
        pod_rng rng = pod_rng_at(h->seed, at);
        h->draws[core][i] = (int32_t)pod_rng_u32(&rng);
    }
}

static void hand_train(hand *h, key k)
{
    for (int step = 0; step < STEPS; step++) {
        double outputs[2] = {0};
        for (int core = 0; core < h->n_ranks; core++) next_batch(h, core, k);
        POD_CHECK_OK(pod_check_step(h->program, h->store, h->feed, outputs));
    }
}

/* ---- what a run draws ----------------------------------------------------------------------- */

static const char *const parts[] = {"--accumulate=1", "--accumulate=2", "--accumulate=5"};
enum { N_PARTS = sizeof parts / sizeof parts[0] };

/* Bit for bit what the check executor makes of the same program and of draws by step and sample. */
static void test_same_bits(void)
{
    for (int i = 0; i < N_PARTS; i++) {
        pod_test_run r;
        hand h;
        RUN(&r, "drawn", "--wire=exact", pod_test_text("--steps=%d", STEPS), parts[i]);
        hand_open(&h, &r, false);
        hand_train(&h, BY_STEP_AND_SAMPLE);
        POD_CHECK(pod_store_hash(h.store[0]) == r.result.weights_hash,
                  "%s: weights %016" PRIx64 ", by hand %016" PRIx64, parts[i],
                  r.result.weights_hash, pod_store_hash(h.store[0]));
        hand_close(&h);
        pod_test_run_end(&r);
    }
}

/* Sums are exact: which core is where, and in what they travel, changes no bit. */
static void test_any_shape(void)
{
    uint64_t first = 0;
    for (int i = 0; i < 4; i++) {
        pod_test_run r;
        const char *mesh = i == 0   ? pod_test_text("--mesh=%dx1", size)
                           : i == 1 ? pod_test_text("--mesh=1x%d", size)
                                    : "--mesh=auto";
        RUN(&r, "shape", "--wire=exact", "--steps=7", mesh, i % 2 ? "--bucket=64" : "--bucket=1M",
            i == 3 ? "--algo=ring" : "--algo=tree");
        if (i == 0) first = r.result.weights_hash;
        POD_CHECK(r.result.weights_hash == first, "%s: weights %016" PRIx64 ", want %016" PRIx64,
                  mesh, r.result.weights_hash, first);
        pod_test_run_end(&r);
    }
}

/* How far a run's weights are from those that one core makes at once, by what it draws by. */
static double distance(const pod_test_run *run, key k)
{
    hand h;
    pod_store *made;
    pod_snapshot found = {0};
    hand_open(&h, run, true);
    hand_train(&h, k);
    POD_CHECK_OK(pod_store_create(h.program, 0, 999, &made));
    POD_CHECK_OK(pod_test_run_restore(run, made, comm, &found));
    CU_ASSERT_EQUAL(found.step, STEPS);
    const double apart = pod_test_distance(made, h.store[0]);
    pod_store_destroy(made);
    hand_close(&h);
    return apart;
}

/* On any mesh and in any micro-steps a run follows the path of one core, but for the rounding of
 * sums over 40 samples, STEPS times. The bound is far below what other masks come to. */
static void test_one_path(void)
{
    const double bound = STEPS * BATCH * pod_test_roundoff(POD_F32);
    for (int i = 0; i < N_PARTS; i++) {
        pod_test_run r;
        RUN(&r, "path", "--wire=exact", pod_test_text("--steps=%d", STEPS), parts[i]);
        const double right = distance(&r, BY_STEP_AND_SAMPLE);
        POD_CHECK(right <= bound, "%s: %g from one core's weights, at most %g", parts[i], right,
                  bound);
        for (int k = BY_SAMPLE; k <= BY_STEP_AND_ROW; k++) {
            const double wrong = distance(&r, (key)k);
            POD_CHECK(wrong > 100 * bound, "%s: %g from weights by other draws", parts[i], wrong);
        }
        pod_test_run_end(&r);
    }
}

/* ---- resume --------------------------------------------------------------------------------- */

/* With what EfficientNet trains with: RMSProp, whose mean squares start at 1, and averages. Cut
 * within the second epoch. */
static void test_resume(void)
{
    static const char *const wires[] = {"--wire=f32", "--wire=exact"};
    for (int i = 0; i < 2; i++) {
        pod_test_run straight, cut, rest;
#define RMSPROP "--optimizer=rmsprop", "--lr=0.002", "--ema=0.8", "--epsilon=1e-3", wires[i]
        RUN(&straight, "straight", RMSPROP, "--steps=13");
        RUN(&cut, "cut", RMSPROP, "--steps=7");
        RUN(&rest, "rest", RMSPROP, "--steps=13", pod_test_text("--resume=%s", cut.folder));
#undef RMSPROP
        const pod_train_result *want = &straight.result, *got = &rest.result;
        CU_ASSERT(got->first_step == 7 && got->n_steps == 6);
        POD_CHECK(got->weights_hash == want->weights_hash,
                  "%s: weights %016" PRIx64 ", straight %016" PRIx64, wires[i], got->weights_hash,
                  want->weights_hash);
        POD_CHECK(got->last.loss == want->last.loss, "%s: loss %.9g, straight %.9g", wires[i],
                  got->last.loss, want->last.loss);
        CU_ASSERT(cut.result.weights_hash != want->weights_hash);
        pod_test_run_end(&straight);
        pod_test_run_end(&cut);
        pod_test_run_end(&rest);
    }
}

POD_TEST_SUITE_WITH("draws", open_comm, close_comm,
                    {"the bits of draws by step and sample", test_same_bits},
                    {"any shape of a mesh", test_any_shape},
                    {"the path of one core", test_one_path},
                    {"resume equals a straight run", test_resume});
