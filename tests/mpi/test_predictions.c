/* What an evaluation took each sample for: the file against the loss and the count that the same
 * evaluation answered, and against the data set; whatever the mesh; and what is refused. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "runtime/train/eval.h"
#include "tests/harness/harness.h"
#include "tests/harness/training.h"
#include "tests/mpi/ranks.h"

enum { N_TEST = 77, N_CLASSES = 10 }; /* the first: pod_test_run_defaults */

typedef struct bed {
    pod_test_run run;
    pod_setup setup;
    pod_dataset *data;
    const pod_program *program;
    pod_store *store;
    pod_exec *exec;
    pod_samples samples;
    pod_loader *loader;
    const char *name; /* of the file, in the run's folder */
} bed;

static pod_status compile(bed *b, int net)
{
    return pod_test_run_compile(&b->setup, &pod_test_nets[net], b->data, false, &b->program);
}

static pod_status open_own(bed *b, int net)
{
    const pod_loader_options batches = pod_setup_loader(&b->setup, false, rank, size);
    POD_TRY(pod_dataset_open(b->setup.data, b->setup.seed, &b->data));
    POD_TRY(compile(b, net));
    POD_TRY(pod_store_create(b->program, rank, 1, &b->store));
    POD_TRY(pod_task_image_classification.samples(&b->setup, b->data, false, pod_test_arena(),
                                                  &b->samples));
    return pod_loader_open(&b->samples, &batches, &b->loader);
}

/* A short training, and its evaluation program. */
static bool bed_open(bed *b, int net, const char *precision)
{
    *b = (bed){0};
    pod_test_run_well(&b->run, comm, &pod_test_nets[net], "trained",
                      (const char *const[]){"--steps=6", precision, NULL});
    b->setup = b->run.setup;
    b->setup.reads_logits = true;
    b->name = "predictions.csv";
    pod_snapshot found;
    pod_status s = pod_comm_agree(comm, open_own(b, net));
    if (s == POD_OK) s = pod_test_run_restore(&b->run, b->store, comm, &found);
    if (s == POD_OK) s = pod_exec_open(b->program, b->store, comm, pod_clock_start(), &b->exec);
    POD_CHECK(s == POD_OK, "%s", pod_error_text());
    return s == POD_OK;
}

static void bed_close(bed *b)
{
    pod_exec_close(b->exec);
    pod_loader_close(b->loader);
    pod_store_destroy(b->store);
    pod_dataset_close(b->data);
    pod_test_run_end(&b->run);
}

static pod_status evaluate(bed *b, pod_eval_result *out)
{
    pod_predictions *p;
    const char *path = pod_test_text("%s/%s", b->run.folder, b->name);
    POD_TRY(pod_predictions_open(path, b->data, pod_loader_local_batch(b->loader), comm, &p));
    const pod_feed feed = pod_feed_of(b->exec, b->program, b->loader, &b->samples.form);
    const pod_status s =
        pod_evaluate(&pod_task_image_classification, &feed, N_TEST, comm, 6, p, out);
    if (s != POD_OK) pod_predictions_abandon(p);
    return s == POD_OK ? pod_predictions_close(p) : s;
}

/* One row; false where it is none. */
static bool read_row(const bed *b, const char **at, int64_t *index, int64_t *label, int64_t *answer,
                     double logit[])
{
    int64_t *const whole[] = {index, label, answer};
    char *end;
    for (int i = 0; i < 3; i++) {
        *whole[i] = strtoll(*at, &end, 10);
        *at = end + 1;
        if (*end != ',') return false;
    }
    for (int i = 1; i < 3; i++) { /* names without commas */
        const int64_t k = *whole[i];
        const char *name = k >= 0 && k < N_CLASSES ? b->data->info.class_names[k] : "?";
        const size_t n = strlen(name);
        if (strncmp(*at, name, n) != 0 || (*at)[n] != ',') return false;
        *at += n + 1;
    }
    for (int c = 0; c < N_CLASSES; c++) {
        logit[c] = strtod(*at, &end);
        *at = end + 1;
        if (*end != (c + 1 < N_CLASSES ? ',' : '\n')) return false;
    }
    return true;
}

/* -log of the probability of the label. */
static double loss_of(const double logit[], int64_t label)
{
    double sum = 0;
    for (int c = 0; c < N_CLASSES; c++) sum += exp(logit[c] - logit[label]);
    return log(sum);
}

static void check_file(const bed *b, const pod_eval_result *want)
{
    static const char header[] =
        "index,label,answer,label_name,answer_name,logit0,logit1,logit2,logit3,logit4,logit5,"
        "logit6,logit7,logit8,logit9\n";
    const char *text = pod_test_run_text(&b->run, b->name);
    double loss = 0;
    int correct = 0;
    POD_CHECK(strncmp(text, header, strlen(header)) == 0, "it begins with '%.90s'", text);
    const char *at = text + strlen(header);
    for (int64_t i = 0; i < N_TEST; i++) {
        int64_t index = -1, label = 0, answer = 0;
        double logit[N_CLASSES] = {0};
        const bool is_row = read_row(b, &at, &index, &label, &answer, logit);
        POD_CHECK(is_row && index == i && label == pod_dataset_label(b->data, POD_SPLIT_TEST, i),
                  "row %" PRId64 " is of sample %" PRId64 ", label %" PRId64, i, index, label);
        if (!is_row) return;
        for (int c = 0; c < N_CLASSES; c++)
            POD_CHECK(logit[c] <= logit[answer], "sample %" PRId64 ": %g beats the answer", i,
                      logit[c]);
        loss += loss_of(logit, label);
        correct += answer == label;
    }
    POD_CHECK(*at == '\0', "more than %d rows: '%.60s'", N_TEST, at);
    POD_CHECK(fabs(want->metric[0] * N_TEST - correct) < 1e-9, "%d right, the evaluation has %g",
              correct, want->metric[0] * N_TEST);
    POD_CHECK(fabs(loss - want->loss * N_TEST) < 1e-5 * loss, "a loss of %.9g, evaluated %.9g",
              loss / N_TEST, want->loss);
}

/* Twice, for the loader goes on; the tail of 77 is padded. */
static void test_file(void)
{
    static const char *const precisions[] = {"--precision=f32", "--precision=bf16"};
    for (int i = 0; i < 2 * POD_TEST_N_NETS; i++) {
        bed b;
        if (bed_open(&b, i / 2, precisions[i % 2])) {
            for (int turn = 0; turn < 2; turn++) {
                pod_eval_result result = {0};
                POD_CHECK_OK(evaluate(&b, &result));
                if (rank == 0) check_file(&b, &result);
            }
            POD_CHECK(pod_exec_rows(b.exec, 2) != NULL, "no rows");
        }
        bed_close(&b);
    }
}

static void test_refusals(void)
{
    bed b;
    if (bed_open(&b, POD_TEST_PERCEPTRON, "--precision=f32")) {
        pod_eval_result result;
        b.name = "nowhere/predictions.csv";
        POD_CHECK_FAILS(evaluate(&b, &result), POD_E_IO, "nowhere/predictions.csv");
        b.setup.compile.accumulate = 2;
        POD_CHECK_FAILS(compile(&b, POD_TEST_PERCEPTRON), POD_E_UNSUPPORTED,
                        "accumulate: rows of 'logits' are read at the end of a step");
    }
    bed_close(&b);
}

POD_TEST_SUITE_WITH("predictions", open_comm, close_comm,
                    {"the file holds what was evaluated", test_file}, {"refusals", test_refusals});
