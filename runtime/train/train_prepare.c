#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/data/classes.h"
#include "runtime/program/picks.h"
#include "runtime/train/snapshot.h"
#include "runtime/train/trainer.h"

static void tell_too_long(const pod__trainer *t)
{
    const pod_samples *s = &t->samples[POD_SPLIT_TRAIN];
    if (s->n_too_long > 0)
        pod_log_say(t->args->log, POD_LOG_WARNING,
                    "%s: %" PRId64 " of %" PRId64
                    " training pairs do not fit into --seq-len %" PRId64
                    " with the end token, and are not used",
                    t->args->setup->data, s->n_too_long, s->n_pairs, t->args->setup->seq_len);
}

static pod_status open_data(pod__trainer *t)
{
    const pod_setup *s = t->args->setup;
    const pod_dataset_options options = {.cache_bytes = s->data_cache_bytes,
                                         .n_readers = s->input_threads};
    POD_TRY(pod_dataset_open_with(s->data, s->seed, &options, &t->data));
    POD_TRY(pod_dataset_fingerprint(t->data, &t->data_fingerprint));
    for (int split = 0; split < POD_N_SPLITS; split++)
        POD_TRY(t->args->network->task->samples(s, t->data, split == POD_SPLIT_TRAIN,
                                                t->result->arena, &t->samples[split]));
    tell_too_long(t);
    const int64_t n_train = t->samples[POD_SPLIT_TRAIN].n;
    POD_TRY(pod_setup_schedule(t->args->setup, n_train, &t->result->schedule));
    t->result->n_train = n_train;
    pod_mllog_put(t->args->mllog, "minipod_data_name", pod_mllog_text(t->data->info.name));
    pod_mllog_put(t->args->mllog, "train_samples", pod_mllog_int(n_train));
    pod_mllog_put(t->args->mllog, "eval_samples", pod_mllog_int(t->samples[POD_SPLIT_TEST].n));
    return POD_OK;
}

/* Images are normalized as they were, and classes keep their numbers, for as long as the training
 * goes on. */
static pod_status present_as_trained(pod__trainer *t)
{
    const pod_train_args *a = t->args;
    pod_dataset_info *trained = &t->trained;
    uint64_t fingerprint;
    POD_TRY(pod_snapshot_origin(t->resume, a->comm, t->result->arena, trained, &fingerprint));
    return pod_comm_agree(a->comm, pod_dataset_as_trained(t->data, a->setup->data,
                                                          fingerprint == t->data_fingerprint,
                                                          trained, a->log));
}

/* What evaluates by search, beside the evaluation program. */
static pod_status prepare_search(pod__trainer *t)
{
    const pod_train_args *a = t->args;
    const pod_translator_args args = {.network = a->network,
                                      .setup = a->setup,
                                      .data = t->data,
                                      .samples = &t->samples[POD_SPLIT_TEST],
                                      .target = a->target,
                                      .log = a->log,
                                      .rank = pod_comm_rank(a->comm),
                                      .size = pod_comm_size(a->comm)};
    if (!a->network->task->is_searched) return POD_OK;
    t->result->searched = pod_search_about(a->setup, t->result->arena);
    if (!t->result->searched) return POD_E_NOMEM;
    return pod_translator_create(&args, t->result->arena, &t->translator);
}

enum { TRAIN, EVAL, SEARCH, N_PROGRAMS = SEARCH + POD_SEARCH_N_PROGRAMS };

/* Returns how many a run has. */
static int list_programs(const pod__trainer *t, const pod_program *program[N_PROGRAMS])
{
    const int n = t->translator ? N_PROGRAMS : SEARCH;
    program[TRAIN] = t->result->program;
    program[EVAL] = t->eval_program;
    for (int i = SEARCH; i < n; i++)
        program[i] = pod_translator_programs(t->translator)[i - SEARCH];
    return n;
}

static pod_status compile_programs(pod__trainer *t)
{
    const pod_train_args *a = t->args;
    pod_train_result *r = t->result;
    r->data_name = pod_arena_text(r->arena, "%s", t->data->info.name);
    if (!r->data_name) return POD_E_NOMEM;
    const pod_dataset_info seen = pod_setup_seen(a->setup, &t->data->info);
    const char *few;
    POD_TRY(pod_network_check_norms(a->network, a->setup, &seen, r->arena, &few));
    if (few) pod_log_say(a->log, POD_LOG_WARNING, "%s", few);
    POD_TRY(
        pod_network_compile(a->network, a->setup, &seen, true, a->target, r->arena, &r->program));
    const pod_setup eval = pod_setup_evaluation(a->setup, t->samples[POD_SPLIT_TEST].n);
    POD_TRY(pod_network_compile(a->network, &eval, &seen, false, a->target, r->arena,
                                &t->eval_program));
    POD_TRY(prepare_search(t));
    const char *missed = pod_network_algo_missed(a->setup, r->program, r->arena);
    if (missed) pod_log_say(a->log, POD_LOG_WARNING, "%s", missed);
    POD_TRY(pod_store_create(r->program, pod_comm_rank(a->comm), a->setup->seed, &t->store));
    const pod_program *program[N_PROGRAMS];
    const int n_programs = list_programs(t, program);
    r->memory = pod_rank_memory_of(a->setup, a->network, &t->data->info,
                                   t->samples[POD_SPLIT_TEST].n, program, n_programs);
    for (int i = 0; i < POD_N_SPLITS; i++) r->memory.samples += t->samples[i].kept_bytes;
    for (int i = 0; i < pod_store_n(t->store); i++) {
        pod_role role = pod_store_variable(t->store, i)->role;
        if (role == POD_ROLE_WEIGHT || role == POD_ROLE_NORM || role == POD_ROLE_BIAS)
            r->n_weights += pod_store_count(t->store, i);
    }
    return POD_OK;
}

static pod_checkpoint_info checkpoint_info(const pod__trainer *t)
{
    const pod_setup *s = t->args->setup;
    const pod_program *p = t->result->program;
    return (pod_checkpoint_info){.model = s->model,
                                 .data = t->data->info.name,
                                 .data_fingerprint = t->data_fingerprint,
                                 .set = pod_setup_seen(s, &t->data->info),
                                 .optimizer = s->optim->name,
                                 .seed = s->seed,
                                 .batch = s->batch,
                                 .steps_per_epoch = t->result->schedule.steps_per_epoch,
                                 .mesh = t->mesh,
                                 .settings = s->settings,
                                 .picks = pod_program_picks(p, t->result->arena),
                                 .fingerprint = p->fingerprint};
}

static void tell_batch(const pod__trainer *t, const pod_snapshot *found)
{
    const int64_t batch = t->args->setup->batch;
    char epochs[80] = "how many epochs that is is not known";
    if (found->batch == batch) return;
    if (!isnan(found->epochs))
        snprintf(epochs, sizeof epochs, "epochs are counted by samples, %.4g are done",
                 found->epochs);
    pod_log_say(t->args->log, POD_LOG_INFO,
                "a batch of %" PRId64 " samples until step %" PRId64 ", of %" PRId64
                " from there on; %s",
                found->batch, found->step, batch, epochs);
}

static void tell_evaluations(const pod__trainer *t)
{
    const pod_setup *s = t->args->setup;
    const pod_schedule *r = &t->result->schedule;
    if (pod_schedule_evaluates_as_asked(r, s)) return;
    const double per_epoch = (double)r->steps_per_epoch;
    pod_log_say(t->args->log, POD_LOG_INFO,
                "eval-every: %g epochs are %.4g steps; evaluations are %" PRId64
                " apart, which is %.4g epochs",
                s->eval_every, s->eval_every * per_epoch, r->eval_every,
                (double)r->eval_every / per_epoch);
}

static pod_status restore(pod__trainer *t, const pod_checkpoint_info *want)
{
    pod_train_result *r = t->result;
    const char *from = t->resume;
    if (!*from) return POD_OK;
    pod__train_begin_span(t, POD_JOB_RESTORE);
    pod_snapshot found;
    pod_status status = pod_snapshot_restore(from, want, true, t->store, t->args->comm,
                                             t->args->log, r->arena, &found);
    pod__train_end_span(t, POD_JOB_RESTORE);
    POD_TRY(status);
    r->first_step = found.step;
    pod_setup_go_on(t->args->setup, found.step, found.epochs, &r->schedule);
    tell_batch(t, &found);
    r->is_branch = !t->past.goes_on;
    if (!r->is_branch) t->past_evals = found.evals;
    if (r->first_step > r->schedule.n_steps ||
        (r->first_step == r->schedule.n_steps && t->past.attempt == 1))
        return pod_fail(POD_E_INVALID,
                        "resume: %s has %" PRId64 " steps, the run ends after %" PRId64, from,
                        r->first_step, r->schedule.n_steps);
    pod_log_say(t->args->log, POD_LOG_INFO, "resumed from %s at step %" PRId64, from,
                r->first_step);
    return POD_OK;
}

static pod_status open_feed(const pod_samples *samples, const pod_loader_options *options,
                            pod_exec *exec, const pod_program *program, pod_feed *out)
{
    pod_loader *loader;
    POD_TRY(pod_loader_open(samples, options, &loader));
    *out = pod_feed_of(exec, program, loader, &samples->form);
    return POD_OK;
}

static pod_status open_loaders(pod__trainer *t)
{
    const pod_setup *s = t->args->setup;
    const int rank = pod_comm_rank(t->args->comm), size = pod_comm_size(t->args->comm);
    pod_loader_options train = pod_setup_loader(s, true, rank, size);
    const pod_setup eval = pod_setup_evaluation(s, t->samples[POD_SPLIT_TEST].n);
    pod_loader_options test = pod_setup_loader(&eval, false, rank, size);
    train.start_step = pod_schedule_place(&t->result->schedule, t->result->first_step);
    train.clock = test.clock = &t->args->clock;
    POD_TRY(open_feed(&t->samples[POD_SPLIT_TRAIN], &train, t->exec, t->result->program, &t->feed));
    return open_feed(&t->samples[POD_SPLIT_TEST], &test, t->eval_exec, t->eval_program,
                     &t->eval_feed);
}

/* A turn each, and each collective in flight beside its wait; the wait for input, and the sum of the
 * loss's weights. */
static int64_t max_events(const pod_program *p)
{
    int64_t n = pod_program_n_turns(p) + 2;
    for (int32_t i = 0; i < p->n_instrs; i++)
        if (p->instr[i].kind == POD_I_COLL_WAIT) n += pod_program_times(p, i);
    return n;
}

static pod_status take_weights(pod__trainer *t)
{
    const pod_task *task = t->args->network->task;
    const pod_dataset_info seen = pod_setup_seen(t->args->setup, &t->data->info);
    const pod_form form = task->form(t->args->setup, &seen);
    t->result->text_room = pod_task_text_room(task, &form);
    if (task->mean_over == POD_NO_FIELD) return POD_OK;
    t->weights_per_sample =
        pod_field_row_bytes(&form.field[task->mean_over]) / (int64_t)sizeof *t->weights;
    t->weights = POD_ARENA_NEW(t->result->arena, float,
                               pod_loader_local_batch(t->feed.loader) * t->weights_per_sample);
    return t->weights ? POD_OK : POD_E_NOMEM;
}

static pod_status open_records(pod__trainer *t)
{
    pod_timeline_plan plan = {.rank = pod_comm_rank(t->args->comm),
                              .max_steps = t->result->schedule.n_steps - t->result->first_step,
                              .max_events = max_events(t->result->program),
                              .kept_steps = t->args->kept_steps};
    t->draws = POD_ARENA_NEW(t->result->arena, int32_t, pod_loader_local_batch(t->feed.loader));
    /* One at each multiple of eval_every and one at the end. */
    pod_eval_rows *evals = &t->result->evals;
    evals->room = t->past_evals.n + plan.max_steps / t->result->schedule.eval_every + 2;
    evals->row = POD_ARENA_NEW(t->result->arena, pod_eval_row, evals->room);
    evals->n_metrics = t->args->network->task->n_metrics;
    memcpy(evals->metric, t->args->network->task->metric, sizeof evals->metric);
    evals->target_metric = t->args->setup->target_metric;
    pod_status status = pod_timeline_create(&plan, &t->result->timeline);
    if (!t->draws || !evals->row || take_weights(t) != POD_OK) status = POD_E_NOMEM;
    if (status != POD_E_NOMEM) return status;
    return pod_fail(POD_E_INVALID, "steps: no memory for the times of %" PRId64 " steps",
                    plan.max_steps);
}

static void take_past(pod__trainer *t)
{
    for (int64_t i = 0; i < t->past_evals.n; i++)
        pod__train_keep_evaluation(t, &t->past_evals.row[i]);
    t->result->last.n_samples = t->samples[POD_SPLIT_TEST].n;
}

static pod_status open_executors(pod__trainer *t)
{
    const pod_program *program[N_PROGRAMS];
    pod_exec *exec[N_PROGRAMS];
    const int n = list_programs(t, program);
    POD_TRY(pod_exec_open_all(program, n, t->store, t->args->comm, t->args->clock, exec));
    t->exec = exec[TRAIN];
    t->eval_exec = exec[EVAL];
    for (int i = SEARCH; i < n; i++) t->search_exec[i - SEARCH] = exec[i];
    return POD_OK;
}

pod_status pod__train_prepare(pod__trainer *t)
{
    const pod_train_args *a = t->args;
    POD_TRY(pod_comm_agree(a->comm, open_data(t)));
    POD_TRY(present_as_trained(t));
    POD_TRY(pod_comm_agree(a->comm, compile_programs(t)));
    pod_checkpoint_info info = checkpoint_info(t);
    pod__train_end_span(t, POD_JOB_BUILD);
    pod_status status = restore(t, &info);
    pod__train_begin_span(t, POD_JOB_BUILD);
    POD_TRY(status);
    info.ahead = t->result->schedule.ahead;
    POD_TRY(open_executors(t));
    POD_TRY(pod_comm_agree(a->comm, open_loaders(t)));
    POD_TRY(pod_comm_agree(a->comm, open_records(t)));
    take_past(t);
    tell_evaluations(t);
    pod_feed_follow(t->feed.loader, t->result->timeline);
    pod_feed_follow(t->eval_feed.loader, t->result->timeline);
    pod_exec_feed(t->exec, pod_program_find_input(t->result->program, "lr"), &t->lr);
    pod_exec_feed(t->exec, pod_program_find_input(t->result->program, "step"), &t->step_number);
    pod_exec_feed(t->exec, pod_program_find_input(t->result->program, "draws"), t->draws);
    t->ideal.model_flops = t->result->program->model_flops;
    return pod__guard_arm(t, &info);
}
