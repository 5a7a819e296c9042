/* The training loop on a small made data set: resume, target, logs, refusals. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "runtime/core/file.h"
#include "runtime/train/saver.h"
#include "runtime/train/snapshot.h"
#include "tests/harness/harness.h"
#include "tests/harness/training.h"
#include "tests/mpi/ranks.h"
#include "tests/tools/mllog_check.h"

enum { STEPS_PER_EPOCH = 5, N_TEST = 77 }; /* of pod_test_run_defaults */

#define RUN(r, net, name, ...)                                \
    pod_test_run_well((r), comm, &pod_test_nets[net], (name), \
                      (const char *const[]){__VA_ARGS__, NULL})

/* The same text on all ranks, of one line. */
static void check_error(const pod_test_run *r, pod_status want, const char *part)
{
    POD_CHECK(r->status == want && strstr(r->error, part) && !strchr(r->error, '\n'),
              "got %s '%s', want %s with '%s'", pod_status_name(r->status), r->error,
              pod_status_name(want), part);
    char text[sizeof r->error] = "";
    memcpy(text, r->error, strlen(r->error));
    POD_CHECK_OK(pod_comm_same(comm, "the error", text, sizeof text));
}

/* ---- resume -------------------------------------------------------------------------------- */

static const char *resume_option(const pod_test_run *r)
{
    return pod_test_text("--resume=%s", r->folder);
}

static void check_same_end(const char *what, const pod_test_run *a, const pod_test_run *b)
{
    POD_CHECK(a->result.weights_hash == b->result.weights_hash,
              "%s: weights %016" PRIx64 ", straight %016" PRIx64, what, b->result.weights_hash,
              a->result.weights_hash);
    POD_CHECK(a->result.last.metric[0] == b->result.last.metric[0] &&
                  a->result.last.loss == b->result.last.loss,
              "%s: evaluation %.9g, %.9g, straight %.9g, %.9g", what, b->result.last.metric[0],
              b->result.last.loss, a->result.last.metric[0], a->result.last.loss);
    const int64_t done = b->result.first_step + b->result.n_steps;
    POD_CHECK(b->result.first_step > 0 && done == a->result.n_steps,
              "%s: resumed at %" PRId64 ", ended at %" PRId64, what, b->result.first_step, done);
}

/* Cut within an epoch and at its end; each optimizer has other states. */
static void test_resume(void)
{
    static const struct {
        int net;
        const char *optimizer, *lr, *precision, *cut;
    } cases[] = {
        {POD_TEST_BN_RESIDUAL, "--optimizer=lars", "--lr=0.5", "--precision=f32", "--steps=7"},
        {POD_TEST_BN_RESIDUAL, "--optimizer=adamw", "--lr=0.01", "--precision=bf16", "--steps=5"},
        {POD_TEST_RESIDUAL, "--optimizer=lamb", "--lr=0.01", "--precision=f32", "--steps=1"},
        {POD_TEST_PERCEPTRON, "--optimizer=sgd", "--lr=0.05", "--precision=bf16", "--steps=12"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pod_test_run straight, cut, rest;
        RUN(&straight, cases[i].net, "straight", cases[i].optimizer, cases[i].lr,
            cases[i].precision, "--steps=13");
        RUN(&cut, cases[i].net, "cut", cases[i].optimizer, cases[i].lr, cases[i].precision,
            cases[i].cut);
        RUN(&rest, cases[i].net, "rest", cases[i].optimizer, cases[i].lr, cases[i].precision,
            "--steps=13", resume_option(&cut));
        check_same_end(cases[i].optimizer, &straight, &rest);
        POD_CHECK(cut.result.weights_hash != straight.result.weights_hash,
                  "%s: the second part changed nothing", cases[i].optimizer);
        pod_test_run_end(&straight);
        pod_test_run_end(&cut);
        pod_test_run_end(&rest);
    }
}

/* A run that stopped at its target goes on along its schedule. */
static void test_resume_after_target(void)
{
    pod_test_run straight, cut, rest;
    RUN(&straight, POD_TEST_BN_RESIDUAL, "straight", "--epochs=3", "--lr-schedule=cosine",
        "--warmup=1");
    RUN(&cut, POD_TEST_BN_RESIDUAL, "cut", "--epochs=3", "--lr-schedule=cosine", "--warmup=1",
        "--target=0.001");
    POD_CHECK(cut.result.reached && cut.result.n_steps == STEPS_PER_EPOCH,
              "reached %d after %" PRId64 " steps", cut.result.reached, cut.result.n_steps);
    RUN(&rest, POD_TEST_BN_RESIDUAL, "rest", "--epochs=3", "--lr-schedule=cosine", "--warmup=1",
        resume_option(&cut));
    check_same_end("cosine", &straight, &rest);
    pod_test_run_end(&straight);
    pod_test_run_end(&cut);
    pod_test_run_end(&rest);
}

/* ---- logs ---------------------------------------------------------------------------------- */

/* Every `field` number of the log's records of `key`; answers how many. Rank 0 has the log. */
static int log_numbers(const pod_test_run *r, const char *key, const char *field, int room,
                       double out[])
{
    int n = 0;
    const char *wanted = pod_test_text("\"key\": \"%s\"", key);
    const char *place = pod_test_text("\"%s\": ", field);
    const char *at = strstr(pod_test_run_text(r, "mllog.txt"), wanted);
    for (; at && n < room; at = strstr(at + 1, wanted)) {
        const char *number = strstr(at, place);
        if (number) out[n++] = strtod(number + strlen(place), NULL);
    }
    return n;
}

static void check_log_has(const pod_test_run *r, const char *part)
{
    if (rank == 0)
        POD_CHECK(strstr(pod_test_run_text(r, "mllog.txt"), part), "the log has no %s", part);
}

static void check_log(const pod_test_run *r)
{
    char why[512] = "";
    if (rank == 0) POD_CHECK(pod_mllog_check(r->mllog_path, why, sizeof why), "%s", why);
}

static void check_numbers(const pod_test_run *r, const char *key, const char *field, int n_want,
                          const double want[])
{
    enum { ROOM = 32 };
    double got[ROOM];
    if (rank != 0) return;
    const int n = log_numbers(r, key, field, ROOM, got);
    POD_CHECK(n == n_want, "%d records of %s, want %d", n, key, n_want);
    for (int i = 0; i < n && i < n_want; i++)
        POD_CHECK(fabs(got[i] - want[i]) < 1e-12, "%s number %d: %s %g, want %g", key, i, field,
                  got[i], want[i]);
}

static void test_epochs(void)
{
    pod_test_run r;
    RUN(&r, POD_TEST_PERCEPTRON, "epochs", "--epochs=2.4", "--eval-every=0.4");
    check_log(&r);
    POD_CHECK(r.result.n_steps == 12 && r.result.evals.n == 6,
              "%" PRId64 " steps, %" PRId64 " evaluations", r.result.n_steps, r.result.evals.n);
    const double epochs[] = {1, 2, 3}, evals[] = {0.4, 0.8, 1.2, 1.6, 2.0, 2.4};
    check_numbers(&r, "epoch_start", "epoch_num", 3, epochs);
    check_numbers(&r, "epoch_stop", "epoch_num", 3, epochs);
    check_numbers(&r, "eval_start", "epoch_num", 6, evals);
    check_numbers(&r, "eval_accuracy", "epoch_num", 6, evals);
    check_numbers(&r, "train_samples", "value", 1, (const double[]){210});
    check_numbers(&r, "eval_samples", "value", 1, (const double[]){N_TEST});
    check_log_has(&r, "\"status\": \"aborted\"");
    pod_test_run_end(&r);

    RUN(&r, POD_TEST_PERCEPTRON, "at end", "--steps=7", "--eval-every=0");
    check_log(&r);
    check_numbers(&r, "eval_accuracy", "epoch_num", 1, (const double[]){1.4});
    pod_test_run_end(&r);
}

/* Without its last line: as a kill before that leaves it. */
static void cut_last_line(const pod_test_run *r)
{
    if (rank == 0) {
        const char *text = pod_test_run_text(r, "mllog.txt");
        const char *at = strstr(text, ":::MLLOG {\"namespace\": \"\"");
        for (const char *next = at; (next = strstr(next + 1, ":::MLLOG {"));) at = next;
        POD_CHECK_OK(pod_file_write_atomic(r->mllog_path, text, (size_t)(at - text)));
    }
    pod_comm_barrier(comm);
}

/* A finished job that is resumed has its result, and tells nothing twice. */
static void test_log_of_a_finished_job(void)
{
    pod_test_run first, again;
    struct stat before, after;
    const double evals[] = {1, 2};
    RUN(&first, POD_TEST_PERCEPTRON, "finished", "--epochs=2");
    POD_CHECK(stat(first.mllog_path, &before) == 0, "no log");
    const double accuracy = first.result.last.metric[0];
    pod_comm_barrier(comm);
    pod_test_run_end(&first);
    RUN(&again, POD_TEST_PERCEPTRON, "finished", "--epochs=2", "--resume=auto");
    POD_CHECK(again.result.evals.n == 2 && again.result.last.metric[0] == accuracy,
              "%" PRId64 " evaluations, accuracy %g, was %g", again.result.evals.n,
              again.result.last.metric[0], accuracy);
    POD_CHECK(stat(again.mllog_path, &after) == 0 && after.st_size == before.st_size,
              "a log of %lld bytes, was %lld", (long long)after.st_size, (long long)before.st_size);
    check_log(&again);
    check_numbers(&again, "eval_accuracy", "epoch_num", 2, evals);
    /* Another target, another end; and the end that a kill took away. */
    for (int i = 0; i < 2; i++) {
        const char *said = i == 0 ? "\"status\": \"success\"" : "\"status\": \"aborted\"";
        if (i == 1) cut_last_line(&again);
        pod_test_run_end(&again);
        RUN(&again, POD_TEST_PERCEPTRON, "finished", "--epochs=2", "--resume=auto",
            i == 0 ? "--target=0.001" : "--target=0");
        check_log(&again);
        check_numbers(&again, "eval_accuracy", "epoch_num", 2, evals);
        check_log_has(&again, said);
    }
    pod_test_run_end(&again);
}

/* The best accuracy of a run, asked for as its target, ends the next one where it was met first. */
static void test_target(void)
{
    enum { ROOM = 32 };
    pod_test_run all, stopped;
    double accuracy[ROOM] = {0};
    int n = 0, first = 0;
    RUN(&all, POD_TEST_RESIDUAL, "all", "--epochs=4", "--eval-every=0.4");
    POD_CHECK(!all.result.reached && all.result.n_steps == 20, "%" PRId64 " steps without target",
              all.result.n_steps);
    if (rank == 0) n = log_numbers(&all, "eval_accuracy", "value", ROOM, accuracy);
    pod_comm_broadcast(comm, 0, &n, sizeof n);
    pod_comm_broadcast(comm, 0, accuracy, sizeof accuracy);
    while (first < n && accuracy[first] < all.result.best.metric[0]) first++;
    POD_CHECK(n == 10 && first > 0 && first < n, "the best of %d evaluations is number %d", n,
              first);
    const pod_train_result *t = &all.result;
    POD_CHECK(t->peak == first && t->evals.row[t->peak].n_done == 2 * (first + 1) &&
                  t->evals.row[t->peak].metric[0] == t->best.metric[0],
              "peak %" PRId64 ", want %d", t->peak, first);
    POD_CHECK(t->time_to_peak_s > 0 && t->time_to_peak_s <= t->evals.row[n - 1].at_s &&
                  t->evals.row[n - 1].at_s <= t->run_s,
              "%g s to the peak, %g s to the last evaluation, %g s in all", t->time_to_peak_s,
              t->evals.row[n - 1].at_s, t->run_s);
    const char *target = pod_test_text("--target=%.17g", all.result.best.metric[0]);
    RUN(&stopped, POD_TEST_RESIDUAL, "stopped", "--epochs=4", "--eval-every=0.4", target);
    const pod_train_result *s = &stopped.result;
    POD_CHECK(s->reached && s->n_steps == 2 * (first + 1) && s->evals.n == first + 1,
              "reached %d after %" PRId64 " steps and %" PRId64 " evaluations, want %d", s->reached,
              s->n_steps, s->evals.n, first + 1);
    POD_CHECK(s->last.metric[0] == all.result.best.metric[0], "stopped at %.17g, wanted %.17g",
              s->last.metric[0], all.result.best.metric[0]);
    POD_CHECK(s->time_to_target_s > 0 && s->time_to_target_s <= s->run_s,
              "%g s to the target, %g s in all", s->time_to_target_s, s->run_s);
    POD_CHECK(s->time_to_peak_s == s->time_to_target_s, "%g s to the peak, which is the target",
              s->time_to_peak_s);
    check_log(&stopped);
    check_log_has(&stopped, "\"status\": \"success\"");
    pod_test_run_end(&all);
    pod_test_run_end(&stopped);
}

/* ---- what a run tells of itself ------------------------------------------------------------- */

static pod_stamp sum_of_spans(const pod_job_log *l)
{
    pod_stamp sum = 0;
    for (int s = 0; s < POD_N_JOB_SPANS; s++) sum += l->by_span[s];
    return sum;
}

static void test_job_log(void)
{
    pod_test_run first, r;
    RUN(&first, POD_TEST_RESIDUAL, "job", "--steps=3");
    RUN(&r, POD_TEST_RESIDUAL, "rest", "--epochs=3", resume_option(&first));
    const pod_job_log *l = &r.job;
    const pod_stamp *by = l->by_span;
    POD_CHECK(sum_of_spans(l) == l->ended - l->begun,
              "categories sum to %" PRId64 " ns of %" PRId64, sum_of_spans(l), l->ended - l->begun);
    POD_CHECK(l->n_steps == 12, "%" PRId64 " steps", l->n_steps);
    static const pod_job_span used[] = {POD_JOB_BUILD, POD_JOB_STEP,    POD_JOB_INPUT_WAIT,
                                        POD_JOB_EVAL,  POD_JOB_RESTORE, POD_JOB_SAVE};
    for (size_t i = 0; i < sizeof used / sizeof used[0]; i++)
        POD_CHECK(by[used[i]] > 0, "no time in %s", pod_job_span_name(used[i]));
    POD_CHECK(by[POD_JOB_LOST_STEP] == 0, "%" PRId64 " ns lost", by[POD_JOB_LOST_STEP]);
    /* Only what the first step worked longer than a usual one is start-up. */
    int64_t n;
    double own_s = 0;
    const pod_step_row *row = pod_timeline_rows(r.result.timeline, &n);
    for (int64_t i = 1; i < n; i++)
        own_s += pod_time_seconds(row[i].end - row[i].begin - row[i].phase[POD_PHASE_INPUT]);
    POD_CHECK(pod_stamp_seconds(by[POD_JOB_STEP]) >= own_s - 1e-6 * (double)n,
              "%.9g s in productive steps, all but the first took %.9g s",
              pod_stamp_seconds(by[POD_JOB_STEP]), own_s);
    const double said = pod_stamp_seconds(l->ended - l->begun);
    POD_CHECK(said >= r.wall_s, "the job took %g s, training in it %g s", said, r.wall_s);
    pod_test_run_end(&first);
    pod_test_run_end(&r);
}

static void test_result(void)
{
    pod_test_run r;
    RUN(&r, POD_TEST_RESIDUAL, "result", "--epochs=2");
    const pod_train_result *t = &r.result;
    double share = t->other_share;
    for (int p = 0; p < POD_N_PHASES; p++) share += t->phase_share[p];
    POD_CHECK(fabs(share - 1) < 1e-9, "shares of phases sum to %.12g", share);
    POD_CHECK(t->stats.step.n == 9 && t->stats.n_dropped == 0,
              "%d steps, %" PRId64 " events dropped", (int)t->stats.step.n, t->stats.n_dropped);
    /* stem 4x3x3x1, a and b 4x3x3x4, down 6x3x3x4, fc 6x10 + 10 */
    const int64_t n_weights = 36 + 144 + 144 + 216 + 60 + 10;
    POD_CHECK(t->n_weights == n_weights, "%" PRId64 " weights", t->n_weights);
    POD_CHECK(size == 1 || t->program->reduce_bytes >= 4 * n_weights,
              "%" PRId64 " bytes all-reduced", t->program->reduce_bytes);
    POD_CHECK(t->best.metric[0] >= t->last.metric[0] && t->evals.n == 2, "%" PRId64 " evaluations",
              t->evals.n);
    uint64_t hash = t->weights_hash;
    POD_CHECK_OK(pod_comm_same(comm, "the weights", &hash, sizeof hash));
    pod_test_run_end(&r);
}

/* ---- trouble ------------------------------------------------------------------------------- */

/* What bad_input.sh types is refused with the same words; the job's log closes, too. */
static void test_refusal(void)
{
    pod_test_run good, r;
    RUN(&good, POD_TEST_RESIDUAL, "good", "--steps=6");
    const char *const options[] = {resume_option(&good), "--model=residual", NULL};
    pod_test_run_start(&r, comm, &pod_test_nets[POD_TEST_PERCEPTRON], "refused", options);
    check_error(&r, POD_E_MISMATCH, "has no variable 'fc1/w'");
    POD_CHECK(!r.result.began && sum_of_spans(&r.job) == r.job.ended - r.job.begun,
              "the job log of '%s' does not close", r.error);
    pod_test_run_end(&r);
    pod_test_run_end(&good);
}

/* Of two saves: this thread waits and copies, another one writes, that of rank 0 commits too; one
 * after the other on each thread. */
static void check_saves_written_down(const pod_timeline *tl)
{
    static const pod_deed want[2][4] = {
        {POD_DEED_SAVE_WAIT, POD_DEED_SAVE_COPY, POD_DEED_SAVE_WAIT, POD_DEED_SAVE_COPY},
        {POD_DEED_SAVE_WRITE, POD_DEED_SAVE_COMMIT, POD_DEED_SAVE_WRITE, POD_DEED_SAVE_COMMIT}};
    pod_event *e = calloc((size_t)pod_timeline_beside_room(tl), sizeof *e);
    const int64_t n = pod_timeline_copy_beside(tl, e);
    POD_CHECK(n == (rank == 0 ? 8 : 6), "%" PRId64 " deeds", n);
    for (int thread = 0; thread < 2; thread++) {
        pod_time last = 0;
        int k = 0;
        for (int64_t i = 0; i < n; i++) {
            if (e[i].thread != thread + 1) continue;
            const bool commits = thread == 1 && rank > 0; /* it does not */
            POD_CHECK(e[i].deed == want[thread][commits ? 0 : k] && e[i].lane == POD_LANE_FILE,
                      "thread %d: deed %d is %d", thread, k, e[i].deed);
            POD_CHECK(e[i].begin >= last, "thread %d: deed %d overlaps", thread, k);
            last = e[i].end;
            k++;
        }
    }
    free(e);
}

/* A moving variance can overflow while the loss, behind the normalization, stays finite. What no
 * resume would accept is not saved over what stood there. */
static void test_no_bad_checkpoint(void)
{
    pod_store *store = NULL;
    pod_snapshot found = {0};
    pod_saver *saver = NULL;
    const char *text = NULL;
    const pod_test_plan plan = {.net = &pod_test_nets[POD_TEST_BN_RESIDUAL], .mesh = "1x1"};
    const pod_checkpoint_info info = {.model = "m", .data = "d", .optimizer = "lars", .batch = 24};
    const pod_clock clock = pod_clock_start();
    const pod_saver_plan keep = {.dir = pod_test_dir(), .keep_last = 1, .clock = &clock};
    const pod_timeline_plan recorded = {.rank = rank, .kept_steps = 1};
    pod_timeline *tl = NULL;
    POD_CHECK_OK(pod_store_create(pod_test_program(&plan), 0, 1, &store));
    float *variance = pod_store_data(store, pod_store_find(store, "down/moving_var"));
    const float before = variance[5];
    POD_CHECK_OK(pod_saver_open(&keep, &info, store, comm, &saver));
    POD_CHECK_OK(pod_timeline_create(&recorded, &tl));
    pod_saver_follow(saver, tl);
    pod_saver_begin(saver, 17);
    POD_CHECK_OK(pod_saver_finish(saver));
    variance[5] = INFINITY;
    pod_saver_begin(saver, 18);
    POD_CHECK_FAILS(pod_saver_finish(saver), POD_E_NUMERIC,
                    "step 18: 'down/moving_var' holds a value that is not finite: not saved");
    if (rank == 0) text = pod_saver_failure(saver);
    POD_CHECK(rank > 0 || (text && strstr(text, "not saved")), "'%s' is told", text ? text : "");
    POD_CHECK(rank > 0 || !pod_saver_failure(saver), "told twice");
    POD_CHECK(pod_saver_kept(saver) == (rank == 0 ? 17 : -1), "kept %" PRId64,
              pod_saver_kept(saver));
    pod_timeline_forget(tl);
    pod_saver_close(saver);
    check_saves_written_down(tl);
    pod_timeline_destroy(tl);
    POD_CHECK_OK(
        pod_snapshot_restore(pod_test_dir(), &info, true, store, comm, NULL, NULL, &found));
    POD_CHECK(found.step == 17 && variance[5] == before, "step %" PRId64 ", variance %g",
              found.step, (double)variance[5]);
    pod_store_destroy(store);
}

POD_TEST_SUITE_WITH("train", open_comm, close_comm, {"resume equals a straight run", test_resume},
                    {"resume after the target", test_resume_after_target},
                    {"epochs and evaluations", test_epochs},
                    {"the log of a finished job", test_log_of_a_finished_job},
                    {"the target ends a run", test_target}, {"the job log closes", test_job_log},
                    {"the result", test_result}, {"a refusal", test_refusal},
                    {"nothing bad is saved", test_no_bad_checkpoint});
