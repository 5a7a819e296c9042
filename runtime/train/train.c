#include "runtime/train/train.h"

#include <inttypes.h>
#include <string.h>

#include "kernels/base/rng.h"
#include "runtime/train/snapshot.h"

typedef struct trainer {
    const pod_train_args *args;
    pod_train_result *result;
    pod_dataset *data;
    const pod_program *eval_program;
    pod_store *store;
    pod_exec *exec, *eval_exec;
    pod_loader *loader, *eval_loader;
    pod_time run_began;
    float lr, step_number; /* fed to the program */
    int32_t *draws;        /* likewise, one a sample of this rank */
    bool epoch_is_open;    /* in the log */
} trainer;

static pod_time now(const trainer *t) { return pod_clock_now(&t->args->clock); }
static pod_stamp stamp(const trainer *t) { return pod_clock_stamp(&t->args->clock); }
static double since_start(const trainer *t) { return pod_time_seconds(now(t) - t->run_began); }

static void begin_span(const trainer *t, pod_job_span s)
{
    pod_job_begin(t->args->job, s, stamp(t));
}
static void end_span(const trainer *t, pod_job_span s) { pod_job_end(t->args->job, s, stamp(t)); }

/* ---- before the first step ---- */

static pod_status open_data(trainer *t)
{
    const pod_setup *s = t->args->setup;
    const pod_dataset_options options = {.cache_bytes = s->data_cache_bytes,
                                         .n_readers = s->input_threads};
    POD_TRY(pod_dataset_open_with(s->data, s->seed, &options, &t->data));
    const pod_dataset_info *info = &t->data->info;
    POD_TRY(
        pod_setup_schedule(t->args->setup, info->n_samples[POD_SPLIT_TRAIN], &t->result->schedule));
    pod_mllog_put(t->args->mllog, "minipod_data_name", pod_mllog_text(info->name));
    pod_mllog_put(t->args->mllog, "train_samples", pod_mllog_int(info->n_samples[POD_SPLIT_TRAIN]));
    pod_mllog_put(t->args->mllog, "eval_samples", pod_mllog_int(info->n_samples[POD_SPLIT_TEST]));
    return POD_OK;
}

static pod_status compile_programs(trainer *t)
{
    const pod_train_args *a = t->args;
    pod_train_result *r = t->result;
    POD_TRY(pod_arena_create(NULL, &r->arena));
    r->data_name = pod_arena_text(r->arena, "%s", t->data->info.name);
    if (!r->data_name) return POD_E_NOMEM;
    const pod_dataset_info seen = pod_setup_seen(a->setup, &t->data->info);
    POD_TRY(
        pod_network_compile(a->network, a->setup, &seen, true, a->target, r->arena, &r->program));
    POD_TRY(pod_network_compile(a->network, a->setup, &seen, false, a->target, r->arena,
                                &t->eval_program));
    POD_TRY(pod_store_create(r->program, pod_comm_rank(a->comm), a->setup->seed, &t->store));
    r->reduce_bytes = r->program->reduce_bytes;
    r->model_flops = r->program->model_flops;
    r->fingerprint = r->program->fingerprint;
    r->memory_bytes = r->program->step_bytes + r->program->window_bytes + r->program->store_bytes;
    r->state_bytes = r->program->state_bytes;
    r->whole_state_bytes = r->program->whole_state_bytes;
    for (int i = 0; i < pod_store_n(t->store); i++) {
        pod_role role = pod_store_variable(t->store, i)->role;
        if (role == POD_ROLE_WEIGHT || role == POD_ROLE_NORM || role == POD_ROLE_BIAS)
            r->n_weights += pod_store_count(t->store, i);
    }
    return POD_OK;
}

static pod_checkpoint_info checkpoint_info(const trainer *t, int64_t step)
{
    const pod_setup *s = t->args->setup;
    return (pod_checkpoint_info){.model = s->model,
                                 .data = t->data->info.name,
                                 .optimizer = s->optim->name,
                                 .seed = s->seed,
                                 .step = step,
                                 .batch = s->batch};
}

static pod_status restore(trainer *t)
{
    pod_train_result *r = t->result;
    if (!*t->args->resume) return POD_OK;
    begin_span(t, POD_JOB_RESTORE);
    pod_checkpoint_info want = checkpoint_info(t, 0);
    pod_status status =
        pod_snapshot_restore(t->args->resume, &want, true, t->store, t->args->comm, &r->first_step);
    end_span(t, POD_JOB_RESTORE);
    POD_TRY(status);
    if (r->first_step >= r->schedule.n_steps)
        return pod_fail(POD_E_INVALID,
                        "resume: %s has %" PRId64 " steps, the run ends after %" PRId64,
                        t->args->resume, r->first_step, r->schedule.n_steps);
    pod_log_say(t->args->log, POD_LOG_INFO, "resumed from %s at step %" PRId64, t->args->resume,
                r->first_step);
    return POD_OK;
}

static pod_status open_loaders(trainer *t)
{
    const pod_setup *s = t->args->setup;
    const int rank = pod_comm_rank(t->args->comm), size = pod_comm_size(t->args->comm);
    pod_loader_options train = pod_setup_loader(s, true, rank, size);
    const pod_loader_options test = pod_setup_loader(s, false, rank, size);
    train.start_step = t->result->first_step;
    POD_TRY(pod_loader_open(t->data, POD_SPLIT_TRAIN, &train, &t->loader));
    return pod_loader_open(t->data, POD_SPLIT_TEST, &test, &t->eval_loader);
}

static pod_status open_records(trainer *t)
{
    pod_timeline_plan plan = {.rank = pod_comm_rank(t->args->comm),
                              .max_steps = t->result->schedule.n_steps - t->result->first_step,
                              .max_events = pod_program_n_turns(t->result->program) +
                                            t->result->program->n_colls + 1,
                              .kept_steps = t->args->kept_steps};
    t->draws = POD_ARENA_NEW(t->result->arena, int32_t, pod_loader_local_batch(t->loader));
    t->result->loss = POD_ARENA_NEW(t->result->arena, float, plan.max_steps);
    t->result->accuracy = POD_ARENA_NEW(t->result->arena, float, plan.max_steps);
    /* One at each multiple of eval_every and one at the end. */
    const int64_t max_evals = plan.max_steps / t->result->schedule.eval_every + 2;
    t->result->evals = POD_ARENA_NEW(t->result->arena, pod_eval_row, max_evals);
    pod_status status = pod_timeline_create(&plan, &t->result->timeline);
    if (!t->draws || !t->result->loss || !t->result->accuracy || !t->result->evals)
        status = POD_E_NOMEM;
    if (status != POD_E_NOMEM) return status;
    return pod_fail(POD_E_INVALID, "steps: no memory for the times of %" PRId64 " steps",
                    plan.max_steps);
}

static pod_status prepare(trainer *t)
{
    const pod_train_args *a = t->args;
    POD_TRY(pod_comm_agree(a->comm, open_data(t)));
    POD_TRY(pod_comm_agree(a->comm, compile_programs(t)));
    end_span(t, POD_JOB_BUILD);
    pod_status status = restore(t);
    begin_span(t, POD_JOB_BUILD);
    POD_TRY(status);
    POD_TRY(pod_exec_open(t->result->program, t->store, a->comm, a->clock, &t->exec));
    POD_TRY(pod_exec_open(t->eval_program, t->store, a->comm, a->clock, &t->eval_exec));
    POD_TRY(pod_comm_agree(a->comm, open_loaders(t)));
    POD_TRY(pod_comm_agree(a->comm, open_records(t)));
    pod_exec_feed(t->exec, pod_program_find_input(t->result->program, "lr"), &t->lr);
    pod_exec_feed(t->exec, pod_program_find_input(t->result->program, "step"), &t->step_number);
    pod_exec_feed(t->exec, pod_program_find_input(t->result->program, "draws"), t->draws);
    return POD_OK;
}

/* ---- the loop ---- */

/* Random numbers for what is left out of a sample in this step, whichever rank has it. */
static void draw(trainer *t, int64_t step, const pod_batch *batch)
{
    const int64_t n = pod_loader_local_batch(t->loader);
    for (int64_t i = 0; i < n; i++) {
        const pod_place place = {.stream = POD_STREAM_DROPOUT,
                                 .step = (uint32_t)step,
                                 .sample = (uint64_t)batch->samples[i]};
        pod_rng rng = pod_rng_at(t->args->setup->seed, place);
        t->draws[i] = (int32_t)pod_rng_u32(&rng);
    }
}

static pod_status train_step(trainer *t, int64_t step)
{
    pod_timeline *tl = t->result->timeline;
    pod_batch batch;
    begin_span(t, POD_JOB_STEP);
    pod_time begin = now(t);
    pod_timeline_begin_step(tl, step, begin);
    pod_feed_next(t->exec, t->loader, t->args->comm, &batch);
    pod_time fed = now(t);
    pod_timeline_add(tl, POD_LANE_COMPUTE, POD_PHASE_INPUT, -1, begin, fed);
    t->lr = (float)pod_lr_at(&t->args->setup->lr, step);
    t->step_number = (float)(step + 1);
    draw(t, step, &batch);
    pod_status status = pod_exec_step(t->exec, tl);
    pod_timeline_end_step(tl, now(t));
    end_span(t, POD_JOB_STEP);
    pod_job_move(t->args->job, POD_JOB_STEP, POD_JOB_INPUT_WAIT, (fed - begin) / 1000);
    const int64_t row = step - t->result->first_step;
    t->result->loss[row] = (float)pod_exec_output(t->exec, POD_NET_LOSS);
    t->result->accuracy[row] =
        (float)(pod_exec_output(t->exec, POD_NET_CORRECT) / (double)t->args->setup->batch);
    if (status != POD_E_NUMERIC) return status;
    return pod_exec_find_fault(t->exec, step + 1);
}

/* Epochs count from 1 in the log; an evaluation within an epoch has a fraction. */
static pod_mllog_value epoch_number(const trainer *t, int64_t n_done)
{
    const int64_t per_epoch = t->result->schedule.steps_per_epoch;
    if (n_done % per_epoch == 0) return pod_mllog_int(n_done / per_epoch);
    return pod_mllog_real((double)n_done / (double)per_epoch);
}

static void open_epoch(trainer *t, int64_t step)
{
    if (t->epoch_is_open) return;
    t->epoch_is_open = true;
    pod_mllog_put(t->args->mllog, "epoch_start", pod_mllog_null(),
                  {"epoch_num", pod_mllog_int(step / t->result->schedule.steps_per_epoch + 1)});
}

static void close_epoch(trainer *t, int64_t n_done)
{
    if (!t->epoch_is_open) return;
    t->epoch_is_open = false;
    const int64_t per_epoch = t->result->schedule.steps_per_epoch;
    pod_mllog_put(t->args->mllog, "epoch_stop", pod_mllog_null(),
                  {"epoch_num", pod_mllog_int((n_done + per_epoch - 1) / per_epoch)});
}

/* `last` is what an evaluation has just found. */
static void keep_evaluation(trainer *t, int64_t n_done)
{
    pod_train_result *r = t->result;
    const double at_s = since_start(t);
    if (r->n_evals == 0 || r->last.accuracy > r->best.accuracy) {
        r->best = r->last;
        r->peak = r->n_evals;
        r->time_to_peak_s = at_s;
    }
    if (t->args->setup->target > 0 && !r->reached && r->last.accuracy >= t->args->setup->target) {
        r->reached = true;
        r->time_to_target_s = at_s;
    }
    r->evals[r->n_evals++] = (pod_eval_row){
        .n_done = n_done, .loss = r->last.loss, .accuracy = r->last.accuracy, .at_s = at_s};
}

static pod_status evaluate(trainer *t, int64_t n_done)
{
    const pod_train_args *a = t->args;
    pod_train_result *r = t->result;
    const pod_mllog_value epoch = epoch_number(t, n_done);
    pod_mllog_put(a->mllog, "eval_start", pod_mllog_null(), {"epoch_num", epoch});
    begin_span(t, POD_JOB_EVAL);
    pod_status status =
        pod_evaluate(t->eval_exec, t->eval_loader, t->data->info.n_samples[POD_SPLIT_TEST], a->comm,
                     n_done, NULL, &r->last);
    end_span(t, POD_JOB_EVAL);
    pod_mllog_put(a->mllog, "eval_stop", pod_mllog_null(), {"epoch_num", epoch});
    POD_TRY(status);
    pod_mllog_put(a->mllog, "eval_accuracy", pod_mllog_real(r->last.accuracy),
                  {"epoch_num", epoch});
    keep_evaluation(t, n_done);
    pod_log_say(a->log, POD_LOG_INFO,
                "epoch %6.2f  step %6" PRId64 "  loss %.4f  eval loss %.4f  accuracy %.4f  %7.1f s",
                (double)n_done / (double)r->schedule.steps_per_epoch, n_done,
                pod_exec_output(t->exec, POD_NET_LOSS), r->last.loss, r->last.accuracy,
                r->evals[r->n_evals - 1].at_s);
    return POD_OK;
}

static void show_progress(trainer *t, int64_t n_done)
{
    const pod_setup *s = t->args->setup;
    pod_progress_at(t->args->log, n_done,
                    "epoch %.2f  loss %.4f  accuracy %.3f  lr %.4g  %.0f samples/s",
                    (double)n_done / (double)t->result->schedule.steps_per_epoch,
                    pod_exec_output(t->exec, POD_NET_LOSS),
                    pod_exec_output(t->exec, POD_NET_CORRECT) / (double)s->batch, (double)t->lr,
                    (double)((n_done - t->result->first_step) * s->batch) / since_start(t));
}

static pod_status one_step(trainer *t, int64_t step)
{
    const pod_schedule *s = &t->result->schedule;
    POD_TRY(train_step(t, step));
    t->result->n_steps++;
    show_progress(t, step + 1);
    bool is_last = step + 1 == s->n_steps;
    if ((step + 1) % s->steps_per_epoch == 0 || is_last) close_epoch(t, step + 1);
    if ((step + 1) % s->eval_every == 0 || is_last) POD_TRY(evaluate(t, step + 1));
    return POD_OK;
}

/* The log's epoch is closed whatever ends the loop: the last step, the target, a failure. */
static pod_status run_steps(trainer *t)
{
    const int64_t n_steps = t->result->schedule.n_steps;
    pod_status status = POD_OK;
    int64_t step = t->result->first_step;
    for (; step < n_steps && !t->result->reached && status == POD_OK; step++) {
        open_epoch(t, step);
        status = one_step(t, step);
    }
    close_epoch(t, step);
    return status;
}

/* ---- after the last step ---- */

static pod_status save(trainer *t)
{
    const pod_train_args *a = t->args;
    if (!*a->out) return POD_OK;
    pod_arena *arena = t->result->arena;
    const char *path = pod_snapshot_path(arena, a->out);
    pod_status mine = path ? POD_OK : POD_E_NOMEM;
    POD_TRY(pod_comm_agree(a->comm, mine));
    pod_checkpoint_info info = checkpoint_info(t, t->result->first_step + t->result->n_steps);
    begin_span(t, POD_JOB_SAVE);
    pod_status status = pod_snapshot_save(path, &info, t->store, a->comm);
    end_span(t, POD_JOB_SAVE);
    return status;
}

/* Shares of phases, mean over ranks: what one rank waits for, another one works on. */
static void share_phases(trainer *t)
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
static pod_status measure(trainer *t)
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

static pod_status finish(trainer *t)
{
    pod_train_result *r = t->result;
    POD_TRY(pod_comm_agree(t->args->comm, measure(t)));
    share_phases(t);
    r->weights_hash = pod_store_hash(t->store);
    return pod_comm_same(t->args->comm, "the weights", &r->weights_hash, sizeof r->weights_hash);
}

static void release(trainer *t)
{
    pod_loader_close(t->loader);
    pod_loader_close(t->eval_loader);
    pod_exec_close(t->exec);
    pod_exec_close(t->eval_exec);
    pod_store_destroy(t->store);
    pod_dataset_close(t->data);
}

static void announce(const trainer *t)
{
    const pod_setup *s = t->args->setup;
    const pod_schedule *r = &t->result->schedule;
    const int64_t *n = t->data->info.n_samples;
    char mesh[POD_MESH_TEXT_BYTES];
    pod_log_say(t->args->log, POD_LOG_INFO,
                "training %s on %s: %" PRId64 " samples, %" PRId64
                " to test; mesh %s, batch %" PRId64 ", %" PRId64 " steps (%.4g epochs)%s",
                s->model, s->data, n[POD_SPLIT_TRAIN], n[POD_SPLIT_TEST],
                pod_mesh_print(&s->mesh, mesh, sizeof mesh), s->batch, r->n_steps,
                (double)r->n_steps / (double)r->steps_per_epoch,
                *t->args->out ? "" : "; without --out nothing is kept");
}

static pod_status train(trainer *t)
{
    const pod_train_args *a = t->args;
    begin_span(t, POD_JOB_BUILD);
    pod_status status = prepare(t);
    end_span(t, POD_JOB_BUILD);
    POD_TRY(status);
    t->result->began = true;
    announce(t);
    pod_progress_begin(a->log, "train", "steps", t->result->first_step,
                       t->result->schedule.n_steps);
    status = run_steps(t);
    pod_progress_end(a->log);
    return status;
}

/* The log's run ends with the last evaluation, as time_to_target_s does: saving is not in it. */
static pod_status run(trainer *t)
{
    const pod_train_args *a = t->args;
    pod_mllog_put(a->mllog, "run_start", pod_mllog_null());
    pod_status status = train(t);
    const bool success = status == POD_OK && t->result->reached;
    pod_mllog_put(a->mllog, "run_stop", pod_mllog_null(),
                  {"status", pod_mllog_text(success ? "success" : "aborted")});
    if (!t->result->began) return status;
    if (status == POD_OK) {
        pod_job_keep(a->job);
        status = save(t);
    }
    t->result->run_s = since_start(t);
    pod_status measured = finish(t);
    return status != POD_OK ? status : measured;
}

pod_status pod_train(const pod_train_args *args, pod_train_result *out)
{
    *out = (pod_train_result){0};
    trainer t = {.args = args, .result = out, .run_began = pod_clock_now(&args->clock)};
    pod_status status = run(&t);
    release(&t);
    return status;
}
