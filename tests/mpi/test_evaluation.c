/* What an evaluation at the end of a training answers, against sums by hand: of the weights, or of
 * their moving averages where a run keeps some. */
#include <inttypes.h>
#include <math.h>

#include "runtime/exec/exec.h"
#include "tests/harness/check.h"
#include "tests/harness/harness.h"
#include "tests/harness/training.h"
#include "tests/mpi/ranks.h"

/* Of pod_test_run_defaults; the batch by hand divides the test set. */
enum { N_TEST = 77, BATCH = 7, MAX_PIXELS = 144 };
static const double NEAR = 1e-5; /* of a loss: another order of its sum */

#define RUN(r, net, name, ...) \
    pod_test_run_well((r), comm, (net), (name), (const char *const[]){__VA_ARGS__, NULL})

/* A run's checkpoint and the evaluation program of its network, on one core; that program knows of
 * no averages. */
typedef struct hand {
    pod_dataset *data;
    const pod_program *program;
    pod_store *store; /* of the program */
    pod_store *kept;  /* of the training program: weights and averages from the checkpoint */
} hand;

static void hand_open(hand *h, const pod_test_run *run, const pod_test_net *net)
{
    const pod_program *training;
    pod_setup setup = run->setup;
    pod_snapshot found;
    *h = (hand){0};
    setup.batch = BATCH;
    POD_CHECK_OK(pod_mesh_parse("1x1", &setup.compile.mesh));
    POD_CHECK_OK(pod_dataset_open(setup.data, setup.seed, &h->data));
    POD_CHECK_OK(pod_test_run_compile(&setup, net, h->data, true, &training));
    setup.ema = 0;
    POD_CHECK_OK(pod_test_run_compile(&setup, net, h->data, false, &h->program));
    POD_CHECK_OK(pod_store_create(training, 0, 998, &h->kept));
    POD_CHECK_OK(pod_store_create(h->program, 0, 999, &h->store));
    POD_CHECK_OK(pod_test_run_restore(run, h->kept, comm, &found));
}

static void hand_close(hand *h)
{
    pod_store_destroy(h->store);
    pod_store_destroy(h->kept);
    pod_dataset_close(h->data);
}

/* Every variable of the evaluation becomes the kept one of the name behind the prefix. */
static void take(hand *h, const char *prefix)
{
    for (int i = 0; i < pod_store_n(h->store); i++) {
        const char *name = pod_test_text("%s%s", prefix, pod_store_variable(h->store, i)->name);
        const int from = pod_store_find(h->kept, name);
        POD_CHECK(from >= 0, "no '%s' is kept", name);
        if (from < 0) continue;
        CU_ASSERT_EQUAL(pod_store_count(h->store, i), pod_store_count(h->kept, from));
        memcpy(pod_store_data(h->store, i), pod_store_data(h->kept, from),
               sizeof(float) * (size_t)pod_store_count(h->store, i));
    }
}

/* Over the test set, by the check executor. */
static pod_eval_result evaluate(hand *h, const char *prefix)
{
    pod_eval_result sum = {.n_samples = N_TEST};
    uint8_t images[BATCH * MAX_PIXELS];
    int32_t labels[BATCH];
    const void *feeds[] = {images, labels};
    take(h, prefix);
    for (int64_t i = 0; i < N_TEST; i += BATCH) {
        double outputs[2] = {0};
        for (int k = 0; k < BATCH; k++) {
            POD_CHECK_OK(
                pod_dataset_read(h->data, POD_SPLIT_TEST, i + k, images + (size_t)k * MAX_PIXELS));
            labels[k] = pod_dataset_label(h->data, POD_SPLIT_TEST, i + k);
        }
        POD_CHECK_OK(pod_check_step(h->program, &h->store, feeds, outputs));
        sum.loss += outputs[POD_NET_LOSS] / N_TEST;
        sum.metric[0] += outputs[1] / N_TEST;
    }
    return sum;
}

static void check_same(const pod_test_run *r, const pod_eval_result *want)
{
    const pod_eval_result *got = &r->result.last;
    POD_CHECK(got->n_samples == N_TEST, "%" PRId64 " samples", got->n_samples);
    POD_CHECK(fabs(got->metric[0] - want->metric[0]) < 1e-9, "%s: accuracy %.9g, by hand %.9g",
              r->setup.model, got->metric[0], want->metric[0]);
    POD_CHECK(fabs(got->loss - want->loss) < NEAR * want->loss, "%s: loss %.9g, by hand %.9g",
              r->setup.model, got->loss, want->loss);
}

static void test_weights(void)
{
    for (int net = 0; net < POD_TEST_N_NETS; net++) {
        pod_test_run r;
        hand h;
        RUN(&r, &pod_test_nets[net], "evaluated", "--epochs=2", "--eval-every=0");
        hand_open(&h, &r, &pod_test_nets[net]);
        const pod_eval_result want = evaluate(&h, "");
        check_same(&r, &want);
        hand_close(&h);
        pod_test_run_end(&r);
    }
}

/* Averages are behind the weights; their losses are too far apart to take one for the other.
 * Of the network with batch norm moving statistics have averages, too; what leaves out in training
 * leaves out nothing here. */
static void test_averages(void)
{
    static const pod_test_net *const nets[] = {&pod_test_nets[POD_TEST_PERCEPTRON],
                                               &pod_test_nets[POD_TEST_BN_RESIDUAL],
                                               &pod_test_dropping};
    for (size_t i = 0; i < sizeof nets / sizeof nets[0]; i++) {
        pod_test_run r;
        hand h;
        RUN(&r, nets[i], "averaged", "--epochs=2", "--eval-every=0", "--ema=0.8");
        hand_open(&h, &r, nets[i]);
        const pod_eval_result want = evaluate(&h, "ema/"), raw = evaluate(&h, "");
        check_same(&r, &want);
        POD_CHECK(fabs(raw.loss - want.loss) > 10 * NEAR * want.loss,
                  "%s: loss %.9g, of averages %.9g", nets[i]->name, raw.loss, want.loss);
        hand_close(&h);
        pod_test_run_end(&r);
    }
}

POD_TEST_SUITE_WITH("evaluation", open_comm, close_comm, {"it counts exactly", test_weights},
                    {"it reads the averages", test_averages});
