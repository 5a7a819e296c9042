#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/rng.h"
#include "runtime/core/places.h"
#include "runtime/train/trainer.h"

void pod_failure_note(pod_failure *f, pod_status s)
{
    if (f->status != POD_OK || s == POD_OK) return;
    f->status = s;
    snprintf(f->text, sizeof f->text, "%s", pod_error_text());
}

pod_status pod_failure_report(const pod_failure *f)
{
    if (f->status != POD_OK) pod_error_set(f->text);
    return f->status;
}

enum { METRICS_BYTES = 64 * POD_MAX_METRICS };

static double since_start(const pod__trainer *t)
{
    return pod_time_seconds(pod__train_now(t)) - t->run_began_s;
}

/* ---- the loop ---- */

/* Schedules follow the position in the data. */
double pod__train_lr_at(const pod__trainer *t, int64_t step)
{
    return pod_lr_at(&t->args->setup->lr, pod_schedule_place(&t->result->schedule, step));
}

/* The sample's random key for dropout in this step; it does not depend on the rank. */
static void draw(pod__trainer *t, int64_t step, const pod_batch *batch)
{
    const int64_t n = pod_loader_local_batch(t->feed.loader);
    for (int64_t i = 0; i < n; i++) {
        const pod_place place = {.stream = POD_STREAM_DROPOUT,
                                 .step = (uint32_t)step,
                                 .sample = (uint64_t)batch->samples[i]};
        pod_rng rng = pod_rng_at(t->args->setup->seed, place);
        t->draws[i] = (int32_t)pod_rng_u32(&rng);
    }
}

/* The weights of this rank's samples, divided by their sum over the batch. The all-reduce of the sum
 * counts as one that was not hidden. */
static pod_status divide_weights(pod__trainer *t, int64_t step, const pod_batch *batch)
{
    const double epsilon = t->args->network->task->mean_epsilon;
    const int field = t->args->network->task->mean_over;
    if (field == POD_NO_FIELD) return POD_OK;
    const int64_t n = pod_loader_local_batch(t->feed.loader) * t->weights_per_sample;
    const float *weight = batch->field[field];
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)weight[i];
    const pod_time begin = pod__train_now(t);
    pod_comm_sum(t->args->comm, &sum, 1);
    pod_timeline_add(t->result->timeline, POD_LANE_COMPUTE, POD_PHASE_REDUCE, -1, begin,
                     pod__train_now(t));
    if (!(sum > 0))
        return pod_fail(POD_E_INVALID, "%s: step %" PRId64 ": nothing in the batch is predicted",
                        t->args->setup->data, step + 1);
    for (int64_t i = 0; i < n; i++) t->weights[i] = (float)((double)weight[i] / (sum + epsilon));
    pod_exec_feed(t->exec, t->feed.input[field], t->weights);
    return POD_OK;
}

static void count_tokens(pod__trainer *t, const pod_batch *batch)
{
    const pod_task *task = t->args->network->task;
    const int64_t n = pod_loader_local_batch(t->feed.loader);
    for (int k = 0; k < task->n_texts; k++) {
        const int field = task->text[k].lengths;
        const pod_field *f = &t->samples[POD_SPLIT_TRAIN].form.field[field];
        const int64_t parts = f->n_dims > 0 ? f->dim[0] : 1; /* of a sample; the last one ends it */
        const int32_t *length = batch->field[field];
        for (int64_t i = 0; i < n; i++) t->n_tokens += length[(i + 1) * parts - 1];
    }
}

/* A step that failed is not done. */
static void log_step(const pod__trainer *t, int64_t step, int64_t core_wait_ns, pod_status status)
{
    int64_t n;
    const pod_step_row *row = pod_timeline_rows(t->result->timeline, &n);
    const pod_time *phase = row[n - 1].phase;
    const pod_job_step parts = {.step = step + 1,
                                .input = phase[POD_PHASE_INPUT] / 1000,
                                .reduce = phase[POD_PHASE_REDUCE] / 1000,
                                .core_wait = core_wait_ns};
    if (status == POD_OK)
        pod_job_end_step(t->args->job, parts, pod_clock_stamp(&t->args->clock));
    else
        pod__train_end_span(t, POD_JOB_STEP);
}

static pod_status train_step(pod__trainer *t, int64_t step)
{
    pod_timeline *tl = t->result->timeline;
    pod_batch batch;
    pod__train_begin_span(t, POD_JOB_STEP);
    const int64_t had_waited = pod_core_wait_ns(&t->core_wait);
    pod_time begin = pod__train_now(t);
    pod_timeline_begin_step(tl, step, begin);
    pod_feed_next(&t->feed, t->args->comm, &batch);
    pod_time fed = pod__train_now(t);
    pod_timeline_add(tl, POD_LANE_COMPUTE, POD_PHASE_INPUT, -1, begin, fed);
    t->lr = (float)pod__train_lr_at(t, step);
    t->step_number = (float)(step + 1);
    draw(t, step, &batch);
    count_tokens(t, &batch);
    pod_status status = divide_weights(t, step, &batch);
    if (status == POD_OK) status = pod_exec_step(t->exec, tl);
    pod_timeline_end_step(tl, pod__train_now(t));
    log_step(t, step, pod_core_wait_ns(&t->core_wait) - had_waited, status);
    pod__records_put_step(t);
    if (status != POD_E_NUMERIC) return status;
    return pod_exec_find_fault(t->exec, step + 1);
}

static double epochs_at(const pod__trainer *t, int64_t n_done)
{
    return pod_schedule_epochs(&t->result->schedule, n_done);
}

void pod__train_keep_evaluation(pod__trainer *t, const pod_eval_row *row)
{
    pod_train_result *r = t->result;
    const int m = t->args->setup->target_metric;
    const pod_metric *metric = &r->evals.metric[m];
    r->last.loss = row->loss;
    memcpy(r->last.metric, row->metric, sizeof row->metric);
    if (r->evals.n == 0 || pod_metric_is_better(metric, row->metric[m], r->best.metric[m])) {
        r->best = r->last;
        r->peak = r->evals.n;
        r->time_to_peak_s = row->at_s;
    }
    const double target = t->args->setup->target;
    if (target > 0 && !r->reached &&
        (row->metric[m] == target || pod_metric_is_better(metric, row->metric[m], target))) {
        r->reached = true;
        r->time_to_target_s = row->at_s;
    }
    r->evals.row[r->evals.n++] = *row;
}

/* "  accuracy 0.9113", without what a step does not measure; `s`, if not NULL, has a target, of whose
 * metric there are as many decimals as tell it from that. */
static const char *print_metrics(const pod_task *task, const double value[], const pod_setup *s,
                                 int places, char text[METRICS_BYTES])
{
    int n = 0;
    text[0] = '\0';
    for (int i = 0; i < task->n_metrics && n < METRICS_BYTES; i++) {
        if (isnan(value[i])) continue;
        n += snprintf(text + n, (size_t)(METRICS_BYTES - n), "  %s %.*f", task->metric[i].name,
                      s && s->target > 0 && i == s->target_metric
                          ? pod_places_apart(value[i], s->target)
                          : places,
                      value[i]);
    }
    return text;
}

/* MLPerf's log has a fraction where a metric has a largest value. */
static double logged(const pod_metric *m, double value)
{
    return m->falls ? value : value / m->best;
}

static pod_status evaluate(pod__trainer *t, int64_t n_done)
{
    const pod_train_args *a = t->args;
    const pod_task *task = a->network->task;
    pod_train_result *r = t->result;
    pod__records_tell_eval(t, "eval_start", pod_mllog_null(), n_done);
    const pod_time begin = pod__train_now(t);
    pod__train_begin_span(t, POD_JOB_EVAL);
    pod_status status = pod_evaluate(task, &t->eval_feed, t->samples[POD_SPLIT_TEST].n, a->comm,
                                     n_done, NULL, &r->last);
    if (status == POD_OK && t->translator)
        status = pod_translator_run(t->translator, t->search_exec, a->comm, &r->last.metric[0]);
    pod__train_end_span(t, POD_JOB_EVAL);
    pod_timeline_mark(r->timeline, POD_LANE_STEPS, POD_DEED_EVALUATION, n_done, begin,
                      pod__train_now(t));
    pod__records_tell_eval(t, "eval_stop", pod_mllog_null(), n_done);
    POD_TRY(status);
    const int m = a->setup->target_metric;
    pod__records_tell_eval(t, "eval_accuracy",
                           pod_mllog_real(logged(&task->metric[m], r->last.metric[m])), n_done);
    pod_eval_row row = {.n_done = n_done,
                        .epochs = epochs_at(t, n_done),
                        .loss = r->last.loss,
                        .at_s = since_start(t)};
    memcpy(row.metric, r->last.metric, sizeof row.metric);
    pod__train_keep_evaluation(t, &row);
    char loss[32] = "-"; /* of a run that had nothing left to train */
    char metrics[METRICS_BYTES];
    if (n_done > r->first_step)
        snprintf(loss, sizeof loss, "%.4f", pod_exec_output(t->exec, POD_NET_LOSS));
    pod_log_say(a->log, POD_LOG_INFO,
                "epoch %6.2f  step %6" PRId64 "  loss %s  eval loss %.4f%s  %7.1f s", row.epochs,
                n_done, loss, r->last.loss, print_metrics(task, row.metric, a->setup, 4, metrics),
                row.at_s);
    return POD_OK;
}

void pod__train_measure_step(const pod__trainer *t, double metric[POD_MAX_METRICS])
{
    const pod_task *task = t->args->network->task;
    double sum[POD_MAX_SUMS];
    for (int i = 0; i < task->n_sums; i++) sum[i] = pod_exec_output(t->exec, i);
    (void)task->measure(sum, t->args->setup->batch, metric);
}

static void show_progress(pod__trainer *t, int64_t n_done)
{
    const pod_setup *s = t->args->setup;
    char text[METRICS_BYTES];
    double metric[POD_MAX_METRICS];
    pod__train_measure_step(t, metric);
    const double looped_s = pod_time_seconds(pod__train_now(t) - t->loop_began);
    pod_progress_at(t->args->log, n_done, "epoch %.2f  loss %.4f%s  lr %.4g  %.0f samples/s",
                    epochs_at(t, n_done), pod_exec_output(t->exec, POD_NET_LOSS),
                    print_metrics(t->args->network->task, metric, NULL, 3, text), (double)t->lr,
                    (double)((n_done - t->result->first_step) * s->batch) / looped_s);
}

static pod_status one_step(pod__trainer *t, int64_t step)
{
    const pod_schedule *s = &t->result->schedule;
    pod__guard_before_step(t, step + 1);
    POD_TRY(train_step(t, step));
    t->result->n_steps++;
    show_progress(t, step + 1);
    bool is_last = step + 1 == s->n_steps;
    const int64_t place = pod_schedule_place(s, step + 1);
    if (place % s->steps_per_epoch == 0 || is_last) pod__records_close_epoch(t, step + 1);
    if (place % s->eval_every == 0 || is_last) POD_TRY(evaluate(t, step + 1));
    /* A checkpoint of an evaluated step has its evaluation behind it. */
    const bool asked = pod__guard_after_step(t, step + 1);
    t->result->stopped = asked && !is_last && !t->result->reached;
    return POD_OK;
}

/* The last step has its evaluation, in whatever attempt; of a checkpoint that has none of them it
 * is made again, for the result. */
static bool lacks_evaluation(const pod__trainer *t, int64_t n_done)
{
    const pod_eval_rows *e = &t->result->evals;
    const int64_t last = e->n > 0 ? e->row[e->n - 1].n_done : 0;
    return n_done == t->result->schedule.n_steps && last < n_done;
}

/* The log's epoch is closed whatever ends the loop: the last step, the target, a failure. */
static pod_status run_steps(pod__trainer *t)
{
    const int64_t n_steps = t->result->schedule.n_steps;
    pod_status status = POD_OK;
    int64_t step = t->result->first_step;
    t->loop_began = pod__train_now(t);
    for (; step < n_steps && !t->result->reached && !t->result->stopped && status == POD_OK;
         step++) {
        pod__records_open_epoch(t, step);
        status = one_step(t, step);
    }
    pod__records_close_epoch(t, step);
    if (status == POD_OK && lacks_evaluation(t, step)) status = evaluate(t, step);
    return status;
}

/* ---- what it measured ---- */

/* Shares of phases, mean over ranks: what one rank waits for, another one works on. */
static void share_phases(pod__trainer *t)
{
    pod_train_result *r = t->result;
    int64_t n;
    const pod_step_row *row = pod_timeline_rows(r->timeline, &n);
    double sum[POD_N_PHASES + 2] = {0}; /* phases, other, all */
    for (int64_t i = n > 1 ? 1 : 0; i < n; i++) {
        for (int p = 0; p < POD_N_PHASES; p++) sum[p] += pod_time_seconds(row[i].phase[p]);
        sum[POD_N_PHASES] += pod_time_seconds(row[i].other);
        sum[POD_N_PHASES + 1] += pod_time_seconds(row[i].end - row[i].begin);
    }
    pod_comm_sum(t->args->comm, sum, POD_N_PHASES + 2);
    const double all = sum[POD_N_PHASES + 1];
    for (int p = 0; p < POD_N_PHASES && all > 0; p++) r->phase_share[p] = sum[p] / all;
    if (all > 0) r->other_share = sum[POD_N_PHASES] / all;
    const double n_steps = (double)(n > 1 ? n - 1 : n) * pod_comm_size(t->args->comm);
    if (n_steps > 0) r->exposed_s = sum[POD_PHASE_REDUCE] / n_steps;
}

/* The steps of this rank; what the first one took beyond a usual one was start-up. Waits for input
 * have a category of their own already. */
static pod_status measure_own(pod__trainer *t)
{
    pod_train_result *r = t->result;
    int64_t n;
    const pod_step_row *row = pod_timeline_rows(r->timeline, &n);
    if (n > 0) {
        int64_t skip = n > 1 ? 1 : 0;
        POD_TRY(pod_step_stats_of(row + skip, n - skip, &r->stats));
        double first_s =
            pod_time_seconds(row[0].end - row[0].begin - row[0].phase[POD_PHASE_INPUT]);
        double usual_s = r->stats.step.median - r->stats.phase[POD_PHASE_INPUT].median;
        double excess_s = first_s - usual_s;
        if (skip && excess_s > 0)
            pod_job_move(t->args->job, POD_JOB_STEP, POD_JOB_BUILD, (pod_stamp)(excess_s * 1e9));
    }
    for (int64_t i = 0; i < n; i++) r->train_s += pod_time_seconds(row[i].end - row[i].begin);
    return POD_OK;
}

/* The result's statistics, over all ranks, and the hash of the weights; E_MISMATCH when ranks have
 * other weights. Collective. */
static pod_status measure(pod__trainer *t)
{
    pod_train_result *r = t->result;
    POD_TRY(pod_comm_agree(t->args->comm, measure_own(t)));
    share_phases(t);
    double sums[] = {(double)pod_timeline_n_dropped(r->timeline), t->n_tokens};
    pod_comm_sum(t->args->comm, sums, 2);
    r->n_dropped = (int64_t)sums[0];
    const int64_t n_samples = r->n_steps * t->args->setup->batch;
    if (n_samples > 0) r->tokens_per_sample = sums[1] / (double)n_samples;
    r->weights_hash = pod_store_hash(t->store);
    return pod_comm_same(t->args->comm, "the weights", &r->weights_hash, sizeof r->weights_hash);
}

/* ---- the whole run ---- */

static void release(pod__trainer *t)
{
    if (t->result->timeline) pod_timeline_forget(t->result->timeline);
    pod__guard_close(t);
    pod_loader_close(t->feed.loader);
    pod_loader_close(t->eval_feed.loader);
    pod_exec_close(t->exec);
    pod_exec_close(t->eval_exec);
    for (int i = 0; i < POD_SEARCH_N_PROGRAMS; i++) pod_exec_close(t->search_exec[i]);
    pod_store_destroy(t->store);
    pod_dataset_close(t->data);
}

/* Before the first step: nothing is left to train. */
bool pod__train_is_done(const pod__trainer *t)
{
    return t->result->reached || t->result->first_step >= t->result->schedule.n_steps;
}

static void announce(const pod__trainer *t)
{
    const pod_setup *s = t->args->setup;
    const pod_schedule *r = &t->result->schedule;
    char mesh[POD_MESH_TEXT_BYTES];
    pod_log_say(t->args->log, POD_LOG_INFO,
                "training %s on %s: %" PRId64 " samples, %" PRId64
                " to test; mesh %s, batch %" PRId64 ", %" PRId64 " steps (%.4g epochs)%s",
                s->model, s->data, t->samples[POD_SPLIT_TRAIN].n, t->samples[POD_SPLIT_TEST].n,
                pod_mesh_print(&s->compile.mesh, mesh, sizeof mesh), s->batch, r->n_steps,
                pod_schedule_epochs(r, r->n_steps),
                *t->args->guard->out ? "" : "; without --out nothing is kept");
    if (pod__train_is_done(t))
        pod_log_say(t->args->log, POD_LOG_INFO,
                    "nothing is left to train: %" PRId64 " steps are done already%s",
                    t->result->first_step,
                    t->result->reached ? ", and the target was reached" : "");
}

static pod_status train(pod__trainer *t)
{
    const pod_train_args *a = t->args;
    pod__train_begin_span(t, POD_JOB_BUILD);
    pod_status status = pod__train_prepare(t);
    if (status == POD_OK) status = pod_comm_agree(a->comm, pod__records_begin(t));
    if (status == POD_OK && a->begins) status = pod_comm_agree(a->comm, a->begins(a->to));
    pod__train_end_span(t, POD_JOB_BUILD);
    POD_TRY(status);
    t->result->began = true;
    announce(t);
    pod_progress_begin(a->log, "train", "steps", t->result->first_step,
                       t->result->schedule.n_steps);
    status = run_steps(t);
    pod_progress_end(a->log);
    return status;
}

/* What the run leaves; whatever ended it, the job's log says so. */
static void close_guard(pod__trainer *t, pod_failure *f)
{
    const pod_train_result *r = t->result;
    const int64_t n_done = r->first_step + r->n_steps;
    pod_failure_note(f, pod__guard_finish(t, n_done, f->status == POD_OK));
    if (f->status == POD_OK && !r->stopped) pod_job_keep(t->args->job);
    if (f->status == POD_OK && r->stopped)
        pod_log_say(t->args->log, POD_LOG_INFO, "asked to stop: stopped behind step %" PRId64,
                    n_done);
    pod__guard_end(t,
                   f->status != POD_OK ? POD_JOB_END_FAILED
                   : r->stopped        ? POD_JOB_END_STOPPED
                                       : POD_JOB_END_OK,
                   f->text);
}

/* Reports what ended the run, not what that leaves: weights may differ then. */
static pod_status run(pod__trainer *t)
{
    const pod_train_args *a = t->args;
    pod_failure f = {0};
    pod_mesh_print(&a->setup->compile.mesh, t->mesh, sizeof t->mesh);
    POD_TRY(pod_comm_agree(a->comm, pod_arena_create(NULL, &t->result->arena)));
    POD_TRY(pod__guard_open(t));
    t->result->attempt = t->past.attempt;
    pod_mllog_put(a->mllog, "run_start", pod_mllog_null());
    pod_failure_note(&f, train(t));
    if (f.status == POD_OK)
        pod_failure_note(&f, pod_comm_agree(a->comm, pod__records_end(t, t->result->reached)));
    else if (!pod__records_are_told(t))
        (void)!pod__records_end(t, false); /* it only puts a record */
    close_guard(t, &f);
    pod_failure_note(&f, pod_comm_agree(a->comm, pod__records_close_steps(t)));
    if (t->result->began) {
        t->result->run_s = since_start(t);
        pod_failure_note(&f, measure(t));
    }
    return pod_failure_report(&f);
}

pod_status pod_train(const pod_train_args *args, pod_train_result *out)
{
    *out = (pod_train_result){0};
    pod__trainer t = {.args = args,
                      .result = out,
                      .ideal = args->ideal,
                      .run_began_s = pod_time_seconds(pod_clock_now(&args->clock)),
                      .core_wait = pod_core_wait_open()};
    pod_status status = run(&t);
    release(&t);
    pod_core_wait_close(&t.core_wait);
    return status;
}
